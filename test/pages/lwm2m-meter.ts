// The device of docs/gateways/lwm2m.md, a program of its own: registers, prints `registered`, and responds to each read of its maker.
// Usage: node lwm2m-meter.ts NAME PORT

import { deviceAt } from '../e2e/lwm2m-device.ts'

const [name = '', port = ''] = process.argv.slice(2)
const { device, next } = await deviceAt({ after: (end) => process.once('beforeExit', end) }, Number(port))
device.request(2, 'rd', `ep=${name}&lt=300&lwm2m=1.0`, '</1/0>,</3/0>')
for (;;) {
  const message = await next()
  if (message.code === '2.01') process.stdout.write('registered\n')
  else if (message.code === '0.01' && message.path === '/3/0/0') device.respond(message, '2.05', { payload: 'maker' })
}
