// A filter tree returns the same results as a comparison with each filter.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FilterTree } from '../../src/bridges/subscriptions/filter-tree.ts'
import { matchesFilter, parseTopicFilter, type TopicFilter } from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'

const levels = ['a', 'b', '', '+']
const filterText = fc
  .tuple(fc.array(fc.constantFrom(...levels), { maxLength: 3 }), fc.constantFrom('a', 'b', '+', '#', ''))
  .map(([first, last]) => [...first, last].join('/'))
  .filter((text) => parseTopicFilter(text) !== undefined) as fc.Arbitrary<TopicFilter>

/** Every topic of up to four levels from a set of three. */
const topics = ['a', 'b', ''].flatMap((one) => [
  one,
  ...['a', 'b', ''].flatMap((two) => [
    `${one}/${two}`,
    ...['a', 'b', ''].flatMap((three) => [
      `${one}/${two}/${three}`,
      ...['a', 'b', 'c'].map((four) => `${one}/${two}/${three}/${four}`),
    ]),
  ]),
])

function treeOf(filters: readonly TopicFilter[], gone: readonly TopicFilter[] = []): FilterTree {
  const tree = new FilterTree()
  for (const filter of [...filters, ...gone]) tree.set(filter, 1)
  for (const filter of gone) if (!filters.includes(filter)) tree.delete(filter)
  return tree
}

test('a topic matches a tree when it matches one of its filters', () => {
  fc.assert(
    fc.property(fc.array(filterText, { maxLength: 6 }), fc.array(filterText, { maxLength: 6 }), (filters, gone) => {
      const tree = treeOf(filters, gone)
      for (const topic of topics) {
        assert.equal(
          tree.matches(topic),
          filters.some((filter) => matchesFilter(filter, topic)),
          topic,
        )
      }
    }),
  )
  assert.equal(treeOf(['#' as TopicFilter, '+/a' as TopicFilter]).matches('$SYS/a'), false)
})

test('a covering filter matches every topic that the covered one matches, and the reverse', () => {
  fc.assert(
    fc.property(filterText, fc.array(filterText, { maxLength: 8 }), (filter, others) => {
      const tree = treeOf([filter, ...others])
      const covering = new Set<string>()
      const covered = new Set<string>()
      tree.visitCovering(filter, (found) => covering.add(found))
      tree.visitCovered(filter, (found) => covered.add(found))
      for (const other of new Set(others)) {
        if (other === filter) continue
        const within = topics.filter((topic) => matchesFilter(filter, topic))
        if (covering.has(other))
          assert.ok(
            within.every((topic) => matchesFilter(other, topic)),
            `${other} ${filter}`,
          )
        const back = new Set<string>()
        tree.visitCovered(other, (found) => back.add(found))
        assert.equal(back.has(filter), covering.has(other), `${other} ${filter}`)
      }
      assert.equal(covering.has(filter) || covered.has(filter), false)
    }),
  )
  const found: string[] = []
  const known = ['#', 'a/#', 'a/+', 'a', 'a/b', '+/b', 'c'] as TopicFilter[]
  treeOf(known).visitCovering('a/b' as TopicFilter, (filter) => found.push(filter))
  assert.deepEqual(found.toSorted(), ['#', '+/b', 'a/#', 'a/+'])
})
