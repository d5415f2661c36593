// Reads a queue in parts: the read stays open for the next part, and every part is correct.

import assert from 'node:assert/strict'
import { describe, mock, test } from 'node:test'
import { openMemoryStore, type QueuePart, QueueReaders, StorageFailure, type Store } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { withReadQueue } from './replace-queue-reads.ts'
import { put } from './read-all.ts'
import { queued } from './sample-records.ts'

const keptMs = 1_000
const recordsOfMoment = 8_192
const maxKept = 64
const maxFinishing = 4

type ReadQueue = Store['readQueue']

interface Watched {
  store: Store
  opened: number
  closed: number
  /** The close of the last opened read. */
  whenClosed: Promise<void>
  /** Number of closed reads that had reached their end. */
  ended: number
  fails: boolean
}

/** A store that counts opened and closed reads. */
function watched(inner: Store): Watched {
  const watch: Watched = { store: inner, opened: 0, closed: 0, whenClosed: Promise.resolve(), ended: 0, fails: false }
  async function* readQueue(range: Parameters<ReadQueue>[0]): ReturnType<ReadQueue> {
    watch.opened++
    const closing = Promise.withResolvers<void>()
    watch.whenClosed = closing.promise
    try {
      for await (const slice of inner.readQueue(range)) {
        if (watch.fails) throw new StorageFailure('input/output error')
        yield slice
      }
      watch.ended++
    } finally {
      watch.closed++
      closing.resolve()
    }
  }
  watch.store = withReadQueue(inner, readQueue)
  return watch
}

/** A store whose slices wait for `releaseAll`. */
function heldReading(inner: Store): { store: Store; releaseAll(): void } {
  const released = Promise.withResolvers<void>()
  async function* readQueue(range: Parameters<ReadQueue>[0]): ReturnType<ReadQueue> {
    for await (const slice of inner.readQueue(range)) {
      await released.promise
      yield slice
    }
  }
  return { store: withReadQueue(inner, readQueue), releaseAll: released.resolve }
}

/** A store that returns the first slice of each read at once; the others wait for `releaseAll`. */
function heldAfterFirst(inner: Store): { store: Store; releaseAll(): void } {
  const released = Promise.withResolvers<void>()
  async function* readQueue(range: Parameters<ReadQueue>[0]): ReturnType<ReadQueue> {
    let isFirst = true
    for await (const slice of inner.readQueue(range)) {
      if (!isFirst) await released.promise
      isFirst = false
      yield slice
    }
  }
  return { store: withReadQueue(inner, readQueue), releaseAll: released.resolve }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
}

async function queueOf(count: number): Promise<Watched> {
  const store = openMemoryStore()
  await append(store, 1, count)
  return watched(store)
}

async function append(store: Store, from: number, count: number): Promise<void> {
  await store.commit(put(...Array.from({ length: count }, (_, index) => queued('client', from + index))))
}

async function take(store: Store, sequence: number): Promise<void> {
  await store.commit([{ change: 'delete', key: { kind: 'queued', clientId: 'client', sequence } }])
}

const sequencesOf = ({ records }: QueuePart): number[] =>
  records.map((record) => ('sequence' in record ? record.sequence : NaN))

const numbers = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index)

/** Reads parts in the order of a client until the end. */
async function readParts(readers: QueueReaders, limit: number, part = 0): Promise<number[][]> {
  const parts: number[][] = []
  let fromSequence = 1
  for (let isEnd = false; !isEnd; part++) {
    const read = await readers.read({ clientId: 'client', fromSequence, limit, part })
    parts.push(sequencesOf(read))
    fromSequence = (parts.at(-1)?.at(-1) ?? fromSequence - 1) + 1
    isEnd = read.isEnd
  }
  return parts
}

describe('a queue that is read in parts', () => {
  test('arrives in order and without duplicates, with one read and one more that checks for later records', async () => {
    const queue = await queueOf(1_000)
    const parts = await readParts(new QueueReaders(queue.store), 100)
    assert.deepEqual(parts.flat(), numbers(1, 1_000))
    for (const part of parts) assert.ok(part.length <= 100)
    assert.deepEqual([queue.opened, queue.closed], [2, 2])
  })

  test('is opened again after many records, so that LevelDB can delete them from disk', async () => {
    const count = recordsOfMoment + 1_000
    const queue = await queueOf(count)
    const parts = await readParts(new QueueReaders(queue.store), 300)
    assert.deepEqual(parts.flat(), numbers(1, count))
    // The third part reaches the end.
    assert.deepEqual([queue.opened, queue.closed], [3, 3])
  })

  test('continues after records with missing payloads, however many they are', async () => {
    for (const gone of [50, recordsOfMoment - 1, recordsOfMoment, recordsOfMoment + 50]) {
      const queue = await queueOf(5)
      await queue.store.commit(put(...numbers(6, gone).map((sequence) => queued('client', sequence, 9))))
      await append(queue.store, 6 + gone, 40)
      for (const limit of [4, 5, 32]) {
        const parts = await readParts(new QueueReaders(queue.store), limit)
        assert.deepEqual(parts.flat(), [...numbers(1, 5), ...numbers(6 + gone, 40)], `${gone} gone, ${limit} at a time`)
      }
      assert.equal(queue.closed, queue.opened)
    }
  })

  test('includes records that were written since the read began, also in its last part', async () => {
    const queue = await queueOf(15)
    const readers = new QueueReaders(queue.store)
    await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
    await append(queue.store, 16, 10)
    const second = await readers.read({ clientId: 'client', fromSequence: 11, limit: 10, part: 1 })
    assert.deepEqual([sequencesOf(second), second.isEnd], [numbers(11, 10), false])
    const third = await readers.read({ clientId: 'client', fromSequence: 21, limit: 10, part: 2 })
    assert.deepEqual([sequencesOf(third), third.isEnd], [numbers(21, 5), true])
  })

  test('starts at part 0 without the state of earlier reads', async () => {
    const queue = await queueOf(30)
    const readers = new QueueReaders(queue.store)
    await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
    const { whenClosed } = queue
    await take(queue.store, 11)
    const again = await readers.read({ clientId: 'client', fromSequence: 11, limit: 10, part: 0 })
    assert.deepEqual(sequencesOf(again), numbers(12, 10))
    await whenClosed
    assert.deepEqual([queue.opened, queue.closed], [2, 1])
  })

  test('is opened again if a request continues at another position', async () => {
    const queue = await queueOf(30)
    const readers = new QueueReaders(queue.store)
    await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
    await take(queue.store, 6)
    const other = await readers.read({ clientId: 'client', fromSequence: 5, limit: 3, part: 1 })
    assert.deepEqual(sequencesOf(other), [5, 7, 8])
  })

  test('a late request of an earlier connection takes no records from the read in progress', async () => {
    const queue = await queueOf(300)
    const held = heldReading(queue.store)
    const readers = new QueueReaders(held.store)
    const first = readers.read({ clientId: 'client', fromSequence: 1, limit: 100, part: 0 })
    // The previous connection requested this part; its response is not needed any more, and arrives during the other read.
    const late = readers.read({ clientId: 'client', fromSequence: 51, limit: 100, part: 3 })
    held.releaseAll()
    assert.deepEqual(sequencesOf(await first), numbers(1, 100))
    assert.deepEqual(sequencesOf(await late), numbers(51, 100))
    const next = await readers.read({ clientId: 'client', fromSequence: 101, limit: 100, part: 1 })
    assert.deepEqual(sequencesOf(next), numbers(101, 100))
  })

  test('is not affected by a read of a single part', async () => {
    const queue = await queueOf(30)
    const readers = new QueueReaders(queue.store)
    await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
    const other = await readers.read({ clientId: 'client', fromSequence: 2, limit: 1, part: undefined })
    assert.deepEqual(sequencesOf(other), [2])
    await readers.read({ clientId: 'client', fromSequence: 11, limit: 10, part: 1 })
    assert.deepEqual([queue.opened, queue.closed], [2, 1])
  })

  test('may start again during a read: that read is not kept', async () => {
    const queue = await queueOf(30)
    const readers = new QueueReaders(queue.store)
    const wanted = { clientId: 'client', fromSequence: 1, limit: 10, part: 0 }
    const both = await Promise.all([readers.read(wanted), readers.read(wanted)])
    assert.deepEqual(both.map(sequencesOf), [numbers(1, 10), numbers(1, 10)])
    assert.deepEqual([queue.opened, queue.closed], [2, 1])
    await readers.closeAll()
    assert.equal(queue.closed, 2)
  })

  test('is read again when the disk has failed', async () => {
    const queue = await queueOf(600)
    const readers = new QueueReaders(queue.store)
    const wanted = { clientId: 'client', fromSequence: 1, limit: 256, part: 0 }
    await readers.read(wanted)
    queue.fails = true
    const next = { ...wanted, fromSequence: 257, part: 1 }
    await assert.rejects(readers.read(next), StorageFailure)
    assert.deepEqual([queue.opened, queue.closed], [1, 1])
    queue.fails = false
    assert.deepEqual(sequencesOf(await readers.read(next)), numbers(257, 256))
  })

  test('continues at its position after its store was reopened', async (context) => {
    const store = await new LevelStage(context).open()
    await append(store, 1, 1_000)
    const readers = new QueueReaders(store)
    const first = await readers.read({ clientId: 'client', fromSequence: 1, limit: 300, part: 0 })
    await store.reopen()
    const second = await readers.read({ clientId: 'client', fromSequence: 301, limit: 1_000, part: 1 })
    assert.deepEqual([...sequencesOf(first), ...sequencesOf(second)], numbers(1, 1_000))
  })
})

describe('the memory of a queue read is released', () => {
  test('if the next part is not requested for some time', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const queue = await queueOf(30)
      const readers = new QueueReaders(queue.store)
      await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
      mock.timers.tick(keptMs - 1)
      await readers.read({ clientId: 'client', fromSequence: 11, limit: 5, part: 1 })
      mock.timers.tick(keptMs - 1)
      assert.deepEqual([queue.opened, queue.closed], [1, 0])
      mock.timers.tick(1)
      await queue.whenClosed
      assert.deepEqual([queue.opened, queue.closed], [1, 1])
      assert.equal(queue.ended, 1, 'LevelDB reports unreadable blocks at the end of a read')
      const rest = await readers.read({ clientId: 'client', fromSequence: 16, limit: 100, part: 2 })
      assert.deepEqual(sequencesOf(rest), numbers(16, 15))
    } finally {
      mock.timers.reset()
    }
  })

  test('and its slot is free for another client', async () => {
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      const store = openMemoryStore()
      const clients = numbers(1, maxKept + 1).map((number) => `client ${number}`)
      for (const clientId of clients)
        await store.commit(put(...numbers(1, 3).map((number) => queued(clientId, number))))
      const queue = watched(store)
      const readers = new QueueReaders(queue.store)
      const readOne = (clientId: string, fromSequence: number): Promise<QueuePart> =>
        readers.read({ clientId, fromSequence, limit: 1, part: fromSequence - 1 })
      for (const clientId of clients.slice(0, maxKept)) await readOne(clientId, 1)
      mock.timers.tick(keptMs)
      await readOne(`client ${maxKept + 1}`, 1)
      await readOne(`client ${maxKept + 1}`, 2)
      assert.equal(queue.opened, maxKept + 1, 'both parts came from one reading')
      await readers.closeAll()
    } finally {
      mock.timers.reset()
    }
  })

  test('at once if a client reconnects so often that its earlier reads do not finish', async () => {
    const queue = await queueOf(1_000)
    const held = heldAfterFirst(queue.store)
    const readers = new QueueReaders(held.store)
    const begin = { clientId: 'client', fromSequence: 1, limit: 10, part: 0 }
    for (let connection = 1; connection <= 100; connection++) await readers.read(begin)
    await turns()
    assert.equal(queue.opened, 100)
    assert.equal(queue.opened - queue.closed, maxFinishing + 1, 'these are read to the end, and one is kept')
    held.releaseAll()
    await turns()
    assert.equal(queue.opened - queue.closed, 1)
    await readers.closeAll()
    assert.equal(queue.closed, 100)
  })

  test('before the store is closed, also if a read is being finished', async () => {
    const queue = await queueOf(1_000)
    const held = heldAfterFirst(queue.store)
    const readers = new QueueReaders(held.store)
    const begin = { clientId: 'client', fromSequence: 1, limit: 10, part: 0 }
    await readers.read(begin)
    await readers.read(begin)
    let isClosed = false
    const closing = readers.closeAll().then(() => (isClosed = true))
    await turns()
    assert.equal(isClosed, false, 'a slice is being read')
    held.releaseAll()
    await closing
    assert.equal(queue.closed, 2)
    assert.equal(queue.ended, 0, 'the rest is not read')
  })

  test('when the reader is closed', async () => {
    const queue = await queueOf(30)
    const readers = new QueueReaders(queue.store)
    await readers.read({ clientId: 'client', fromSequence: 1, limit: 10, part: 0 })
    await readers.closeAll()
    assert.deepEqual([queue.opened, queue.closed], [1, 1])
  })

  test('at once if very many clients read their queues at the same time', async () => {
    const store = openMemoryStore()
    const clients = numbers(1, maxKept + 10).map((number) => `client ${number}`)
    for (const clientId of clients) await store.commit(put(queued(clientId, 1), queued(clientId, 2)))
    const queue = watched(store)
    const readers = new QueueReaders(queue.store)
    for (const clientId of clients) await readers.read({ clientId, fromSequence: 1, limit: 1, part: 0 })
    assert.deepEqual([queue.opened, queue.closed], [maxKept + 10, 10])
    for (const clientId of clients) {
      assert.deepEqual(sequencesOf(await readers.read({ clientId, fromSequence: 2, limit: 1, part: 1 })), [2])
    }
    await readers.closeAll()
    assert.equal(queue.closed, queue.opened)
  })
})
