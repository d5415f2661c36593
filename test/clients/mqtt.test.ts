// Actions of rules that publish to a remote broker: mosquitto, and Godwit that is killed and restarted. MQTT sources: a message of the
// remote broker is acknowledged when the results of its rules are stored.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { type Broker, shared, startBroker, temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startMosquitto } from './mosquitto-server.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, shareSinks, until } from './sink-stage.ts'
import { Relay } from './relay.ts'
import { untilSource } from './source-stage.ts'
import { longTest } from '../test-length.ts'

const options = 'resource_opts={retry_interval=100ms,max_retries=1,request_timeout=2s,health_check_interval=200ms}'

const actionTo = (name: string, port: number, parameters: string, more = ''): readonly string[] => [
  `connectors.mqtt.remote={server="127.0.0.1:${port}",connect_timeout=1s,username=godwit,password=secret}`,
  `actions.mqtt.${name}={connector=remote,parameters={${parameters}},${options.replace('{', `{${more}`)}}`,
  ruleTo(`mqtt:${name}`),
]

interface Received {
  readonly topic: string
  readonly payload: string
  readonly qos: number
  readonly retain: boolean
}

const startWith = shareSinks()

/** One mosquitto for tests that do not stop it. Each test uses other topics. */
const sharedMosquitto = shared((scope) => startMosquitto(scope))

/** Subscribes with a persistent session, which survives a restart of the remote broker. */
async function subscribe(
  t: Scope,
  port: number,
  { clientId = 'reader', filter = '#' } = {},
): Promise<{ readonly received: Received[]; close(): Promise<void> }> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
    clientId,
    clean: false,
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 3_600 },
    reconnectPeriod: 0,
  })
  const received: Received[] = []
  client.on('error', () => {})
  client.on('message', (topic, payload, { qos, retain }) => {
    received.push({ topic, payload: payload.toString(), qos, retain })
  })
  t.after(() => client.end(true))
  await new Promise((resolve) => client.once('connect', resolve))
  await client.subscribeAsync(filter, { qos: 2, rap: true })
  return { received, close: () => client.endAsync(true) }
}

const versions = ['v5', 'v4', 'v3'] as const

/** An action for each version of MQTT. */
const startVersions = shared(async (scope) => {
  const mosquitto = await sharedMosquitto()
  const parameters =
    'topic="there/${topic}",qos="${qos}",retain="${flags.retain}",payload="${payload.text} ${clientid}"'
  const set = versions.flatMap((version) => [
    `connectors.mqtt.${version}={server="127.0.0.1:${mosquitto.port}",proto_ver=${version}}`,
    `actions.mqtt.${version}={connector=${version},parameters={${parameters}},${options}}`,
    `rule_engine.rules.${version}={sql="SELECT * FROM \\"${version}/#\\"",actions=["mqtt:${version}"]}`,
  ])
  return { mosquitto, ...(await startWith(scope, set)) }
})

for (const version of versions) {
  test(`mosquitto gets topic, QoS, retain flag and payload of the templates (${version})`, async (t) => {
    const { mosquitto, broker, client } = await startVersions()
    const topic = `${version}/1`
    t.after(() => client.publishAsync(topic, '', { qos: 1, retain: true }))
    const all = (await subscribe(t, mosquitto.port)).received
    const received = () => all.filter((one) => one.topic === `there/${topic}`)
    for (const qos of [0, 1, 2] as const)
      await client.publishAsync(topic, JSON.stringify({ text: `qos ${qos}` }), { qos, retain: qos === 2 })
    await until(broker, `mqtt:${version}`, async () => received().length >= 3)
    const id = client.options.clientId
    assert.deepEqual(
      received().toSorted((a, b) => a.qos - b.qos),
      [0, 1, 2].map((qos) => ({
        topic: `there/${topic}`,
        payload: `qos ${qos} ${id}`,
        qos,
        retain: qos === 2,
      })),
    )
    // A shard that got no message may still be connecting.
    await until(
      broker,
      `mqtt:${version}`,
      async () => (await actionView(broker, `mqtt:${version}`)).status === 'connected',
    )
  })
}

/** A remote Godwit, which a test kills and starts again. */
const sharedRemote = shared(async (scope) => {
  const port = await reservePort(scope)
  const dataDirectory = await temporaryFolder(scope)
  const set = [
    `listeners.tcp.bind="127.0.0.1:${port}"`,
    'mqtt.max_packet_size=4KB',
    'auth.acl.rules=[{permit=deny,action=publish,topics=["secret/#"]},{permit=allow,topics=["#"]}]',
  ]
  let remote: Broker | undefined
  const start = async (): Promise<void> => {
    remote = await startBroker(scope, { dataDirectory, set })
  }
  await start()
  return { port, start, kill: () => remote?.process.stop('SIGKILL') }
})

test('each message arrives at a Godwit that is killed and restarted, in order with a window of 1', async (t) => {
  const action = 'mqtt:killed'
  const { port, start, kill } = await sharedRemote()
  // The subscriber is disconnected: a client with QoS 2 that is connected when its broker is killed may not know which messages it received.
  await (await subscribe(t, port)).close()
  const parameters = 'topic="${topic}",qos=2,payload="${payload}"'
  const { broker, client } = await startWith(t, actionTo('killed', port, parameters, 'inflight_window=1,'))
  await publishAll(client, 0, 100)
  await kill()
  await publishAll(client, 100, 200)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  await start()
  await publishAll(client, 200, 300)
  const { received } = await subscribe(t, port)
  const payloads = (): string[] => received.map(({ payload }) => payload)
  await until(broker, action, async () => hasAllNumbers(payloads(), 300))
  const numbers = payloads().map((text) => (JSON.parse(text) as { readonly number: number }).number)
  // A message whose acknowledgement was lost arrives twice, consecutively.
  assert.deepEqual(
    numbers,
    numbers.toSorted((a, b) => a - b),
  )
})

// Daily: the same with Godwit, above.
longTest(
  'each message arrives at mosquitto that is stopped and restarted; messages with QoS 0 are queued, too',
  async (t) => {
    const action = 'mqtt:stopped'
    const first = await startMosquitto(t)
    const { port, folder: dataFolder } = first
    const reader = await subscribe(t, port)
    await reader.close()
    const { broker, client } = await startWith(
      t,
      actionTo('stopped', port, 'topic="${topic}",qos=0,payload="${payload}"'),
    )
    await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
    await first.process.stop('SIGTERM')
    // Messages that are sent with QoS 0 before that are lost.
    await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
    await publishAll(client, 0, 100)
    await startMosquitto(t, [], { dataFolder, port })
    const { received } = await subscribe(t, port)
    await publishAll(client, 100, 200)
    await until(broker, action, async () =>
      hasAllNumbers(
        received.map(({ payload }) => payload),
        200,
      ),
    )
  },
)

test('a message that the remote broker refuses becomes a dead letter, and the others arrive', async (t) => {
  const action = 'mqtt:refused'
  const { port } = await sharedRemote()
  const { received } = await subscribe(t, port, { clientId: 'other-reader', filter: 'open/#' })
  const { broker, client } = await startWith(
    t,
    actionTo('refused', port, 'topic="${payload.to}",payload="${payload.text}"'),
  )
  const publish = (to: string, text: string): Promise<unknown> =>
    client.publishAsync('readings/1', JSON.stringify({ to, text }), { qos: 1 })
  await publish('open/1', 'first')
  await publish('secret/1', 'denied')
  await publish('open/1', 'x'.repeat(5_000))
  await publish('open/1', 'last')
  await until(broker, action, async () => received.some(({ payload }) => payload === 'last'))
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 2)
  assert.deepEqual(
    received.map(({ payload }) => payload),
    ['first', 'last'],
  )
  const reasons = (await deadLettersOf(broker, action)).map(({ reason }) => reason).toSorted()
  assert.match(reasons[0] ?? '', /the message has 50\d\d bytes, and the remote broker accepts 4096/)
  assert.match(reasons[1] ?? '', /not authorized \(0x87/)
})

test('a wrong password is shown as the reason, and is the error of a probe', async (t) => {
  const action = 'mqtt:unknown'
  const mosquitto = await startMosquitto(t, ['password_file /dev/null', 'allow_anonymous false'])
  const { broker, client } = await startWith(t, actionTo('unknown', mosquitto.port, 'topic=a'))
  await client.publishAsync('readings/1', '{}', { qos: 1 })
  await until(broker, action, async () => /not authorized/.test((await actionView(broker, action)).status_reason))
  const body = { type: 'mqtt', name: 'x', server: `127.0.0.1:${mosquitto.port}` }
  const probed = await broker.request('/api/v5/connectors_probe', { method: 'POST', body })
  assert.equal(probed.status, 400)
  assert.match(probed.text, /TEST_FAILED.*not authorized/)
})

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
  const mosquitto = await sharedMosquitto()
  const remote = await connect(t, mosquitto.port)
  await remote.publishAsync('plant/a', 'retained', { qos: 1, retain: true })
  const relay = await Relay.start(t, mosquitto.port)
  // The source must not connect before the subscriber of the results.
  await relay.set('refusing')
  const { client: local } = await startWith(t, sourceOf(relay.port))
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
  const { broker } = await startWith(t, sourceOf(1))
  const client = await connect(t, broker.port, { protocolVersion: 5 })
  const published = client.publishAsync('$bridges/mqtt:readings/plant/a', 'x', { qos: 1 })
  await assert.rejects(published, (error: { readonly code?: number }) => error.code === 0x87)
})

// Daily: the same with Kafka in test/clients/kafka.test.ts.
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
  const mosquitto = await sharedMosquitto()
  const remote = await connect(t, mosquitto.port)
  const { broker } = await startWith(t, [`connectors.mqtt.plant={server="127.0.0.1:${mosquitto.port}"}`])
  const settings = { type: 'mqtt', name: 'shown', connector: 'plant', parameters: { topic: 'shown/#', qos: 1 } }
  const probe = (body: object) => broker.request('/api/v5/sources_probe', { method: 'POST', body })
  assert.equal((await probe(settings)).status, 204)
  assert.match((await probe({ ...settings, parameters: {} })).text, /TEST_FAILED.*parameters\.topic/)
  assert.match((await probe({ ...settings, connector: 'west' })).text, /connector not found/)
  const away = { type: 'mqtt', name: 'away', server: '127.0.0.1:1' }
  assert.equal((await broker.request('/api/v5/connectors', { method: 'POST', body: away })).status, 201)
  assert.match((await probe({ ...settings, connector: 'away' })).text, /TEST_FAILED.*refused/)
  assert.equal((await broker.request('/api/v5/connectors/mqtt:away', { method: 'DELETE' })).status, 204)
  const created = await broker.request('/api/v5/sources', { method: 'POST', body: settings })
  assert.equal(created.status, 201, created.text)
  const shows = async (status: string): Promise<void> => {
    for (;;) {
      const { json } = await broker.request('/api/v5/sources/mqtt:shown')
      if (json.status === status) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  await shows('connected')
  await remote.publishAsync('shown/a', '1', { qos: 1 })
  for (;;) {
    const { json } = await broker.request('/api/v5/sources/mqtt:shown/metrics')
    if (json.metrics.received === 1) break
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  const rule = { id: 'r', sql: 'SELECT * FROM "$bridges/mqtt:shown"', actions: [{ function: 'console' }] }
  assert.equal((await broker.request('/api/v5/rules', { method: 'POST', body: rule })).status, 201)
  const used = await broker.request('/api/v5/sources/mqtt:shown', { method: 'DELETE' })
  assert.equal(used.status, 400)
  assert.match(used.text, /is used by r/)
  assert.equal((await broker.request('/api/v5/sources/mqtt:shown/stop', { method: 'POST' })).status, 204)
  await shows('disconnected')
  assert.equal((await broker.request('/api/v5/sources/mqtt:shown/start', { method: 'POST' })).status, 204)
  await shows('connected')
  assert.equal((await broker.request('/api/v5/sources/mqtt:shown/enable/false', { method: 'PUT' })).status, 204)
  await shows('disconnected')
  const { json: connector } = await broker.request('/api/v5/connectors/mqtt:plant', { method: 'DELETE' })
  assert.match(JSON.stringify(connector), /is used by mqtt:shown/)
  assert.equal((await broker.request('/api/v5/rules/r', { method: 'DELETE' })).status, 204)
  assert.equal((await broker.request('/api/v5/sources/mqtt:shown', { method: 'DELETE' })).status, 204)
  assert.deepEqual((await broker.request('/api/v5/sources')).json, [])
})
