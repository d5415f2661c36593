// MQTT sources: a message of the remote broker is acknowledged when the results of its rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { startBroker, temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { startMosquitto } from './mosquitto-server.ts'
import { Relay } from './relay.ts'
import { untilSource } from './source-stage.ts'
import { longTest } from '../test-length.ts'

const sourceOf = (port: number, more = ''): readonly string[] => [
  `connectors.mqtt.plant={server="127.0.0.1:${port}",username=godwit,password=secret}`,
  `sources.mqtt.readings={connector=plant,parameters={topic="plant/#",qos=2}${more}}`,
  'rule_engine.rules.all={sql="SELECT * FROM \\"$bridges/mqtt:readings\\"",actions=[{function=republish,args={topic="from/${topic}",qos="${qos}",payload="${payload} ${server} ${retain}"}}]}',
]

async function connect(t: Scope, port: number, options: mqtt.IClientOptions = {}): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, ...options })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

const persistent = (clientId: string): mqtt.IClientOptions => ({
  clientId,
  clean: false,
  protocolVersion: 5,
  properties: { sessionExpiryInterval: 3_600 },
})

/** The payloads that a persistent session receives, until there are `count` different ones. */
async function payloadsOf(t: Scope, port: number, clientId: string, count: number): Promise<readonly string[]> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, { ...persistent(clientId), reconnectPeriod: 0 })
  t.after(() => client.end(true))
  const payloads: string[] = []
  await new Promise<void>((resolve) => {
    client.on('message', (_topic, payload) => {
      payloads.push(payload.toString())
      if (new Set(payloads).size >= count) resolve()
    })
  })
  return payloads
}

test('messages of mosquitto run rules with the columns of the message, and are not delivered to clients', async (t) => {
  const mosquitto = await startMosquitto(t)
  const remote = await connect(t, mosquitto.port)
  await remote.publishAsync('plant/a', 'retained', { qos: 1, retain: true })
  const relay = await Relay.start(t, mosquitto.port)
  // The source must not connect before the subscriber of the results.
  await relay.set('refusing')
  const broker = await startBroker(t, { set: sourceOf(relay.port) })
  const local = await connect(t, broker.port)
  const received: string[] = []
  let look: (() => void) | undefined
  local.on('message', (topic, payload) => {
    received.push(`${topic} ${payload.toString()}`)
    look?.()
  })
  const untilAll = (words: readonly string[]): Promise<void> =>
    new Promise((resolve) => {
      look = () => {
        if (words.every((word) => received.some((text) => text.includes(word)))) resolve()
      }
      look()
    })
  await local.subscribeAsync(['from/#', '$bridges/#', '#'], { qos: 1 })
  await relay.set('forwarding')
  await untilAll(['retained'])
  await remote.publishAsync('plant/b', 'one', { qos: 2 })
  await untilAll(['one'])
  await remote.publishAsync('other', 'two', { qos: 2 })
  await remote.publishAsync('plant/c', 'three', { qos: 0 })
  await untilAll(['three'])
  const server = `127.0.0.1:${relay.port}`
  assert.deepEqual(
    [...new Set(received)],
    [`from/plant/a retained ${server} true`, `from/plant/b one ${server} false`, `from/plant/c three ${server} false`],
  )
})

test('a client cannot publish to the topic of a source', async (t) => {
  const broker = await startBroker(t, { set: sourceOf(1) })
  const client = await connect(t, broker.port, { protocolVersion: 5 })
  const published = client.publishAsync('$bridges/mqtt:readings/plant/a', 'x', { qos: 1 })
  await assert.rejects(published, (error: { readonly code?: number }) => error.code === 0x87)
})

// Daily: the same with Kafka in test/clients/kafka-source.test.ts.
longTest('no message of the remote broker is lost when this broker is killed repeatedly', async (t) => {
  const mosquitto = await startMosquitto(t)
  const remote = await connect(t, mosquitto.port)
  const dataDirectory = await temporaryFolder(t)
  const start = () => startBrokerWithApi(t, { dataDirectory, set: ['node.shards=2', ...sourceOf(mosquitto.port)] })
  let broker = await start()
  const firstConnection = await connect(t, broker.port, persistent('offline'))
  await firstConnection.subscribeAsync('from/#', { qos: 2 })
  await firstConnection.endAsync()
  // mosquitto keeps the session of the source from now on.
  await untilSource(broker, 'mqtt:readings', 'connected')
  const count = 600
  for (let number = 0; number < count; number++) {
    await remote.publishAsync('plant/a', String(number), { qos: number % 2 === 0 ? 1 : 2 })
    if (number % 200 === 100) {
      await broker.process.stop('SIGKILL')
      broker = await start()
    }
  }
  const payloads = await payloadsOf(t, broker.port, 'offline', count)
  const numbers = new Set(payloads.map((payload) => Number(payload.split(' ')[0])))
  assert.equal(numbers.size, count)
})

test('a source is created, shown with state and counters, stopped and deleted over the API', async (t) => {
  const mosquitto = await startMosquitto(t)
  const remote = await connect(t, mosquitto.port)
  const broker = await startBrokerWithApi(t, {
    set: [`connectors.mqtt.plant={server="127.0.0.1:${mosquitto.port}"}`],
  })
  const settings = { type: 'mqtt', name: 'readings', connector: 'plant', parameters: { topic: 'plant/#', qos: 1 } }
  const probe = (body: object) => broker.request('/api/v5/sources_probe', { method: 'POST', body })
  assert.equal((await probe(settings)).status, 204)
  assert.match((await probe({ ...settings, parameters: {} })).text, /TEST_FAILED.*parameters\.topic/)
  assert.match((await probe({ ...settings, connector: 'west' })).text, /there is no connector/)
  const away = { type: 'mqtt', name: 'away', server: '127.0.0.1:1' }
  assert.equal((await broker.request('/api/v5/connectors', { method: 'POST', body: away })).status, 201)
  assert.match((await probe({ ...settings, connector: 'away' })).text, /TEST_FAILED.*refused/)
  assert.equal((await broker.request('/api/v5/connectors/mqtt:away', { method: 'DELETE' })).status, 204)
  const created = await broker.request('/api/v5/sources', { method: 'POST', body: settings })
  assert.equal(created.status, 201, created.text)
  const shows = async (status: string): Promise<void> => {
    for (;;) {
      const { json } = await broker.request('/api/v5/sources/mqtt:readings')
      if (json.status === status) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await shows('connected')
  await remote.publishAsync('plant/a', '1', { qos: 1 })
  for (;;) {
    const { json } = await broker.request('/api/v5/sources/mqtt:readings/metrics')
    if (json.metrics.received === 1) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const rule = { id: 'r', sql: 'SELECT * FROM "$bridges/mqtt:readings"', actions: [{ function: 'console' }] }
  assert.equal((await broker.request('/api/v5/rules', { method: 'POST', body: rule })).status, 201)
  const used = await broker.request('/api/v5/sources/mqtt:readings', { method: 'DELETE' })
  assert.equal(used.status, 400)
  assert.match(used.text, /is used by r/)
  assert.equal((await broker.request('/api/v5/sources/mqtt:readings/stop', { method: 'POST' })).status, 204)
  await shows('disconnected')
  assert.equal((await broker.request('/api/v5/sources/mqtt:readings/start', { method: 'POST' })).status, 204)
  await shows('connected')
  assert.equal((await broker.request('/api/v5/sources/mqtt:readings/enable/false', { method: 'PUT' })).status, 204)
  await shows('disconnected')
  const { json: connector } = await broker.request('/api/v5/connectors/mqtt:plant', { method: 'DELETE' })
  assert.match(JSON.stringify(connector), /is used by mqtt:readings/)
  assert.equal((await broker.request('/api/v5/rules/r', { method: 'DELETE' })).status, 204)
  assert.equal((await broker.request('/api/v5/sources/mqtt:readings', { method: 'DELETE' })).status, 204)
  assert.deepEqual((await broker.request('/api/v5/sources')).json, [])
})
