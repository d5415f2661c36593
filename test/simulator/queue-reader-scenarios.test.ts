// Queues of persistent sessions, read by the real readers while connections break at each step of a read.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { runReaderScenario, runRandomScenarioWithSlowReads } from './run-reader-scenario.ts'
import type { ScenarioEnd } from './run-scenario.ts'
import { realMemoryStore } from './real-record-store.ts'
import { World } from './world.ts'
import { testLength } from '../test-length.ts'

const seedsPerTest = testLength({ daily: 12, long: 60 })
const seedsOnLevel = testLength({ daily: 2, long: 12 })
const ordinarySeeds = testLength({ daily: 5, long: 50 })

describe('the queue of a persistent session reaches its next connections in order, whenever the client reconnects', () => {
  for (const from of [1, 101]) {
    test(`seeds ${from} to ${from + seedsPerTest - 1}`, async () => {
      const { faults, delivered } = await runMany(from, seedsPerTest, (seed) => runReaderScenario(seed))
      assert.deepEqual(faults, [])
      assert.ok(delivered > seedsPerTest * 500, `only ${delivered} messages were delivered: too few`)
    })
  }

  test(`on the real LevelDB store: seeds 301 to ${300 + seedsOnLevel}`, async () => {
    const { faults } = await runMany(301, seedsOnLevel, (seed) => runReaderScenario(seed, { onLevel: true }))
    assert.deepEqual(faults, [])
  })

  test('a seed gives the same scenario in each run', async () => {
    const [once, again, another] = [await recordedLog(7), await recordedLog(7), await recordedLog(8)]
    assert.deepEqual(once, again)
    assert.notDeepEqual(once, another)
  })
})

test('[MQTT5-3.1.2-4] a new session with the same client ID receives nothing from the queue of the earlier session', async () => {
  const world = new World({
    recordStore: realMemoryStore(),
    settles: false,
    starts: false,
    readsSlowly: true,
    shards: 1,
    settings: { maxQueuedMessages: 10 },
  })
  const act = async (act: () => unknown): Promise<void> => {
    act()
    await world.passMsAsync(20)
  }
  const publish = (count: number, label: string): Promise<void> =>
    act(() => {
      for (let number = 1; number <= count; number++) author.publish('news', `${label} ${number}`, { qos: 1 })
    })
  world.stage.after(0, () => world.host.start())
  const author = world.client('author')
  const offlineClient = world.client('offline', { cleanStart: false, sessionExpirySeconds: 600, receiveMaximum: 10 })
  await act(() => undefined)
  await act(() => author.connect())
  await act(() => offlineClient.connect())
  await act(() => offlineClient.subscribe('news', { qos: 1 }))
  await act(() => offlineClient.disconnect())
  await publish(40, 'old')
  // Ten messages are in flight and ten are queued in memory. The read is kept for the next part, which begins with the 21st.
  offlineClient.acknowledges = false
  await act(() => offlineClient.connect())
  offlineClient.acknowledges = true
  await act(() => offlineClient.connect({ cleanStart: true }))
  await act(() => offlineClient.subscribe('news', { qos: 1 }))
  // The queue of the new session begins with the same sequence number.
  await publish(20, 'new')
  await act(() => offlineClient.disconnect())
  await publish(5, 'newer')
  const before = offlineClient.messages.length
  await act(() => offlineClient.connect({ cleanStart: false }))
  assert.deepEqual(
    offlineClient.messages.slice(before).map(({ payload }) => payload),
    [1, 2, 3, 4, 5].map((number) => `newer ${number}`),
  )
  world.reads?.end()
  assert.equal(world.reads?.fault, undefined)
})

describe('random scenarios whose queues are read in steps violate no rule', () => {
  for (const shards of [1, 3]) {
    test(`seeds 1 to ${ordinarySeeds} (shards: ${shards})`, async () => {
      const { faults } = await runMany(1, ordinarySeeds, (seed) => runRandomScenarioWithSlowReads(seed, { shards }))
      assert.deepEqual(faults, [])
    })
  }
})

async function recordedLog(seed: number): Promise<readonly string[]> {
  return (await runReaderScenario(seed, { isRecorded: true })).log
}

async function runMany(
  from: number,
  count: number,
  run: (seed: number) => Promise<ScenarioEnd>,
): Promise<{ faults: string[]; delivered: number }> {
  const faults: string[] = []
  let delivered = 0
  for (let seed = from; seed < from + count; seed++) {
    const end = await run(seed)
    delivered += end.delivered
    if (end.fault !== undefined) faults.push(`${end.profile}: ${end.fault}`)
  }
  return { faults, delivered }
}
