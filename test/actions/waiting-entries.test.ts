import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WaitingEntries } from '../../src/actions/delivery/waiting-entries.ts'
import { fc } from '../properties.ts'

interface Entry {
  readonly sequence: number
  readonly key: string | undefined
}

const numbersOf = (entries: readonly Entry[]): number[] => entries.map(({ sequence }) => sequence)

function waiting(...keys: readonly (string | undefined)[]): WaitingEntries<Entry> {
  const entries = new WaitingEntries<Entry>()
  for (const [index, key] of keys.entries()) entries.add({ sequence: index + 1, key })
  return entries
}

test('entries with the same key are taken one after the other, and entries with other keys pass them', () => {
  const entries = waiting('a', 'a', 'b', 'a', undefined, 'b')
  const first = entries.take(10, true)
  assert.deepEqual(numbersOf(first), [1, 3, 5])
  assert.equal(entries.hasReady, false)
  assert.deepEqual(entries.take(10, true), [])
  entries.release(first)
  assert.deepEqual(numbersOf(entries.take(1, true)), [2])
  assert.deepEqual(numbersOf(entries.take(10, true)), [6])
  assert.equal(entries.size, 1)
})

test('a batch can have several entries of one key if the service keeps the order of a batch', () => {
  const entries = waiting('a', 'b', 'a', 'a')
  assert.deepEqual(numbersOf(entries.take(3, false)), [1, 2, 3])
  assert.deepEqual([entries.hasReady, entries.size], [false, 1])
})

test('entries that are put back are taken before later ones', () => {
  const entries = waiting('a', 'a', 'b')
  const batch = entries.take(1, true)
  entries.release(batch)
  entries.putBack(batch)
  assert.deepEqual(numbersOf(entries.take(10, true)), [1, 3])
})

const step = fc.oneof(
  { weight: 3, arbitrary: fc.record({ add: fc.constantFrom('a', 'b', 'c', undefined) }) },
  { weight: 3, arbitrary: fc.record({ take: fc.integer({ min: 1, max: 4 }) }) },
  { weight: 2, arbitrary: fc.record({ end: fc.nat(9), isRetried: fc.boolean() }) },
)

test('with random additions, failures and retries, each key keeps its order, and no ready entry waits', () => {
  fc.assert(
    fc.property(fc.boolean(), fc.array(step, { maxLength: 60 }), (onePerKey, steps) => {
      const entries = new WaitingEntries<Entry>()
      const model: Entry[] = []
      const sent: Entry[][] = []
      let sequence = 0
      for (const one of steps) {
        if ('add' in one) {
          const entry = { sequence: ++sequence, key: one.add }
          entries.add(entry)
          model.push(entry)
        } else if ('take' in one) {
          const busy = new Set(sent.flat().map(({ key }) => key))
          const keys = new Set<string>()
          const expected: Entry[] = []
          for (const entry of model) {
            const isFree = entry.key === undefined || (!busy.has(entry.key) && !(onePerKey && keys.has(entry.key)))
            if (!isFree || expected.length === one.take) continue
            expected.push(entry)
            if (entry.key !== undefined) keys.add(entry.key)
          }
          assert.equal(entries.hasReady, expected.length > 0)
          const batch = entries.take(one.take, onePerKey)
          assert.deepEqual(batch, expected)
          for (const entry of batch) model.splice(model.indexOf(entry), 1)
          if (batch.length > 0) sent.push(batch)
        } else {
          const [batch] = sent.splice(one.end % Math.max(1, sent.length), 1)
          if (batch === undefined) continue
          entries.release(batch)
          if (one.isRetried) {
            entries.putBack(batch)
            model.push(...batch)
            model.sort((a, b) => a.sequence - b.sequence)
          }
        }
        assert.equal(entries.size, model.length)
      }
    }),
    { numRuns: 2_000 },
  )
})
