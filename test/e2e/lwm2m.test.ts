// LwM2M over real sockets: sections F1 and F5 of the gateway contract.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareConfigurableBroker, type BrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import type { Scope } from './godwit-process.ts'
import { connectAdministrator, deviceAt } from './lwm2m-device.ts'
import { reservePort } from './reserve-port.ts'

interface Started extends BrokerWithApi {
  readonly gatewayPort: number
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

async function openGateway(t: Scope, more: readonly string[] = []): Promise<Started> {
  const gatewayPort = await reservePort(t)
  const bind = `gateway.lwm2m.listeners.udp.default.bind="127.0.0.1:${gatewayPort}"`
  return { ...(await configuredBroker([bind, ...more])), gatewayPort }
}

test('[F5] a device registers, is listed as LwM2M, is read and observed, and deregisters', async (t) => {
  const broker = await openGateway(t)
  const { client, next: nextMessage } = await connectAdministrator(t, broker.port)
  const { device, next } = await deviceAt(t, broker.gatewayPort)
  device.request(2, 'rd', 'ep=meter-1&lt=300&lwm2m=1.1', '</1/0>,</3/0>')
  const created = await next()
  assert.equal(created.code, '2.01')
  const [topic, registered] = await nextMessage()
  assert.equal(topic, 'lwm2m/meter-1/up/resp')
  assert.deepEqual(registered.data.objectList, ['/1/0', '/3/0'])
  const [listed] = (await broker.request('/api/v4/clients?proto_name=LwM2M')).json.data
  assert.deepEqual([listed.clientid, listed.keepalive, listed.proto_ver], ['meter-1', 300, 1])
  const [same] = (await broker.request('/api/v5/gateways/lwm2m/clients')).json.data
  assert.equal(same.clientid, 'meter-1')

  const read = { reqID: 1, msgType: 'read', data: { path: '/3/0/0' } }
  await client.publishAsync('lwm2m/meter-1/dn/any', JSON.stringify(read), { qos: 1 })
  const request = await next()
  assert.equal(request.path, '/3/0/0')
  device.respond(request, '2.05', { format: 0, payload: 'maker' })
  const [, response] = await nextMessage()
  assert.deepEqual(response.data.content, [{ path: '/3/0/0', value: 'maker' }])

  const observe = { reqID: 2, msgType: 'observe', data: { path: '/3/0/9' } }
  await client.publishAsync('lwm2m/meter-1/dn/any', JSON.stringify(observe), { qos: 1 })
  const observed = await next()
  device.respond(observed, '2.05', { format: 0, payload: '90', observe: 1 })
  await nextMessage()
  device.respondLater(observed, '2.05', { format: 0, payload: '80', observe: 2 })
  assert.equal((await next()).type, 'ack')
  const [where, notified] = await nextMessage()
  assert.deepEqual([where, notified.data.content[0]?.value], ['lwm2m/meter-1/up/notify', 80])

  device.request(4, `rd/${created.location[1]}`, '', '')
  assert.equal((await next()).code, '2.02')
  await eventually(async () =>
    assert.deepEqual((await broker.request('/api/v4/clients?proto_name=LwM2M')).json.data, []),
  )
})

test('[F1] access rules apply: a device without permission for its topics is not read, and a wrong password is 4.01', async (t) => {
  const broker = await openGateway(t, ['auth.allow_anonymous=false'])
  const { device, next } = await deviceAt(t, broker.gatewayPort)
  device.request(2, 'rd', 'ep=meter-1&imei=u&password=wrong', '</3/0>')
  assert.equal((await next()).code, '4.01')
  await broker.request('/api/v4/auth_username', { method: 'POST', body: { username: 'u', password: 'right-one' } })
  device.request(2, 'rd', 'ep=meter-1&imei=u&password=right-one', '</3/0>')
  assert.equal((await next()).code, '2.01')
})
