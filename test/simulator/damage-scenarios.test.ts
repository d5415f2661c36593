// Queues with lost and damaged records, read by the real readers: all other messages arrive, and no lost message arrives wrong.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testLength } from '../test-length.ts'
import { Random } from './random.ts'
import { RecordDamage } from './record-damage.ts'
import { realMemoryStore } from './real-record-store.ts'
import { runReaderScenario } from './run-reader-scenario.ts'
import { World } from './world.ts'

/** The first seeds at which sessions lack messages if the readers take a part with damaged records for the end of the queue: 29, 30. */
const runs = [
  { store: 'memory', firstSeed: 29, count: testLength({ daily: 3, long: 100 }) },
  { store: 'level', firstSeed: 31, count: testLength({ daily: 1, long: 20 }) },
] as const

describe('with lost and damaged records, each whole message reaches the next connections in order, and each loss is reported', () => {
  for (const { store, firstSeed, count } of runs) {
    test(`store: ${store}, seeds ${firstSeed} to ${firstSeed + count - 1}`, async () => {
      const faults: string[] = []
      let delivered = 0
      let damaged = 0
      for (let seed = firstSeed; seed < firstSeed + count; seed++) {
        const end = await runReaderScenario(seed, { damages: true, onLevel: store === 'level' })
        delivered += end.delivered
        damaged += end.damaged
        if (end.fault !== undefined) faults.push(end.fault)
      }
      assert.deepEqual(faults, [])
      assert.ok(delivered > count * 300, `only ${delivered} messages were delivered`)
      assert.ok(damaged > count * 5, `only ${damaged} records were damaged`)
    })
  }
})

test('a queued record whose payload is lost gets no payload that was stored after a restart', async () => {
  const damage = new RecordDamage(new Random(1))
  const recordStore = realMemoryStore(damage)
  const world = new World({ recordStore, settles: false, starts: false, readsSlowly: true, shards: 1 })
  const act = async (act: () => void | Promise<void>): Promise<void> => {
    world.stage.after(0, act)
    await world.passMsAsync(100)
  }
  await act(async () => await world.host.start())
  const publisher = world.client('publisher')
  const subscribers = ['subscriber-1', 'subscriber-2'].map((id) =>
    world.client(id, { cleanStart: false, sessionExpirySeconds: 600 }),
  )
  for (const client of [publisher, ...subscribers]) await act(() => void client.connect())
  for (const client of subscribers) await act(() => void client.subscribe('news', { qos: 1 }))
  for (const client of subscribers) await act(() => client.disconnect())
  const publish = async (payload: string): Promise<void> =>
    await act(() => void publisher.publish('news', payload, { qos: 1 }))
  for (const payload of ['1', '2', '3', '4']) await publish(payload)
  await act(async () => await world.host.die('kill'))
  const ids: number[] = []
  for await (const record of recordStore.store.read({ kind: 'payload' }))
    if (record.kind === 'payload') ids.push(record.id)
  const lost = ids.slice(2)
  await recordStore.store.commit(lost.map((id) => ({ change: 'delete', key: { kind: 'payload', id } })))
  await act(async () => await world.host.start())
  await act(() => void publisher.connect())
  for (const payload of ['5', '6']) await publish(payload)
  for (const client of subscribers) await act(() => void client.connect())
  for (const { id, payloads } of subscribers) assert.deepEqual([id, payloads], [id, ['1', '2', '5', '6']])
  assert.ok(damage.reportedOf('subscriber-1') >= lost.length, 'an alarm reports the lost messages')
  world.reads?.end()
  assert.equal(world.reads?.fault, undefined)
})
