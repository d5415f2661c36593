// Reads of single wills and retained messages: reads from a failing disk are repeated, and the alarm ends when all succeed.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { StoredMessage } from '../../src/records/index.ts'
import { StoreReads } from '../../src/shard/store/store-reads.ts'
import { openMemoryStore, StorageFailure, type Store } from '../../src/storage/index.ts'
import { put } from '../storage/read-all.ts'
import { message, queued } from '../storage/sample-records.ts'

const maxConcurrentReads = 8
const firstPauseMs = 100
/** More iterations of the event loop than one read needs. */
const enoughTurns = 16

test('a will and a retained message are read by their keys, and a missing record gets a response, too', async (context) => {
  const stage = await Stage.open(context)
  stage.reads.add({ kind: 'load-message', requestId: 1, of: { kind: 'will', clientId: 'client' } }, 0)
  stage.reads.add({ kind: 'load-message', requestId: 2, of: { kind: 'retained', topic: 'topic-3' } }, 0)
  stage.reads.add({ kind: 'load-message', requestId: 3, of: { kind: 'retained', topic: 'nothing' } }, 0)
  await turns()
  const texts = [1, 2, 3].map((requestId) => stage.textOf(requestId))
  assert.deepEqual(texts, ['the will', 'retained 3', undefined])
  await stage.reads.end()
})

test('failed reads are repeated, and the alarm ends when reads of queues and messages succeed', async (context) => {
  const stage = await Stage.open(context)
  stage.fails = true
  stage.reads.add({ kind: 'load-message', requestId: 1, of: { kind: 'will', clientId: 'client' } }, 0)
  const part = { clientId: 'client', fromSequence: 1, limit: 16, part: undefined }
  stage.reads.add({ kind: 'load-queue', requestId: 2, afterBatch: 0, ...part }, 0)
  await turns()
  assert.equal(stage.failures.length, 2)
  assert.match(stage.failures.join(), /a will could not be read: no medium/)
  stage.fails = false
  assert.equal(stage.recoveries, 0)
  context.mock.timers.tick(firstPauseMs)
  await turns()
  assert.equal(stage.recoveries, 1)
  assert.equal(stage.textOf(1), 'the will')
  assert.equal(stage.results.size, 2)
  await stage.reads.end()
})

test('messages are read eight at a time, and queued reads are dropped when the shard ends', async (context) => {
  const stage = await Stage.open(context)
  stage.isHeld = true
  for (let requestId = 0; requestId < 100; requestId++)
    stage.reads.add({ kind: 'load-message', requestId, of: { kind: 'retained', topic: `topic-${requestId}` } }, 0)
  await turns()
  assert.equal(stage.held.length, maxConcurrentReads)
  const ending = stage.reads.end()
  for (const goOn of stage.held.splice(0)) goOn()
  await ending
  await turns()
  assert.equal(stage.held.length, 0)
  assert.equal(stage.results.size, maxConcurrentReads)
})

class Stage {
  readonly reads: StoreReads
  readonly results = new Map<number, StoredMessage | undefined>()
  readonly failures: string[] = []
  recoveries = 0
  fails = false
  isHeld = false
  readonly held: (() => void)[] = []

  static async open(context: TestContext): Promise<Stage> {
    context.mock.timers.enable({ apis: ['setTimeout'] })
    const store = openMemoryStore()
    const will = { kind: 'will', clientId: 'client', delaySeconds: 0, dueAtMs: undefined } as const
    const topics = Array.from({ length: 100 }, (_, number) => message(`topic-${number}`, `retained ${number}`))
    const retained = topics.map((one) => ({ kind: 'retained', message: one }) as const)
    await store.commit(put({ ...will, message: message('wills/client', 'the will') }, queued('client', 1), ...retained))
    return new Stage(store)
  }

  private constructor(store: Store) {
    const read = store.read.bind(store)
    const readQueue = store.readQueue.bind(store)
    store.read = (range) => this.#failing(read(range))
    store.readQueue = (range) => this.#failing(readQueue(range))
    this.reads = new StoreReads(store, {
      respond: (result) => void this.results.set(result.requestId, 'message' in result ? result.message : undefined),
      onFailure: (text) => void this.failures.push(text),
      onRecovery: () => void this.recoveries++,
      fail: (error) => {
        throw error
      },
    })
  }

  textOf(requestId: number): string | undefined {
    const found = this.results.get(requestId)
    return found === undefined ? undefined : Buffer.from(found.payload).toString()
  }

  async *#failing<T>(found: AsyncIterable<T>): AsyncIterable<T> {
    if (this.isHeld) await new Promise<void>((resolve) => this.held.push(resolve))
    if (this.fails) throw new StorageFailure('no medium')
    yield* found
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < enoughTurns; turn++) await new Promise((resolve) => setImmediate(resolve))
}
