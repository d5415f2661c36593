import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStreamPair } from '../../src/mqtt-client/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'

interface Joined {
  readonly one: ByteStream
  readonly other: ByteStream
  readonly seen: string[]
  /** Runs all deferred callbacks. */
  readonly settle: () => void
}

function joined(): Joined {
  const later: (() => void)[] = []
  const seen: string[] = []
  const [one, other] = createStreamPair((work) => later.push(work))
  other.onData = (chunk) => seen.push(chunk.toString())
  other.onClose = () => seen.push('other closed')
  one.onClose = () => seen.push('one closed')
  const settle = (): void => {
    for (let work = later.shift(); work !== undefined; work = later.shift()) work()
  }
  return { one, other, seen, settle }
}

const done = (): void => undefined

test('one end reads the bytes of the other, never within the call, and then the write is done', () => {
  const { one, seen, settle } = joined()
  one.write(Buffer.from('a'), () => seen.push('done'))
  assert.deepEqual(seen, [])
  settle()
  assert.deepEqual(seen, ['a', 'done'])
})

test('a paused reader delays the end of the write, and loses no byte', () => {
  const { one, other, seen, settle } = joined()
  other.pause()
  one.write(Buffer.from('a'), () => seen.push('done'))
  settle()
  assert.deepEqual(seen, [])
  other.resume()
  settle()
  assert.deepEqual(seen, ['a', 'done'])
})

test('an end is read after the written bytes, and closes both', () => {
  const { one, seen, settle } = joined()
  one.write(Buffer.from('a'), done)
  one.end()
  settle()
  assert.deepEqual(seen, ['a', 'other closed', 'one closed'])
})

test('an end waits for a paused reader', () => {
  const { one, other, seen, settle } = joined()
  other.pause()
  one.write(Buffer.from('a'), done)
  one.end()
  settle()
  assert.deepEqual(seen, [])
  other.resume()
  settle()
  assert.deepEqual(seen, ['a', 'other closed', 'one closed'])
})

test('a destroyed stream is closed at once on both ends, and its writes are done', () => {
  const { one, other, seen, settle } = joined()
  other.pause()
  one.write(Buffer.from('a'), () => seen.push('done'))
  one.destroy()
  settle()
  assert.deepEqual(seen.toSorted(), ['done', 'one closed', 'other closed'])
  one.write(Buffer.from('b'), () => seen.push('done too'))
  settle()
  assert.deepEqual(seen.at(-1), 'done too')
})
