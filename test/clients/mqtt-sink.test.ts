// Actions of rules that publish to a remote broker: mosquitto, and Godwit that is killed and restarted.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shared, startBroker, temporaryFolder, type Scope } from '../e2e/godwit-process.ts'
import { reservePort } from '../e2e/reserve-port.ts'
import { startMosquitto } from './mosquitto-server.ts'
import { actionView, deadLettersOf, hasAllNumbers, publishAll, ruleTo, startWith, until } from './sink-stage.ts'
import { longTest } from '../test-length.ts'

const action = 'mqtt:forward'
const options = 'resource_opts={retry_interval=100ms,max_retries=1,request_timeout=2s,health_check_interval=200ms}'

const configuration = (port: number, parameters: string): readonly string[] => [
  `connectors.mqtt.remote={server="127.0.0.1:${port}",connect_timeout=1s,username=godwit,password=secret}`,
  `actions.mqtt.forward={connector=remote,parameters={${parameters}},${options}}`,
  ruleTo(action),
]

interface Received {
  readonly topic: string
  readonly payload: string
  readonly qos: number
  readonly retain: boolean
}

/** Subscribes with a persistent session, which survives a restart of the remote broker. */
async function subscribe(t: Scope, port: number): Promise<{ readonly received: Received[]; close(): Promise<void> }> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${port}`, {
    clientId: 'reader',
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
  await client.subscribeAsync('#', { qos: 2, rap: true })
  return { received, close: () => client.endAsync(true) }
}

const versions = ['v5', 'v4', 'v3'] as const

/** One mosquitto, and one broker with an action for each version of MQTT. */
const startVersions = shared(async (scope) => {
  const mosquitto = await startMosquitto(scope)
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
    assert.equal((await actionView(broker, `mqtt:${version}`)).status, 'connected')
  })
}

test('each message arrives at a Godwit that is killed and restarted, in order with a window of 1', async (t) => {
  const port = await reservePort(t)
  const dataDirectory = await temporaryFolder(t)
  const start = () => startBroker(t, { dataDirectory, set: [`listeners.tcp.bind="127.0.0.1:${port}"`] })
  let remote = await start()
  // The subscriber is disconnected: a client with QoS 2 that is connected when its broker is killed may not know which messages it received.
  await (await subscribe(t, port)).close()
  const parameters = 'topic="${topic}",qos=2,payload="${payload}"'
  const [connector, wanted, rule] = configuration(port, parameters)
  const { broker, client } = await startWith(t, [
    connector,
    wanted.replace('resource_opts={', 'resource_opts={inflight_window=1,'),
    rule,
  ])
  await publishAll(client, 0, 100)
  await remote.process.stop('SIGKILL')
  await publishAll(client, 100, 200)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'disconnected')
  remote = await start()
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
    const first = await startMosquitto(t)
    const { port, folder: dataFolder } = first
    const reader = await subscribe(t, port)
    await reader.close()
    const { broker, client } = await startWith(t, configuration(port, 'topic="${topic}",qos=0,payload="${payload}"'))
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
  const remote = await startBroker(t, {
    set: [
      'mqtt.max_packet_size=4KB',
      'auth.acl.rules=[{permit=deny,action=publish,topics=["secret/#"]},{permit=allow,topics=["#"]}]',
    ],
  })
  const { received } = await subscribe(t, remote.port)
  const { broker, client } = await startWith(
    t,
    configuration(remote.port, 'topic="${payload.to}",payload="${payload.text}"'),
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
  const mosquitto = await startMosquitto(t, ['password_file /dev/null', 'allow_anonymous false'])
  const { broker, client } = await startWith(t, configuration(mosquitto.port, 'topic=a'))
  await client.publishAsync('readings/1', '{}', { qos: 1 })
  await until(broker, action, async () => /not authorized/.test((await actionView(broker, action)).status_reason))
  const body = { type: 'mqtt', name: 'x', server: `127.0.0.1:${mosquitto.port}` }
  const probed = await broker.request('/api/v5/connectors_probe', { method: 'POST', body })
  assert.equal(probed.status, 400)
  assert.match(probed.text, /TEST_FAILED.*not authorized/)
})
