// Results that wait for an action whose queue is full (overflow = block), while the broker is killed and starts with another number of shards:
// every result of each message arrives. The publishers reconnect and send again what was not acknowledged.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { computeOwnerShard } from '../../src/core/index.ts'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { isLong } from '../test-length.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './godwit-process.ts'
import { HttpService } from './http-service.ts'
import { reservePort } from './reserve-port.ts'

/** Numbers of shards, one start after the other. The long run has each change between one, two and three once. */
const starts = isLong ? [1, 1, 2, 2, 3, 3, 1, 3, 2, 1] : [3, 1, 2]
const maxShards = 3
const maxBufferedMessages = 30
const resultsOfMessage = 5
const maxInFlight = 12
/** Acknowledged messages before a kill while the service responds. */
const acknowledgedBeforeKill = 60

const settings = (servicePort: number): readonly string[] => [
  `connectors.http.local.url="http://127.0.0.1:${servicePort}"`,
  `actions.http.kept=${JSON.stringify({
    connector: 'local',
    parameters: { path: '/in', body: '${item}' },
    resource_opts: { max_buffer_messages: maxBufferedMessages, overflow: 'block', retry_interval: '50ms' },
  })}`,
  `rule_engine.rules.each=${JSON.stringify({
    sql: 'FOREACH payload.items AS item DO item AS item FROM "items/#"',
    actions: ['http:kept'],
  })}`,
]

/** Publishes with a number of messages in flight until it is told to stop, over all restarts of the broker. */
class Publisher {
  readonly results: string[] = []
  acknowledged = 0
  readonly #client: MqttClient
  readonly #loops: Promise<void>[]
  #isStopping = false
  #number = 0

  constructor(t: TestContext, port: number, clientId: string) {
    // A 3.1.1 client: MQTT.js sends again what was in flight when the connection was lost.
    const options = { clientId, clean: false, protocolVersion: 4, reconnectPeriod: 50 } as const
    this.#client = mqtt.connect(`mqtt://127.0.0.1:${port}`, options)
    this.#client.on('error', () => {})
    t.after(() => this.#client.end(true))
    this.#loops = Array.from({ length: maxInFlight }, () => this.#publishInTurn(clientId))
  }

  async #publishInTurn(clientId: string): Promise<void> {
    while (!this.#isStopping) {
      const number = ++this.#number
      const items = Array.from({ length: resultsOfMessage }, (_, index) => `${clientId}:${number}:${index}`)
      this.results.push(...items)
      await this.#client.publishAsync('items/x', JSON.stringify({ items }), { qos: number % 2 === 0 ? 1 : 2 })
      this.acknowledged += 1
    }
  }

  /** Resolves when all messages are acknowledged. */
  async finish(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#loops)
  }
}

async function metricsOf(broker: BrokerWithApi): Promise<{ readonly queuing: number; readonly dropped: number }> {
  return (await broker.request('/api/v5/actions/http:kept/metrics')).json.metrics
}

/** Client IDs of different shards, if there are several. */
function publisherIds(): readonly string[] {
  return Array.from({ length: maxShards }, (_, shard) => {
    for (let number = 0; ; number++) if (computeOwnerShard(`p${number}`, maxShards) === shard) return `p${number}`
  })
}

test(`results for a full action queue survive kills and changes of the number of shards (${starts.join(' → ')})`, async (t) => {
  const service = await HttpService.start(t)
  const dataDirectory = await temporaryFolder(t)
  const port = await reservePort(t)
  const start = (shards: number): Promise<BrokerWithApi> =>
    startBrokerWithApi(t, {
      dataDirectory,
      set: [`node.shards=${shards}`, `listeners.tcp.bind="127.0.0.1:${port}"`, ...settings(service.port)],
    })
  let broker = await start(starts[0] ?? 1)
  const publishers = publisherIds().map((clientId) => new Publisher(t, port, clientId))
  const acknowledged = (): number => publishers.reduce((sum, publisher) => sum + publisher.acknowledged, 0)
  for (const shards of starts.slice(1)) {
    const before = acknowledged()
    await eventually(() => assert.ok(acknowledged() >= before + acknowledgedBeforeKill))
    service.stop()
    // From now on, publishers wait.
    await eventually(async () => assert.ok((await metricsOf(broker)).queuing >= maxBufferedMessages))
    assert.equal((await metricsOf(broker)).dropped, 0)
    await broker.process.stop('SIGKILL')
    broker = await start(shards)
    await service.start()
  }
  await Promise.all(publishers.map((publisher) => publisher.finish()))
  const arrived = (): Set<string> => new Set(service.received.map(({ body }) => body))
  const expected = publishers.flatMap(({ results }) => results)
  await eventually(() => {
    const received = arrived()
    assert.deepEqual(
      expected.filter((result) => !received.has(result)),
      [],
    )
  })
  assert.ok(expected.length >= (starts.length - 1) * acknowledgedBeforeKill * resultsOfMessage)
  await eventually(async () => {
    const { queuing, dropped } = await metricsOf(broker)
    assert.deepEqual([queuing, dropped], [0, 0])
  })
})
