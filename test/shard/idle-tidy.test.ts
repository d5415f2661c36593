import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleTidy, ownHeap } from '../../src/shard/idle-tidy.ts'

const mebibyte = 1_048_576

interface Heap {
  heap: number
  messages: number
  collected: number
  /** After each collection, in turn. */
  after: number[]
  collectionMs: number
}

function tidied(after: number[]): { world: Heap; tidy: IdleTidy } {
  const world: Heap = { heap: 20 * mebibyte, messages: 0, collected: 0, after, collectionMs: 40 }
  const tidy = new IdleTidy({
    heapBytes: () => world.heap,
    messages: () => world.messages,
    collect: () => {
      world.heap = (world.after[world.collected++] ?? 20) * mebibyte
      return world.collectionMs
    },
  })
  return { world, tidy }
}

const lookOften = (tidy: IdleTidy): void => {
  for (let time = 0; time < 20; time++) tidy.look()
}

test('what a burst has left is collected when it is over, and not while it lasts', () => {
  const { world, tidy } = tidied([100, 25])
  world.heap = 200 * mebibyte
  world.messages = 1_000_000
  tidy.look()
  assert.equal(world.collected, 0, 'amid the traffic')
  lookOften(tidy)
  assert.equal(world.collected, 2, 'until it is small, and not again')
})

test('a heap that stays large is left alone after some tries, until there was traffic again', () => {
  const { world, tidy } = tidied(Array.from({ length: 100 }, () => 200))
  world.heap = 200 * mebibyte
  lookOften(tidy)
  assert.equal(world.collected, 4)
  world.messages = 1_000_000
  lookOften(tidy)
  assert.equal(world.collected, 8)
})

test('a heap whose collection takes long is not collected a second time', () => {
  const { world, tidy } = tidied(Array.from({ length: 100 }, () => 200))
  Object.assign(world, { heap: 200 * mebibyte, collectionMs: 1_800 })
  lookOften(tidy)
  assert.equal(world.collected, 1)
})

test('a heap that has hardly grown is left alone', () => {
  const { world, tidy } = tidied([])
  world.heap = 40 * mebibyte
  lookOften(tidy)
  assert.equal(world.collected, 0)
})

test('the heap of a thread is really collected', () => {
  const { heapBytes, collect } = ownHeap()
  let rubbish: unknown[] = Array.from({ length: 2_000_000 }, (_, index) => ({ index }))
  assert.equal(rubbish.length, 2_000_000)
  const full = heapBytes()
  rubbish = []
  collect()
  assert.ok(heapBytes() < full - 32 * mebibyte, `${full} before, ${heapBytes()} after`)
})
