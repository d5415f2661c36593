// Clients of gateways: bans, client IDs, namespaces and shared subscriptions apply to them as to MQTT clients (section F1 of the gateway
// requirements), and devices of LwM2M and CoAP (F4, F5).

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Agent, type CoapRequestParams, type IncomingMessage, type ObserveReadStream, request } from 'coap'
import type { MqttClient } from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, shared } from './godwit-process.ts'
import { connectAdministrator, deviceAt } from './lwm2m-device.ts'
import { connected } from './mqtt-client.ts'
import { reservePort } from './reserve-port.ts'

interface Gateways {
  readonly broker: BrokerWithApi
  readonly snPort: number
  readonly coapPort: number
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

async function openGateways(t: Scope, more: readonly string[] = []): Promise<Gateways> {
  const [snPort, coapPort] = [await reservePort(t), await reservePort(t)]
  const binds = [
    `gateway.mqttsn.listeners.udp.default.bind="127.0.0.1:${snPort}"`,
    `gateway.coap.listeners.udp.default.bind="127.0.0.1:${coapPort}"`,
  ]
  return { broker: await configuredBroker([...binds, ...more]), snPort, coapPort }
}

/** Sends a request and returns the code of the response. */
function coap(t: Scope, port: number, params: CoapRequestParams): Promise<string> {
  const agent = new Agent({ type: 'udp4' })
  t.after(() => agent.close())
  return new Promise((resolve, reject) => {
    const outgoing = request({ hostname: '127.0.0.1', port, agent, confirmable: true, ...params })
    outgoing.on('response', ({ code }) => resolve(code))
    outgoing.on('error', reject)
    outgoing.end()
  })
}

/** Topics of received messages; the array grows with each message. */
function topicsOf(client: MqttClient): readonly string[] {
  const topics: string[] = []
  client.on('message', (topic) => topics.push(topic))
  return topics
}

function connectionOf(clientId: string): CoapRequestParams {
  return { method: 'POST', pathname: '/mqtt/connection', query: `clientid=${clientId}` }
}

/** One broker with one shard and namespaces, which apply only after a restart. The second listener has a namespace. */
const brokerWithNamespaces = shared(async (scope) => {
  const [snPort, plantPort] = [await reservePort(scope), await reservePort(scope)]
  const listener = 'gateway.mqttsn.listeners.udp'
  const set = [
    'node.shards=1',
    'namespaces.enable=true',
    'namespaces.username="${namespace}/*"',
    `${listener}.default.bind="127.0.0.1:${snPort}"`,
    `${listener}.plant={bind="127.0.0.1:${plantPort}",namespace=plant}`,
  ]
  return { broker: await startBrokerWithApi(scope, { set }), snPort, plantPort }
})

test('[F1] a banned client ID is refused over MQTT-SN and CoAP', async (t) => {
  const { broker, snPort, coapPort } = await openGateways(t)
  const body = { as: 'clientid', who: 'device-1' }
  assert.equal((await broker.request('/api/v4/banned', { method: 'POST', body })).status, 200)
  const device = await SnDevice.at(t, snPort)
  device.connect('device-1')
  assert.equal((await device.expect('connack'))[0], 3)
  await device.connected('device-2')
  assert.equal(await coap(t, coapPort, connectionOf('device-1')), '4.03')
  assert.equal(await coap(t, coapPort, connectionOf('device-3')), '2.01')
})

test('[F1] an MQTT client with the client ID of a device takes over its session, and the device gets DISCONNECT', async (t) => {
  const { broker, snPort } = await openGateways(t)
  const device = await SnDevice.at(t, snPort)
  await device.connected('meter')
  const client = await connected(t, broker, { clientId: 'meter' })
  await device.expect('disconnect')
  const { data } = (await broker.request('/api/v4/clients?clientid=meter')).json
  assert.deepEqual(
    data.map(({ proto_name: name }: { proto_name: string }) => name),
    ['MQTT'],
  )
  const closed = new Promise<void>((resolve) => client.once('close', () => resolve()))
  const other = await SnDevice.at(t, snPort)
  await other.connected('meter')
  await closed
})

test('[F1] a device and an MQTT client share a subscription: each message goes to one of them', async (t) => {
  const { broker, snPort } = await brokerWithNamespaces()
  const device = await SnDevice.at(t, snPort)
  await device.connected('meter')
  await device.register('jobs')
  await device.subscribe('$share/pool/jobs', { flags: 0 })
  const client = await connected(t, broker, { clientId: 'worker' })
  const taken: string[] = []
  const last = new Promise<void>((resolve) =>
    client.on('message', (topic, payload) => {
      if (topic === 'end') resolve()
      else taken.push(payload.toString())
    }),
  )
  await client.subscribeAsync({ '$share/pool/jobs': { qos: 1 }, end: { qos: 1 } })
  const jobs = Array.from({ length: 10 }, (_, number) => `job ${number}`)
  for (const job of jobs) await client.publishAsync('jobs', job, { qos: 1 })
  await client.publishAsync('end', '', { qos: 1 })
  await last
  assert.ok(
    taken.length > 0 && taken.length < jobs.length,
    `${taken.length} of ${jobs.length} arrived at the MQTT client`,
  )
  while (taken.length < jobs.length) taken.push((await device.expect('publish')).subarray(5).toString())
  assert.deepEqual(taken.toSorted(), jobs)
})

test('[F1] a device on a listener with a namespace belongs to this namespace', async (t) => {
  const { broker, plantPort } = await brokerWithNamespaces()
  const inside = await connected(t, broker, { clientId: 'inside', username: 'plant/reader' })
  const outside = await connected(t, broker, { clientId: 'outside' })
  await Promise.all([inside, outside].map((client) => client.subscribeAsync('#', { qos: 1 })))
  const received = [inside, outside].map(topicsOf)
  const device = await SnDevice.at(t, plantPort)
  await device.connected('meter')
  device.publish(0x20, await device.register('values/a'), 9, '1')
  assert.equal((await device.expect('puback'))[4], 0)
  await eventually(() => assert.deepEqual(received, [['values/a'], []]))
  await Promise.all([inside, outside].map((client) => client.publishAsync('own/end', '', { qos: 1 })))
  await eventually(() => assert.deepEqual(received, [['values/a', 'own/end'], ['own/end']]))
})

test('[F1] the mount point of a gateway is added to topics for other clients, and removed for its devices', async (t) => {
  const { broker, snPort } = await openGateways(t, ['gateway.mqttsn.mountpoint="plant/"'])
  const client = await connected(t, broker, { clientId: 'watcher' })
  await client.subscribeAsync('#', { qos: 1 })
  const received = topicsOf(client)
  const device = await SnDevice.at(t, snPort)
  await device.connected('meter')
  const topicId = await device.register('values/a')
  device.send(0x12, [0x20, 0, 7], 'values/a')
  const suback = await device.expect('suback')
  assert.equal(suback.readUInt16BE(1), topicId)
  await client.publishAsync('values/a', 'elsewhere', { qos: 1 })
  await client.publishAsync('plant/values/a', 'mounted', { qos: 1 })
  const message = await device.expect('publish')
  assert.deepEqual([message.readUInt16BE(1), message.subarray(5).toString()], [topicId, 'mounted'])
  device.send(0x0d, message.subarray(1, 5), [0])
  device.publish(0x20, topicId, 9, '1')
  await device.expect('puback')
  await eventually(() => assert.deepEqual(received, ['values/a', 'plant/values/a', 'plant/values/a']))
})

// LwM2M: section F5.

interface Started extends BrokerWithApi {
  readonly gatewayPort: number
}

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

// CoAP with a library, node-coap: section F4.

const ignore = (): void => {}

interface Call extends CoapRequestParams {
  readonly payload?: Buffer
  /** Size exponent of Block1. */
  readonly block1?: number
}

function libraryAt(t: Scope, port: number): (call: Call) => Promise<IncomingMessage> {
  const agent = new Agent({ type: 'udp4' })
  t.after(() => agent.close())
  return ({ payload, block1, ...params }) =>
    new Promise((resolve, reject) => {
      const outgoing = request({ hostname: '127.0.0.1', port, agent, confirmable: true, ...params })
      if (block1 !== undefined) outgoing.setOption('Block1', Buffer.of(block1))
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      outgoing.end(payload)
    })
}

test('[F4] node-coap publishes, also in blocks, reads retained messages, and observes topics', async (t) => {
  const { broker, coapPort } = await openGateways(t)
  const subscriber = await connected(t, broker, {})
  const received: Buffer[] = []
  let wake = ignore
  subscriber.on('message', (_, payload) => {
    received.push(payload)
    wake()
  })
  const next = async (): Promise<Buffer> => {
    while (received.length === 0) await new Promise<void>((resolve) => (wake = resolve))
    return received.shift() ?? assert.fail('nothing was received')
  }
  await subscriber.subscribeAsync('up/#', { qos: 1 })
  const call = libraryAt(t, coapPort)

  const put = await call({ method: 'PUT', pathname: '/ps/up/a', query: 'clientid=lib', payload: Buffer.from('21.5') })
  assert.equal(put.code, '2.04')
  assert.equal((await next()).toString(), '21.5')

  const large = randomBytes(5_000)
  const query = 'clientid=lib&retain=true'
  const blocks = await call({ method: 'PUT', pathname: '/ps/up/b', query, payload: large, block1: 6 })
  assert.equal(blocks.code, '2.04')
  assert.deepEqual(await next(), large)

  const retained = await call({ method: 'GET', pathname: '/ps/up/b', query: 'clientid=lib' })
  assert.equal(retained.code, '2.05')
  assert.deepEqual(retained.payload, large, 'in blocks as well')
  assert.equal((await call({ method: 'GET', pathname: '/ps/up/none', query: 'clientid=lib' })).code, '4.04')

  const observed = (await call({
    method: 'GET',
    pathname: '/ps/down/%23',
    query: 'clientid=watcher',
    observe: true,
  })) as ObserveReadStream
  assert.equal(observed.code, '2.05')
  const notified = new Promise<string>((resolve) => {
    observed.on('data', (chunk: Buffer) => {
      if (chunk.length > 0) resolve(chunk.toString())
    })
  })
  await subscriber.publishAsync('down/x', 'on', { qos: 1 })
  assert.equal(await notified, 'on')
})
