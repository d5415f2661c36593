import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStreamPair } from '../../src/bridges/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'

interface Joined {
  readonly one: ByteStream
  readonly other: ByteStream
  readonly seen: string[]
  /** Lets everything happen that was put off. */
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

test('what one end writes the other reads, never from within the call, and then the write is done', () => {
  const { one, seen, settle } = joined()
  one.write(Buffer.from('a'), () => seen.push('done'))
  assert.deepEqual(seen, [])
  settle()
  assert.deepEqual(seen, ['a', 'done'])
})

test('a reader that stands still keeps the write from being done, and loses nothing', () => {
  const { one, other, seen, settle } = joined()
  other.pause()
  one.write(Buffer.from('a'), () => seen.push('done'))
  settle()
  assert.deepEqual(seen, [])
  other.resume()
  settle()
  assert.deepEqual(seen, ['a', 'done'])
})

test('an end comes behind what was written before it, and closes both', () => {
  const { one, seen, settle } = joined()
  one.write(Buffer.from('a'), done)
  one.end()
  settle()
  assert.deepEqual(seen, ['a', 'other closed', 'one closed'])
})

test('an end waits for a reader that stands still', () => {
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

test('destroyed is closed at once for both, and writes are done with', () => {
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
