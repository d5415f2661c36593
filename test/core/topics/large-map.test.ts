import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LargeMap } from '../../../src/core/topics/large-map.ts'
import { fc } from '../../properties.ts'

const change = fc.record({ sets: fc.boolean(), key: fc.integer({ min: 0, max: 30 }).map(String), value: fc.nat() })
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never

function apply({ sets, key, value }: Change, wide: LargeMap<number>, plain: Map<string, number>): void {
  if (sets) {
    wide.set(key, value)
    plain.set(key, value)
  } else {
    assert.equal(wide.delete(key), plain.delete(key))
  }
}

function sorted(entries: Iterable<[string, number]>): [string, number][] {
  return [...entries].toSorted(([a], [b]) => (a < b ? -1 : 1))
}

function all(wide: LargeMap<number>): [string, number][] {
  const walk = wide.walk()
  const entries: [string, number][] = []
  for (let entry = walk.next(); entry !== undefined; entry = walk.next()) entries.push(entry)
  return entries
}

test('it behaves like a Map, whether or not its first part is full', () => {
  fc.assert(
    fc.property(fc.array(change, { maxLength: 100 }), fc.integer({ min: 0, max: 40 }), (changes, capacity) => {
      const wide = new LargeMap<number>(capacity)
      const plain = new Map<string, number>()
      for (const each of changes) {
        apply(each, wide, plain)
        assert.equal(wide.size, plain.size)
        assert.equal(wide.get(each.key), plain.get(each.key))
      }
      assert.deepEqual(sorted(all(wide)), sorted(plain))
    }),
    { seed: 1_883 },
  )
})

test('an iteration visits each entry that is present throughout exactly once', () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 30 }),
      fc.integer({ min: 0, max: 20 }),
      (before, between, capacity) => {
        const wide = new LargeMap<number>(capacity)
        const plain = new Map<string, number>()
        for (const each of before) apply(each, wide, plain)
        const staying = new Set(plain.keys())

        const walk = wide.walk()
        const visited: string[] = []
        const visit = (): boolean => {
          const entry = walk.next()
          if (entry === undefined) return false
          assert.equal(entry[1], plain.get(entry[0]))
          visited.push(entry[0])
          return true
        }
        for (const changes of between) {
          visit()
          for (const each of changes) {
            if (!each.sets) staying.delete(each.key)
            apply(each, wide, plain)
          }
        }
        while (visit());
        for (const key of staying) assert.equal(visited.filter((one) => one === key).length, 1, key)
      },
    ),
    { numRuns: 1_000, seed: 1_883 },
  )
})
