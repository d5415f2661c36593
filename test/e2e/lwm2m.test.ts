// LwM2M over real sockets: sections F1 and F5 of the gateway contract.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { CoapDevice, type CoapMessage } from '../gateways/coap-device.ts'
import { shareConfigurableBroker, startBrokerWithApi, type BrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import type { Scope } from './godwit-process.ts'
import { reservePort } from './reserve-port.ts'

interface Started extends BrokerWithApi {
  readonly gatewayPort: number
}

async function startGateway(t: Scope, more: readonly string[] = [], dataDirectory?: string): Promise<Started> {
  const gatewayPort = await reservePort(t)
  const broker = await startBrokerWithApi(t, {
    ...(dataDirectory === undefined ? {} : { dataDirectory }),
    set: [`gateway.lwm2m.listeners.udp.default.bind=127.0.0.1:${gatewayPort}`, 'node.shards=2', ...more],
  })
  return Object.assign(broker, { gatewayPort })
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

/** Like `startGateway`, with a broker that tests share. */
async function openGateway(t: Scope, more: readonly string[] = []): Promise<Started> {
  const gatewayPort = await reservePort(t)
  const bind = `gateway.lwm2m.listeners.udp.default.bind="127.0.0.1:${gatewayPort}"`
  return { ...(await configuredBroker([bind, ...more])), gatewayPort }
}

/** A message of a device, as JSON. */
interface Document {
  readonly reqID?: number
  readonly data: { readonly objectList?: unknown; readonly content: readonly { readonly value: unknown }[] }
}

interface RealDevice {
  readonly device: CoapDevice
  readonly next: () => Promise<CoapMessage>
}

async function deviceAt(t: Scope, gatewayPort: number): Promise<RealDevice> {
  const socket = createSocket('udp4')
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  t.after(() => socket.close())
  const arrived: Buffer[] = []
  const waiting: (() => void)[] = []
  socket.on('message', (bytes) => {
    arrived.push(bytes)
    waiting.shift()?.()
  })
  const device = new CoapDevice(
    (bytes) => socket.send(bytes, gatewayPort, '127.0.0.1'),
    () => arrived.splice(0, 1),
  )
  /** Message IDs of confirmable messages. On a slow machine, the gateway repeats one before it has the response (RFC 7252, 4.2). */
  const known = new Set<number>()
  const next = async (): Promise<CoapMessage> => {
    for (;;) {
      if (arrived.length === 0) await new Promise<void>((resolve) => waiting.push(resolve))
      const message = device.takeLast() ?? assert.fail('no datagram was received')
      if (message.type === 'con' && known.has(message.messageId)) continue
      if (message.type === 'con') known.add(message.messageId)
      return message
    }
  }
  return { device, next }
}

async function connectAdministrator(
  t: Scope,
  port: number,
): Promise<{ readonly client: mqtt.MqttClient; readonly next: () => Promise<readonly [string, Document]> }> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`)
  t.after(() => client.end(true))
  const receivedMessages: (readonly [string, Document])[] = []
  const waiting: ((message: readonly [string, Document]) => void)[] = []
  client.on('message', (topic, payload) => {
    const message = [topic, JSON.parse(payload.toString()) as Document] as const
    const first = waiting.shift()
    if (first === undefined) receivedMessages.push(message)
    else first(message)
  })
  await client.subscribeAsync('lwm2m/+/up/#', { qos: 1 })
  const next = (): Promise<readonly [string, Document]> => {
    const first = receivedMessages.shift()
    return first === undefined ? new Promise((resolve) => waiting.push(resolve)) : Promise.resolve(first)
  }
  return { client, next }
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

test('[F5] commands for a device in queue mode are queued until its next update, also after a restart of the broker', async (t) => {
  const broker = await startGateway(t, ['gateway.lwm2m.qmode_time_window=1s'])
  const { client } = await connectAdministrator(t, broker.port)
  const first = await deviceAt(t, broker.gatewayPort)
  first.device.request(2, 'rd', 'ep=queueing&lt=3600&b=UQ', '</3/0>')
  assert.equal((await first.next()).code, '2.01')
  await broker.process.stop()
  await client.endAsync(true)

  const again = await startGateway(t, ['gateway.lwm2m.qmode_time_window=1s'], broker.dataDirectory)
  const second = await connectAdministrator(t, again.port)
  const command = { reqID: 9, msgType: 'read', data: { path: '/3/0/1' } }
  await second.client.publishAsync('lwm2m/queueing/dn/x', JSON.stringify(command), { qos: 1 })
  const { device, next } = await deviceAt(t, again.gatewayPort)
  device.request(2, 'rd/gone', '', '')
  assert.equal((await next()).code, '4.04', 'a registration from before the restart is unknown')
  device.request(2, 'rd', 'ep=queueing&lt=3600&b=UQ', '</3/0>')
  const received = [await next(), await next()]
  const read = received.find(({ code }) => code === '0.01')
  assert.ok(received.some(({ code }) => code === '2.01'))
  assert.equal(read?.path, '/3/0/1')
  device.respond(read, '2.05', { format: 0, payload: 'model' })
  for (;;) {
    const [, document] = await second.next()
    if (document.reqID !== 9) continue
    assert.deepEqual(document.data.content, [{ path: '/3/0/1', value: 'model' }])
    break
  }
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
