// mqtt.stored_messages_overflow with three shards: the full session, its publishers and connected subscribers are on different shards.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import mqtt, { type MqttClient } from 'mqtt'
import { computeOwnerShard } from '../../src/core/index.ts'
import { type BrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { connected, receivePayloads } from './mqtt-client.ts'

const shards = 3
const limit = 20
const quotaExceeded = 0x97
const versions = [4, 5] as const
type Version = (typeof versions)[number]

const configuredBroker = shareConfigurableBroker([`node.shards=${shards}`])

const settings = (overflow: string): readonly string[] => [
  `mqtt.max_stored_messages=${limit}`,
  `mqtt.stored_messages_overflow=${overflow}`,
]

/** Returns a client ID whose session belongs to this shard. */
function idOn(shard: number, prefix: string): string {
  for (let number = 0; ; number++) {
    const clientId = `${prefix}-${number}`
    if (computeOwnerShard(clientId, shards) === shard) return clientId
  }
}

interface Stage {
  readonly broker: BrokerWithApi
  /** On shard 0. Its client is disconnected. */
  readonly fullId: string
  /** One for each version, on shards 1 and 2. */
  readonly publishers: ReadonlyMap<Version, MqttClient>
  /** Payloads that a connected subscriber of each shard received. */
  readonly live: readonly string[][]
}

const sessionOptions = (clientId: string) =>
  ({ clientId, clean: false, properties: { sessionExpiryInterval: 3_600 } }) as const

async function prepare(t: TestContext, overflow: string): Promise<Stage> {
  const broker = await configuredBroker(settings(overflow))
  const topic = `${overflow}/#`
  const fullId = idOn(0, `full ${overflow}`)
  const first = await connected(t, broker, sessionOptions(fullId))
  await first.subscribeAsync(topic, { qos: 2 })
  await first.endAsync()
  const live = await Promise.all(
    Array.from({ length: shards }, async (_, shard) => {
      const payloads: string[] = []
      const subscriber = await connected(t, broker, { clientId: idOn(shard, `live ${overflow}`) })
      subscriber.on('message', (_topic, payload) => payloads.push(String(payload)))
      await subscriber.subscribeAsync(topic, { qos: 2 })
      return payloads
    }),
  )
  const publishers = new Map<Version, MqttClient>()
  for (const [index, version] of versions.entries()) {
    const clientId = idOn(1 + index, `publisher ${overflow}`)
    publishers.set(version, await connected(t, broker, { clientId, protocolVersion: version }))
  }
  return { broker, fullId, publishers, live }
}

async function countDropped({ broker }: Stage): Promise<number> {
  return (await broker.request('/api/v4/dropped')).json.meta.by_reason['storage-full'] ?? 0
}

async function findAlarm({ broker, fullId }: Stage): Promise<string | undefined> {
  const { json } = await broker.request('/api/v4/alarms/activated')
  const alarms: readonly { readonly name: string; readonly message: string }[] = json.data[0].alarms
  return alarms.find(({ name }) => name === `session-queue:${fullId}`)?.message
}

/** Connects the client of the full session. Resolves with the first `count` payloads of its queue. */
async function receiveQueue(t: TestContext, { broker, fullId }: Stage, count: number): Promise<string[]> {
  const client = mqtt.connect(`mqtt://127.0.0.1:${broker.port}`, { protocolVersion: 5, ...sessionOptions(fullId) })
  t.after(() => client.end(true))
  return receivePayloads(client, count)
}

const payloadsOf = (version: Version, from: number, to: number): readonly string[] =>
  Array.from({ length: to - from }, (_, index) => `${version}:${from + index}`)

describe('with three shards, mqtt.stored_messages_overflow', () => {
  test('drop_oldest acknowledges all, connected subscribers get all, and the session keeps its newest messages', async (t) => {
    const stage = await prepare(t, 'drop_oldest')
    const count = 5 * limit
    const warned = 0.8 * limit
    const publish = async (version: Version, from: number, to: number): Promise<void> => {
      for (const [index, payload] of payloadsOf(version, from, to).entries())
        await stage.publishers.get(version)?.publishAsync('drop_oldest/x', payload, { qos: index % 2 === 0 ? 1 : 2 })
    }
    const droppedBefore = await countDropped(stage)
    await publish(5, 0, warned)
    await eventually(async () => assert.match((await findAlarm(stage)) ?? '', /has 16 stored messages, 80 % of/))
    await publish(5, warned, count)
    await publish(4, 0, count)
    // Sorted: the client emits a message of QoS 2 when it is released, so behind later ones of QoS 1.
    const published = versions.flatMap((version) => payloadsOf(version, 0, count)).toSorted()
    for (const payloads of stage.live) await eventually(() => assert.deepEqual(payloads.toSorted(), published))
    await eventually(async () => assert.equal((await countDropped(stage)) - droppedBefore, 2 * count - limit))
    await eventually(async () => assert.match((await findAlarm(stage)) ?? '', /100 % of .* loses its oldest messages/))
    const received = await receiveQueue(t, stage, limit)
    assert.deepEqual(received.toSorted(), payloadsOf(4, count - limit, count))
    await eventually(async () => assert.equal(await findAlarm(stage), undefined))
  })

  test('reject_publish refuses 5.0 publishers, lets 3.1.1 publishers wait, and delivers exactly what it acknowledges', async (t) => {
    const stage = await prepare(t, 'reject_publish')
    const { broker, publishers, live } = stage
    const droppedBefore = await countDropped(stage)
    const acknowledged: string[] = []
    const publish = async (client: MqttClient | undefined, payload: string, qos: 1 | 2): Promise<boolean> => {
      try {
        await client?.publishAsync('reject_publish/x', payload, { qos })
      } catch (error) {
        assert.equal((error as { readonly code?: unknown }).code, quotaExceeded)
        return false
      }
      acknowledged.push(payload)
      return true
    }
    for (const [index, payload] of payloadsOf(5, 0, 3 * limit).entries())
      await publish(publishers.get(5), payload, index % 2 === 0 ? 1 : 2)
    assert.ok(acknowledged.length >= limit && acknowledged.length < 2 * limit, String(acknowledged.length))
    // The shard of the 3.1.1 publisher learns as well that the session is full.
    const probe = await connected(t, broker, { clientId: idOn(1, 'probe') })
    for (let number = 0; await publish(probe, `probe:${number}`, 1); number++) assert.ok(number < limit)
    const before = [...acknowledged]
    const waiting = payloadsOf(4, 0, 10).map((payload, index) =>
      publish(publishers.get(4), payload, index % 2 === 0 ? 1 : 2),
    )
    // Other topics, and messages of QoS 0, are not affected.
    await probe.publishAsync('elsewhere', 'x', { qos: 2 })
    await probe.publishAsync('reject_publish/x', 'QoS 0', { qos: 0 })
    for (const payloads of live)
      await eventually(() => assert.deepEqual(payloads.toSorted(), [...before, 'QoS 0'].toSorted()))
    await eventually(async () =>
      assert.match((await findAlarm(stage)) ?? '', /1\d\d % of .*publishers wait or are refused/),
    )
    assert.deepEqual(acknowledged, before)
    const received = await receiveQueue(t, stage, before.length + waiting.length)
    await Promise.all(waiting)
    assert.deepEqual(received.toSorted(), acknowledged.toSorted())
    for (const payloads of live)
      await eventually(() => assert.deepEqual(payloads.toSorted(), [...acknowledged, 'QoS 0'].toSorted()))
    assert.equal(await countDropped(stage), droppedBefore)
    await eventually(async () => assert.equal(await findAlarm(stage), undefined))
  })
})
