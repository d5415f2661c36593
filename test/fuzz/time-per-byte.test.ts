// The time that the main thread takes for external data grows at most in proportion to its size. The test measures a ratio, the best of
// several, with sizes that show quadratic work clearly: four times the input takes four times as long if the work is
// linear, and sixteen times as long if it is quadratic.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CostlyInput, costlyInputs } from './costly-inputs.ts'
import { expressionsInSources, textsFor } from './regular-expressions.ts'

const growth = 4
/** Between linear (4) and quadratic (16), with a margin for a busy machine and for garbage collection. */
const maxRatio = 10
const firstCount = 1_000
/** The largest input of the API has 1 MiB. */
const largestCount = 64_000
/** Below this time, the clock and the compiler have more influence than the work. */
const measurableMs = 8
const attempts = 4

async function fastest(work: () => unknown, times: number): Promise<number> {
  let best = Infinity
  for (let time = 0; time < times; time++) {
    const startedAt = performance.now()
    await work()
    best = Math.min(best, performance.now() - startedAt)
    if (best > 1_000) break
  }
  return best
}

/** Returns how much longer `growth` times the input takes; undefined if the largest input takes too little time to measure. */
async function ratioOf({ prepare, maxCount = largestCount }: CostlyInput): Promise<number | undefined> {
  for (let count = firstCount; count * growth <= maxCount; count *= 2) {
    const [work, larger] = [prepare(count), prepare(count * growth)]
    if (work === undefined || larger === undefined) return undefined
    const little = await fastest(work, 3)
    if (little >= measurableMs) return (await fastest(larger, 2)) / little
  }
  return undefined
}

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
  'backup/tar-header.ts: /[\\0 ]+$/': 'a field of a tar header: 12 bytes',
  'cli/program.ts: /\\s*\\n\\s*/g': 'a text of the program itself',
  'config/schema/quantities.ts: /([0-9.]+)\\s*([a-z]+)/g': 'a duration of at most 64 characters',
}

const shortText = 5_000
/** A linear expression takes about 50 microseconds for the short text. */
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
  const long = text.slice(0, -2).repeat(growth) + text.slice(-2)
  for (let attempt = 0; attempt < attempts; attempt++) {
    const ratio = matchMs(expression, long, 3) / matchMs(expression, text, 5)
    if (ratio > maxRatio === isExpected) return isExpected
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
