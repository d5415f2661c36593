// Bans, client IDs, namespaces and shared subscriptions apply to the clients of each gateway as to MQTT clients: section F1 of the
// gateway contract.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agent, type CoapRequestParams, request } from 'coap'
import type { MqttClient } from 'mqtt'
import { SnDevice } from '../gateways/sn-device.ts'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import type { Scope } from './godwit-process.ts'
import { connected } from './mqtt-client.ts'
import { reservePort } from './reserve-port.ts'

interface Gateways {
  readonly broker: BrokerWithApi
  readonly snPort: number
  readonly coapPort: number
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

type Start = (settings: readonly string[]) => Promise<BrokerWithApi>

/** For settings that apply only after a restart. */
const reconnected =
  (t: Scope): Start =>
  (set) =>
    startBrokerWithApi(t, { set })

async function openGateways(
  t: Scope,
  more: readonly string[] = [],
  start: Start = configuredBroker,
): Promise<Gateways> {
  const [snPort, coapPort] = [await reservePort(t), await reservePort(t)]
  const binds = [
    `gateway.mqttsn.listeners.udp.default.bind="127.0.0.1:${snPort}"`,
    `gateway.coap.listeners.udp.default.bind="127.0.0.1:${coapPort}"`,
  ]
  return { broker: await start([...binds, ...more]), snPort, coapPort }
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
  const { broker, snPort } = await openGateways(t, ['node.shards=1'], reconnected(t))
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
  const namespaces = ['namespaces.enable=true', 'namespaces.username="${namespace}/*"']
  const listener = 'gateway.mqttsn.listeners.udp.default.namespace=plant'
  const { broker, snPort } = await openGateways(t, ['node.shards=2', ...namespaces, listener], reconnected(t))
  const inside = await connected(t, broker, { clientId: 'inside', username: 'plant/reader' })
  const outside = await connected(t, broker, { clientId: 'outside' })
  await Promise.all([inside, outside].map((client) => client.subscribeAsync('#', { qos: 1 })))
  const received = [inside, outside].map(topicsOf)
  const device = await SnDevice.at(t, snPort)
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
