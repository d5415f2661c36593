import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RetainedTree, type RetainedCursor } from '../../../src/core/topics/index.ts'
import { matchesFilter, type TopicName } from '../../../src/protocol/index.ts'
import { topicFilter, topicFilters, topicName, topicNames } from './generators.ts'
import { fc } from '../../properties.ts'

class Note {
  readonly topicName: TopicName
  readonly bytes: number

  constructor(topic: string, bytes: number = 1) {
    this.topicName = topicName(topic)
    this.bytes = bytes
  }
}

const emptyTree = (): RetainedTree<Note> => new RetainedTree<Note>((note) => note.bytes)

function treeOf(...topics: string[]): RetainedTree<Note> {
  const tree = emptyTree()
  for (const topic of topics) tree.set(new Note(topic))
  return tree
}

function rest(cursor: RetainedCursor<Note>, limitVisited: number): Note[] {
  const notes: Note[] = []
  for (;;) {
    const slice = cursor.next(limitVisited)
    assert.ok(slice.messages.length <= limitVisited)
    notes.push(...slice.messages)
    if (slice.isEnd) return notes
  }
}

const namesOf = (notes: readonly Note[]): string[] => notes.map((note) => note.topicName).toSorted()
const matching = (tree: RetainedTree<Note>, filter: string): string[] =>
  namesOf(rest(tree.walkMatching(topicFilter(filter)), 1_000))

const change = fc.record({ sets: fc.boolean(), topic: topicNames, bytes: fc.nat(100) })
type Change = typeof change extends fc.Arbitrary<infer C> ? C : never

function apply(tree: RetainedTree<Note>, known: Map<TopicName, Note>, { sets, topic, bytes }: Change): void {
  const before = known.get(topic)
  if (sets) {
    const note = new Note(topic, bytes)
    assert.equal(tree.set(note), before)
    known.set(topic, note)
  } else {
    assert.equal(tree.delete(topic), before)
    known.delete(topic)
  }
}

test('the tree holds the last message of each topic, counts it, and finds it by every filter that matches', () => {
  fc.assert(
    fc.property(
      fc.array(change, { maxLength: 60 }),
      fc.array(topicFilters, { maxLength: 10 }),
      fc.integer({ min: 1, max: 20 }),
      (changes, filters, limitVisited) => {
        const tree = emptyTree()
        const known = new Map<TopicName, Note>()
        for (const each of changes) {
          apply(tree, known, each)
          assert.equal(tree.get(each.topic), known.get(each.topic))
        }
        assert.equal(tree.count, known.size)
        assert.equal(
          tree.bytes,
          [...known.values()].reduce((sum, note) => sum + note.bytes, 0),
        )
        for (const filter of filters) {
          const expected = [...known.values()].filter((note) => matchesFilter(filter, note.topicName))
          const found = rest(tree.walkMatching(filter), limitVisited)
          assert.deepEqual(namesOf(found), namesOf(expected), filter)
          for (const note of found) assert.equal(known.get(note.topicName), note, 'the last one, not an earlier one')
        }
        for (const topic of known.keys()) assert.notEqual(tree.delete(topic), undefined)
        assert.equal(tree.isEmpty, true, 'no node is left')
        assert.equal(tree.count + tree.bytes, 0)
      },
    ),
    { numRuns: 500, seed: 1_883 },
  )
})

test('if the tree changes between slices, a cursor returns each topic that is present throughout exactly once', () => {
  fc.assert(
    fc.property(
      fc.array(topicNames, { maxLength: 40 }),
      topicFilters,
      fc.array(fc.array(change, { maxLength: 8 }), { maxLength: 20 }),
      fc.integer({ min: 1, max: 5 }),
      (topics, filter, changesBetween, limitVisited) => {
        const tree = treeOf(...topics)
        const known = new Map<TopicName, Note>()
        for (const topic of topics) known.set(topic, tree.get(topic)!)
        const staying = new Set(known.keys())
        const everThere = new Set(known.values())

        const cursor = tree.walkMatching(filter)
        const given: Note[] = []
        for (const changes of changesBetween) {
          const slice = cursor.next(limitVisited)
          for (const note of slice.messages)
            assert.equal(known.get(note.topicName), note, 'a returned message is in the tree')
          given.push(...slice.messages)
          for (const each of changes) {
            if (!each.sets) staying.delete(each.topic)
            apply(tree, known, each)
            const now = known.get(each.topic)
            if (now !== undefined) everThere.add(now)
          }
        }
        given.push(...rest(cursor, limitVisited))

        for (const topic of staying) {
          const times = given.filter((note) => note.topicName === topic).length
          assert.equal(times, matchesFilter(filter, topic) ? 1 : 0, `${topic} for ${filter}`)
        }
        for (const note of given) {
          assert.ok(everThere.has(note) && matchesFilter(filter, note.topicName), note.topicName)
        }
      },
    ),
    { numRuns: 2_000, seed: 1_883 },
  )
})

test('[MQTT-4.7.2-1] a filter that begins with a wildcard finds no topic that begins with $', () => {
  const tree = treeOf('$SYS/uptime', '$SYS', 'a', 'a/$SYS')
  assert.deepEqual(matching(tree, '#'), ['a', 'a/$SYS'])
  assert.deepEqual(matching(tree, '+'), ['a'])
  assert.deepEqual(matching(tree, '+/uptime'), [])
  assert.deepEqual(matching(tree, '$SYS/#'), ['$SYS', '$SYS/uptime'])
  assert.deepEqual(matching(tree, 'a/+'), ['a/$SYS'])
})

test('a message moves to a lower level when a second one is added below, and both are found', () => {
  const tree = treeOf('site/1/room/2')
  tree.set(new Note('site/1/room'))
  tree.set(new Note('site'))
  assert.deepEqual(matching(tree, 'site/#'), ['site', 'site/1/room', 'site/1/room/2'])
  assert.equal(tree.get(topicName('site/1')), undefined)
  assert.equal(tree.delete(topicName('site/1')), undefined)
  assert.equal(tree.delete(topicName('site/1/room'))?.topicName, 'site/1/room')
  assert.deepEqual(matching(tree, '+/+/+/+'), ['site/1/room/2'])
})

test('a slice visits at most its limit, also without a match', () => {
  const topics = Array.from({ length: 100 }, (_, at) => `site/${at}/temperature`)
  const cursor = treeOf(...topics).walkMatching(topicFilter('site/+/humidity'))
  let slices = 1
  while (!cursor.next(10).isEnd) slices += 1
  assert.ok(slices >= 10, `${slices} slices`)
  assert.deepEqual(cursor.next(10), { messages: [], isEnd: true }, 'and stays at the end')
})

test('topics of 65,535 levels need no recursion', () => {
  const deep = '/'.repeat(65_534)
  const tree = treeOf(deep, `${deep}a`)
  assert.equal(matching(tree, '#').length, 2)
  assert.equal(tree.delete(topicName(deep))?.topicName, deep)
  assert.equal(tree.delete(topicName(`${deep}a`))?.topicName, `${deep}a`)
  assert.equal(tree.isEmpty, true)
})
