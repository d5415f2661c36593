// Very many clients that reconnect at once request their queues at once: a few are read at a time, and each client has its turn.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { QueueReads } from '../../src/shard/store/queue-reads.ts'
import { openMemoryStore, type Store } from '../../src/storage/index.ts'
import { withReadQueue } from '../storage/replace-queue-reads.ts'
import { put } from '../storage/read-all.ts'
import { queued } from '../storage/sample-records.ts'

const clients = 1_000
const maxConcurrentReads = 64
/** More iterations of the event loop than one read needs. */
const enoughTurns = 8

test('the queues of many clients are read 64 at a time, in the order of the requests', async () => {
  const stage = await Stage.open()
  for (let client = 0; client < clients; client++) stage.want(client)
  for (let count = 0; count < clients; count += maxConcurrentReads) {
    await turns()
    assert.equal(stage.completed.length, count)
    assert.equal(stage.open.length, Math.min(maxConcurrentReads, clients - count))
    for (const goOn of stage.open.splice(0)) goOn()
  }
  await turns()
  assert.deepEqual(
    stage.completed,
    Array.from({ length: clients }, (_, client) => client),
  )
  await stage.loads.end()
})

test('queued reads are dropped when the shard ends', async () => {
  const stage = await Stage.open()
  for (let client = 0; client < clients; client++) stage.want(client)
  await turns()
  const ending = stage.loads.end()
  for (const goOn of stage.open.splice(0)) goOn()
  await ending
  await turns()
  assert.equal(stage.open.length, 0)
  assert.equal(stage.completed.length, maxConcurrentReads)
})

class Stage {
  readonly loads: QueueReads
  /** Request IDs, which are the numbers of the clients. */
  readonly completed: number[] = []
  /** Continue each read in progress. */
  readonly open: (() => void)[] = []

  static async open(): Promise<Stage> {
    const store = openMemoryStore()
    await store.commit(put(...Array.from({ length: clients }, (_, client) => queued(`client-${client}`, 1))))
    return new Stage(store)
  }

  private constructor(inner: Store) {
    const { open } = this
    const store = withReadQueue(inner, async function* (range) {
      await new Promise<void>((resolve) => open.push(resolve))
      yield* inner.readQueue(range)
    })
    this.loads = new QueueReads(store, {
      respond: ({ requestId, records }) => {
        assert.equal(records.length, 1)
        this.completed.push(requestId)
      },
      onFailure: assert.fail,
      onRecovery: assert.fail,
      fail: (error) => {
        throw error
      },
    })
  }

  want(client: number): void {
    const clientId = `client-${client}`
    const part = { clientId, fromSequence: 1, limit: 16, part: 0 }
    this.loads.add({ kind: 'load-queue', requestId: client, afterBatch: 0, ...part }, 0)
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < enoughTurns; turn++) await new Promise((resolve) => setImmediate(resolve))
}
