// Reading a queue back does not keep the shard from anything else: its client gets it in pieces.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Input, Question } from '../../src/core/index.ts'
import { QueueLoads } from '../../src/shard/queue-loads.ts'
import { openMemoryStore, type Store } from '../../src/storage/index.ts'
import { put } from '../storage/read-all.ts'
import { queued } from '../storage/sample-records.ts'

type Answer = Extract<Input, { kind: 'queue-loaded' }>

const mostInPiece = 256
const wanted: Extract<Question, { kind: 'load-queue' }> = {
  kind: 'load-queue',
  question: 7,
  clientId: 'client',
  fromSequence: 1,
  limit: 1_000,
  afterBatch: 0,
}

async function storeWith(count: number): Promise<Store> {
  const store = openMemoryStore()
  await store.commit(put(...Array.from({ length: count }, (_, index) => queued('client', index + 1))))
  return store
}

/** All pieces of the answer, until the last one has come. `hear` is told of each. */
function answersOf(store: Store, hear: () => void = () => {}): Promise<Answer[]> {
  return new Promise((resolve, reject) => {
    const answers: Answer[] = []
    const loads = new QueueLoads(store, {
      answer: (answer, marked) =>
        marked(() => {
          answers.push(answer)
          hear()
          if (answer.isLast) resolve(answers)
        }),
      noteFailure: (text) => reject(new Error(text)),
      noteRecovery: () => undefined,
      fail: reject,
    })
    loads.add(wanted, 0)
  })
}

test('what is read of a queue is handed over in pieces, in order and nothing twice', async () => {
  const answers = await answersOf(await storeWith(2_000))
  for (const { records, question } of answers) {
    assert.equal(question, wanted.question)
    assert.ok(records.length <= mostInPiece, `a piece of ${records.length}`)
  }
  const sequences = answers.flatMap(({ records }) => records.map((record) => 'sequence' in record && record.sequence))
  assert.deepEqual(
    sequences,
    Array.from({ length: wanted.limit }, (_, index) => index + 1),
  )
})

test('only the last piece says that it is the last, and whether the queue ends there', async () => {
  const more = await answersOf(await storeWith(2_000))
  assert.deepEqual(
    more.map(({ isLast, isEnd }) => [isLast, isEnd]),
    [...Array.from({ length: 3 }, () => [false, false]), [true, false]],
  )
  const all = await answersOf(await storeWith(300))
  assert.deepEqual(
    all.map(({ records, isLast, isEnd }) => [records.length, isLast, isEnd]),
    [
      [mostInPiece, false, false],
      [300 - mostInPiece, true, true],
    ],
  )
})

test('a queue with nothing in it is answered by one piece without records', async () => {
  const [answer, ...others] = await answersOf(await storeWith(0))
  assert.deepEqual(answer, { kind: 'queue-loaded', question: 7, records: [], isLast: true, isEnd: true })
  assert.deepEqual(others, [])
})

test('between two pieces the event loop looks at everything else', async () => {
  let rounds = 0
  let isOver = false
  const count = (): void => {
    rounds++
    if (!isOver) setImmediate(count)
  }
  const seen: number[] = []
  setImmediate(count)
  await answersOf(await storeWith(1_000), () => seen.push(rounds))
  isOver = true
  assert.equal(seen.length, 4)
  assert.equal(new Set(seen).size, 4, `pieces came in the rounds ${seen.join(', ')}`)
})

test('a shard that ends hears no further piece, and its end does not wait for one', async () => {
  const heard: number[] = []
  let ended: Promise<void> | undefined
  const store = await storeWith(1_000)
  await new Promise<void>((resolve, reject) => {
    const loads = new QueueLoads(store, {
      answer: ({ records }) => {
        heard.push(records.length)
        ended = loads.end()
        resolve()
      },
      noteFailure: (text) => reject(new Error(text)),
      noteRecovery: () => undefined,
      fail: reject,
    })
    loads.add(wanted, 0)
  })
  await ended
  assert.deepEqual(heard, [mostInPiece])
})
