// The time that the main thread takes for external data grows at most in proportion to its size. The test measures the ratio of the processor
// time for the largest input to that for an input of 1/64 of its size: about 64 if the work is linear, and 4,096 if it is quadratic.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CostlyInput, costlyInputs } from './costly-inputs.ts'
import { expressionsInSources, textsFor } from './regular-expressions.ts'
import { testLength } from '../test-length.ts'

const growth = 64
/**
 * As far from linear (64) as from quadratic (4,096). A growth of 4 does not separate them: garbage collection and caches of the processor
 * made linear work take 10 to 16 times as long.
 */
const maxRatio = 512
/** The largest input of the API has 1 MiB. */
const largestCount = 64_000
/** If the largest input takes less, its ratio does not matter. The system counts processor time in steps of up to 4 ms. */
const measurableMs = 40
const maxRuns = 10_000
const attempts = 4

/** Returns the processor time of this thread for one run of `work`, on average over at least `leastMs`. Other processes do not change it. */
async function cpuMs(work: () => unknown, leastMs = measurableMs): Promise<number> {
  let usedMs = 0
  let runs = 0
  const before = process.threadCpuUsage()
  do {
    await work()
    runs++
    const { user, system } = process.threadCpuUsage(before)
    usedMs = (user + system) / 1_000
  } while (usedMs < leastMs && runs < maxRuns)
  return usedMs / runs
}

/** Returns how much longer `growth` times the input takes; undefined if the largest input takes less than `measurableMs`. */
async function ratioOf({ prepare, maxCount = largestCount }: CostlyInput): Promise<number | undefined> {
  const [work, larger] = [prepare(Math.floor(maxCount / growth)), prepare(maxCount)]
  if (work === undefined || larger === undefined) return undefined
  const firstMs = await cpuMs(larger, 0)
  if (firstMs < measurableMs) return undefined
  const littleMs = await cpuMs(work)
  if (firstMs / littleMs <= maxRatio) return firstMs / littleMs
  // Again: the first run also compiles and creates tables.
  return Math.min(firstMs, await cpuMs(larger)) / littleMs
}

const sumOfPairs = (count: number) => (): number => {
  let sum = 0
  for (let first = 0; first < count; first++) for (let second = 0; second < count; second++) sum += first ^ second
  return sum
}

test('quadratic work is recognized', async () => {
  const ratio = await ratioOf({ name: 'pairs', prepare: sumOfPairs, maxCount: 16_000 })
  assert.ok(ratio !== undefined && ratio > maxRatio, `${growth} times the input took ${ratio} times as long`)
})

describe('reading, comparing and matching take time in proportion to the size of the input', () => {
  for (const input of costlyInputs) {
    test(input.name, async (t) => {
      const ratios: number[] = []
      for (let attempt = 0; attempt < attempts; attempt++) {
        const ratio = await ratioOf(input)
        if (ratio === undefined) return
        ratios.push(ratio)
        if (ratio <= maxRatio) return t.diagnostic(`${growth} times the input: ${ratio.toFixed(1)} times as long`)
      }
      assert.fail(`${growth} times the input took ${ratios.map((ratio) => ratio.toFixed(1)).join(', ')} times as long`)
    })
  }
})

/** Expressions that take more than linear time, with the limit of the texts on which they are used. */
const bounded: Readonly<Record<string, string>> = {
  'archives/tar-header.ts: /[\\0 ]+$/': 'a field of a tar header: 12 bytes',
  'cli/program.ts: /\\s*\\n\\s*/g': 'a text of the program itself',
  'config/schema/quantities.ts: /([0-9.]+)\\s*([a-z]+)/g': 'a duration of at most 64 characters',
}

const shortText = testLength({ daily: 3_000, long: 5_000 })
const longTextGrowth = 4
/** Between linear (4) and quadratic (16). */
const maxTextRatio = 10
/** A linear expression takes about 50 microseconds for the short text of the long run. */
const suspiciousMs = 2

function matchMs(expression: RegExp, text: string, times: number): number {
  let best = Infinity
  for (let time = 0; time < times; time++) {
    expression.lastIndex = 0
    const startedAt = performance.now()
    if (expression.global) text.replace(expression, '')
    else expression.test(text)
    best = Math.min(best, performance.now() - startedAt)
  }
  return best
}

/** Repeats the measurement while the result is not as expected: other work of the machine can increase either of the two times. */
function isSuperlinear(expression: RegExp, text: string, isExpected: boolean): boolean {
  // The same text, four times as long, with its end.
  const long = text.slice(0, -2).repeat(longTextGrowth) + text.slice(-2)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const ratio = matchMs(expression, long, 3) / matchMs(expression, text, 5)
    if (ratio > maxTextRatio === isExpected) return isExpected
  }
  return !isExpected
}

test('no regular expression of the sources takes more than linear time, except on texts of limited length', () => {
  const found = expressionsInSources()
  assert.ok(found.length > 150)
  const unused = new Set(Object.keys(bounded))
  for (const { name, expression } of found) {
    for (const text of textsFor(expression, shortText)) {
      if (matchMs(expression, text, 1) < suspiciousMs) continue
      const little = matchMs(expression, text, 5)
      if (little < suspiciousMs) continue
      const isKnown = name in bounded
      if (!isSuperlinear(expression, text, isKnown)) continue
      unused.delete(name)
      assert.ok(isKnown, `${name} takes ${little.toFixed(1)} ms for ${JSON.stringify(text.slice(0, 40))}...`)
      break
    }
  }
  assert.deepEqual([...unused], [], 'these are not superlinear, or not there any more')
})
