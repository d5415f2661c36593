import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleTidy, ownHeap } from '../../src/shard/idle-tidy.ts'

const mebibyte = 1_048_576

function tidied(): { world: { heap: number; messages: number; collected: number }; tidy: IdleTidy } {
  const world = { heap: 20 * mebibyte, messages: 0, collected: 0 }
  const tidy = new IdleTidy({
    heapBytes: () => world.heap,
    messages: () => world.messages,
    collect: () => {
      world.collected++
      world.heap = 25 * mebibyte
    },
  })
  return { world, tidy }
}

test('what a burst has left is collected when it is over, once, and not while it lasts', () => {
  const { world, tidy } = tidied()
  world.heap = 200 * mebibyte
  world.messages = 1_000_000
  tidy.look()
  assert.equal(world.collected, 0, 'amid the traffic')
  tidy.look()
  assert.equal(world.collected, 1)
  tidy.look()
  assert.equal(world.collected, 1, 'nothing has grown since')
})

test('a heap that has hardly grown is left alone', () => {
  const { world, tidy } = tidied()
  world.heap = 40 * mebibyte
  tidy.look()
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
