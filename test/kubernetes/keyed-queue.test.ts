// The queue runs each key alone, again after a change during its run, and later after a failure.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyedQueue } from '../../src/kubernetes/index.ts'

test('a key runs once for several changes, and once more for changes during its run', async () => {
  const runs: string[] = []
  const gate = Promise.withResolvers<undefined>()
  const queue = new KeyedQueue({
    handle: async (key) => {
      runs.push(key)
      if (runs.length === 1) await gate.promise
      return undefined
    },
    onProblem: assert.fail,
    maxRuns: 4,
  })
  for (const key of ['a', 'a', 'b', 'b']) queue.add(key)
  queue.add('a')
  queue.add('a')
  gate.resolve(undefined)
  await queue.stop()
  assert.deepEqual(runs, ['a', 'b'])
})

test('a change during a run makes another run', async () => {
  const runs: number[] = []
  const done = Promise.withResolvers<undefined>()
  const queue = new KeyedQueue({
    handle: async () => {
      runs.push(queue.length)
      if (runs.length === 1) {
        queue.add('a')
        queue.add('a')
      } else done.resolve(undefined)
      return undefined
    },
    onProblem: assert.fail,
    maxRuns: 4,
  })
  queue.add('a')
  await done.promise
  await queue.stop()
  assert.deepEqual(runs, [1, 1])
})

test('at most maxRuns keys run at the same time', async () => {
  let running = 0
  let highest = 0
  const queue = new KeyedQueue({
    handle: async () => {
      running += 1
      highest = Math.max(highest, running)
      await new Promise(setImmediate)
      running -= 1
      return undefined
    },
    onProblem: assert.fail,
    maxRuns: 3,
  })
  for (let index = 0; index < 20; index += 1) queue.add(`key-${index}`)
  while (queue.length > 0) await new Promise(setImmediate)
  assert.equal(highest, 3)
})

test('failures are repeated after 1 to 30 s, and a change is handled at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const waits: number[] = []
  let runs = 0
  let isFailing = true
  const queue = new KeyedQueue({
    handle: async () => {
      runs += 1
      if (isFailing) throw new Error('refused')
      return undefined
    },
    onProblem: (_key, _error, retryInMs) => waits.push(retryInMs),
    maxRuns: 1,
  })
  queue.add('a')
  for (let attempt = 1; attempt <= 7; attempt += 1) {
    while (queue.length > 0) await new Promise(setImmediate)
    t.mock.timers.tick(waits.at(-1) ?? 0)
  }
  assert.deepEqual(waits, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000])
  while (queue.length > 0) await new Promise(setImmediate)
  isFailing = false
  const before = runs
  queue.add('a')
  while (queue.length > 0) await new Promise(setImmediate)
  assert.equal(runs, before + 1)
  t.mock.timers.tick(60_000)
  assert.equal(queue.length, 0)
})

test('a key that wants another run gets it after the time', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let runs = 0
  const queue = new KeyedQueue({
    handle: async () => {
      runs += 1
      return runs === 1 ? 5_000 : undefined
    },
    onProblem: assert.fail,
    maxRuns: 1,
  })
  queue.add('a')
  while (queue.length > 0) await new Promise(setImmediate)
  t.mock.timers.tick(4_999)
  assert.equal(queue.length, 0)
  t.mock.timers.tick(1)
  while (queue.length > 0) await new Promise(setImmediate)
  assert.equal(runs, 2)
})
