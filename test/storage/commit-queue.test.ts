import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredChange } from '../../src/core/index.ts'
import { CommitQueue, openMemoryStore, StorageFailure } from '../../src/storage/index.ts'
import { FaultyStore } from './faulty-store.ts'
import { put, readAll } from './read-all.ts'
import { queued } from './sample-records.ts'

/** A queue over a store that can fail, and a clock that only moves when it is told to. */
function stage() {
  const store = new FaultyStore(openMemoryStore())
  const health: string[] = []
  const waits: { delayMs: number; callback: () => void }[] = []
  const queue = new CommitQueue({
    store,
    after: (delayMs, callback) => waits.push({ delayMs, callback }),
    onHealth: (isHealthy, reason) => health.push(isHealthy ? 'healthy' : `failing: ${reason}`),
    firstRetryMs: 100,
    longestRetryMs: 300,
  })
  /** Lets all promises settle, then ends the wait that has begun. */
  const nextRetry = async (): Promise<number> => {
    await settled()
    const wait = waits.shift()
    assert.ok(wait !== undefined, 'the queue waits before it tries again')
    wait.callback()
    await settled()
    return wait.delayMs
  }
  return { store, queue, health, waits, nextRetry }
}

async function settled(): Promise<void> {
  for (let round = 0; round < 5; round++) await new Promise((resolve) => setImmediate(resolve))
}

const one = put(queued('client', 1, 'first'))
const two = put(queued('client', 2, 'second'))
const overwriteOne = put(queued('client', 1, 'overwritten'))

describe('the commit queue', () => {
  test('resolves each batch when it is on disk, in their order', async () => {
    const { store, queue } = stage()
    const order: number[] = []
    await Promise.all(
      [one, two, overwriteOne].map((changes, index) => queue.submit(changes).then(() => order.push(index))),
    )
    assert.deepEqual(order, [0, 1, 2])
    assert.deepEqual(await readAll(store, { kind: 'queued' }), [
      queued('client', 1, 'overwritten'),
      queued('client', 2, 'second'),
    ])
    assert.equal(queue.length, 0)
  })

  for (const fault of ['before', 'after'] as const) {
    test(`keeps a batch at the head that failed ${fault} it was written, and nothing passes it`, async () => {
      const { store, queue, health, nextRetry } = stage()
      store.fault = fault
      const order: string[] = []
      const submitted = [
        queue.submit(one).then(() => order.push('one')),
        queue.submit(overwriteOne).then(() => order.push('two')),
      ]
      await settled()
      assert.deepEqual(order, [])
      assert.deepEqual(health, ['failing: no space left on device'])
      assert.equal(queue.isHealthy, false)
      assert.equal(await nextRetry(), 100)
      store.fault = 'none'
      assert.equal(await nextRetry(), 200)
      await Promise.all(submitted)
      assert.deepEqual(order, ['one', 'two'])
      assert.deepEqual(health, ['failing: no space left on device', 'healthy'])
      assert.deepEqual(store.calls, [
        `commit failed ${fault}`,
        'reopen',
        `commit failed ${fault}`,
        'reopen',
        'commit',
        'commit',
      ])
      assert.deepEqual(await readAll(store, { kind: 'queued' }), [queued('client', 1, 'overwritten')])
    })
  }

  test('waits longer each time while the store cannot be reopened, up to a limit, and starts anew after a success', async () => {
    const { store, queue, nextRetry } = stage()
    store.fault = 'before'
    store.reopenFails = true
    const submitted = queue.submit(one)
    const delays = [await nextRetry(), await nextRetry(), await nextRetry(), await nextRetry()]
    assert.deepEqual(delays, [100, 200, 300, 300])
    store.fault = 'none'
    store.reopenFails = false
    await nextRetry()
    await submitted
    store.fault = 'before'
    void queue.submit(two)
    assert.equal(await nextRetry(), 100)
  })

  test('takes a batch back from a mistake of ours instead of trying it for ever', async () => {
    const { queue, health } = stage()
    const broken = [{ change: 'put', record: { kind: 'fact', name: 'x' } }] as unknown as StoredChange[]
    await assert.rejects(queue.submit(broken), TypeError)
    await queue.submit(one)
    assert.deepEqual(health, [])
  })

  test('gives up what is waiting when it is stopped while the disk fails', async () => {
    const { store, queue, nextRetry, waits } = stage()
    store.fault = 'before'
    const submitted = [queue.submit(one), queue.submit(two)].map((promise) => assert.rejects(promise, StorageFailure))
    await settled()
    queue.stop()
    await Promise.all(submitted)
    await nextRetry()
    assert.deepEqual(waits, [])
    await assert.rejects(queue.submit(one), StorageFailure)
    assert.deepEqual(store.calls, ['commit failed before'])
  })
})
