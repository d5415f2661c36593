import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeFilterPrefix, matchesFilter, type TopicFilter, type TopicName } from '../../src/protocol/index.ts'
import { type RetainedReplay, RetainedReplayQueue } from '../../src/core/state/sessions/retained-replay-queue.ts'
import { fc } from '../properties.ts'
import { threadMs } from '../rules/thread-time.ts'

const options = { qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0, raisesTo: 0 } as const
const nowhere = { next: () => ({ messages: [], isEnd: true }) }

function scanOf(filter: string): RetainedReplay {
  const source = { cursor: nowhere, marks: undefined } as unknown as RetainedReplay['source']
  return {
    filter: filter as TopicFilter,
    options: { ...options, identifier: undefined },
    source,
    found: [],
    isAtEnd: false,
  }
}

const filter = fc.constantFrom('a', 'b', 'a/b', '+', 'a/#', '$exclusive/b', '$exclusive/a/#')
const step = fc.oneof(
  fc.record({ does: fc.constant('add' as const), filter }),
  fc.record({ does: fc.constant('add' as const), filter }),
  fc.record({ does: fc.constant('drop' as const), filter }),
  fc.record({ does: fc.constant('end' as const), filter }),
)

test('the remaining messages are in the order of the subscriptions, whatever is dropped or restarts', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const queue = new RetainedReplayQueue()
      let expected: RetainedReplay[] = []
      for (const { does, filter: wanted } of steps) {
        if (does === 'add') {
          const scan = scanOf(wanted)
          queue.add(scan)
          expected.push(scan)
        } else if (does === 'drop') {
          const dropped = queue.drop(wanted as TopicFilter)
          assert.deepEqual(new Set(dropped), new Set(expected.filter((scan) => scan.filter === wanted)))
          expected = expected.filter((scan) => scan.filter !== wanted)
        } else if (queue.first !== undefined) {
          queue.end(queue.first)
          expected.shift()
        }
        assert.equal(queue.first, expected[0])
        assert.equal(queue.isEmpty, expected.length === 0)
        assert.deepEqual(new Set(queue.all()), new Set(expected))
        for (const name of ['a', 'b', 'a/b', 'c/d'])
          assert.equal(
            queue.awaitsTopic(name as TopicName),
            expected.some((scan) => matchesFilter(removeFilterPrefix(scan.filter), name)),
            name,
          )
      }
    }),
    { numRuns: 2_000 },
  )
})

test('ending a replay that is not queued ends no other', () => {
  const queue = new RetainedReplayQueue()
  const [old, anew] = [scanOf('a'), scanOf('a')]
  queue.add(old)
  queue.drop(old.filter)
  queue.add(anew)
  queue.end(old)
  assert.deepEqual([queue.first, queue.isEmpty], [anew, false])
})

const many = 100_000

test('a client that subscribes to the same filter repeatedly, or to very many filters, does not fill the queue or delay other clients', () => {
  const queue = new RetainedReplayQueue()
  const startMs = threadMs()
  const last = scanOf('other')
  queue.add(last)
  for (let round = 0; round < many; round++) {
    queue.drop('a' as TopicFilter)
    queue.add(scanOf('a'))
  }
  assert.equal(queue.first, last)
  assert.equal([...queue.all()].length, 2)
  for (let number = 0; number < many; number++) {
    const scan = scanOf(`filter/${number}`)
    queue.drop(scan.filter)
    queue.add(scan)
  }
  let given = 0
  for (let scan = queue.first; scan !== undefined; scan = queue.first) {
    queue.end(scan)
    given++
  }
  assert.equal(given, many + 2)
  assert.equal(queue.isEmpty, true)
  const ms = threadMs() - startMs
  // Ten times the duration on a busy machine. A search through all entries for each one takes longer.
  assert.ok(ms < 5_000, `${ms} ms`)
})
