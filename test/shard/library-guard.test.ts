// What a shard does when a client library throws where no call of the broker can catch it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runInThisContext } from 'node:vm'
import { LibraryGuard } from '../../src/shard/runtime/library-guard.ts'

function errorOf(library: string, message: string): Error {
  const source = `(message) => { const error = new Error(message); error.stack = error.stack.split('\\n').slice(0, 2).join('\\n'); return error }`
  const filename = `/app/node_modules/${library}/x.js`
  return (runInThisContext(source, { filename }) as (message: string) => Error)(message)
}

function createGuard() {
  const world = { nowMs: 1_000, failures: 0, restarts: [] as unknown[], lines: [] as unknown[] }
  const line = (event: string, fields?: object): void => void world.lines.push({ event, ...fields })
  const guard = new LibraryGuard({
    log: { debug: line, info: line, warn: line, error: line },
    monotonicMs: () => world.nowMs,
    countFailure: () => void world.failures++,
    restartUsers: (library, why, delayMs) => void world.restarts.push([library, why, delayMs]),
  })
  return { world, guard }
}

test('users of a library that throws restart with increasing delays; exceptions until then are counted', () => {
  const { world, guard } = createGuard()
  for (let number = 0; number < 100; number++) guard.handle(errorOf('pg', 'broken'))
  guard.handle(errorOf('mongodb', 'mongodb://user:secret@host failed'))
  assert.equal(world.failures, 101)
  assert.deepEqual(world.restarts, [
    ['pg', 'the library pg threw an exception: broken', 1_000],
    ['mongodb', 'the library mongodb threw an exception: mongodb://******@host failed', 1_000],
  ])
  const delays = [2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]
  for (const delay of [1_000, ...delays.slice(0, -1)]) {
    world.nowMs += delay
    guard.handle(errorOf('pg', 'again'))
  }
  assert.deepEqual(
    world.restarts.slice(2).map((restart) => (restart as number[])[2]),
    delays,
  )
  const [, , second] = world.lines as { exceptions: number }[]
  assert.equal(second?.exceptions, 100, 'the line names the exceptions since the last one')
  world.nowMs += 60_000 + 300_000
  guard.handle(errorOf('pg', 'much later'))
  assert.deepEqual(world.restarts.at(-1), ['pg', 'the library pg threw an exception: much later', 1_000])
})

test('an exception of the broker ends the thread, also one of a library that the shard reports as an internal error', () => {
  const { world, guard } = createGuard()
  const own = new Error('of the broker')
  assert.throws(() => guard.handle(own), own)
  const reported = errorOf('pg', 'reported')
  guard.markInternal(reported)
  assert.throws(() => guard.handle(reported), reported)
  assert.throws(() => guard.handle('text'), /text/)
  assert.deepEqual(world, { nowMs: 1_000, failures: 0, restarts: [], lines: [] })
})
