import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SubscriptionTrie, type SubscriptionOptions } from '../../../src/core/topics/index.ts'
import { matchesFilter, splitSharedFilter, type TopicFilter, type TopicName } from '../../../src/protocol/index.ts'
import { options, optionsOf, sharedFilters, topicFilter, topicFilters, topicName, topicNames } from './generators.ts'
import { fc } from '../../properties.ts'

interface Subscriber {
  readonly name: string
}

const subscribers: readonly Subscriber[] = ['s1', 's2', 's3'].map((name) => ({ name }))

/** Each match as `subscriber qos`, or `group subscriber qos` if it is shared. */
function matches(trie: SubscriptionTrie<Subscriber>, topic: TopicName): string[] {
  const found: string[] = []
  const exact = trie.findExactSubscribers(topic)
  const subscriberLists = exact === undefined ? [] : [exact]
  trie.addWildcardSubscribers(topic, subscriberLists)
  for (const filterSubscribers of subscriberLists) {
    filterSubscribers.forEach((subscriber, { qos }) => found.push(`${subscriber.name} ${qos}`))
    filterSubscribers.walkGroups((group) => {
      for (const member of group.iterateMembers())
        found.push(`${group.name} ${member.subscriber.name} ${member.options.qos}`)
    })
  }
  return found.toSorted()
}

/** The same matches, found by the method that also returns the filter. */
function explained(trie: SubscriptionTrie<Subscriber>, topic: TopicName): string[] {
  const found: string[] = []
  for (const [filter, filterSubscribers] of trie.walkMatching(topic)) {
    assert.equal(matchesFilter(filter, topic), true, filter)
    const entries = [...filterSubscribers.entries()]
    assert.equal(filterSubscribers.size, entries.length)
    for (const [subscriber, { qos }] of entries) found.push(`${subscriber.name} ${qos}`)
    filterSubscribers.walkGroups((group) => {
      assert.equal(group.filter, filter)
      for (const member of group.iterateMembers())
        found.push(`${group.name} ${member.subscriber.name} ${member.options.qos}`)
    })
  }
  return found.toSorted()
}

function trieOf(...filters: string[]): SubscriptionTrie<Subscriber> {
  const trie = new SubscriptionTrie<Subscriber>()
  for (const filter of filters) trie.add(topicFilter(filter), { name: filter }, optionsOf({}))
  return trie
}

/** The filters among `filters` that match, found by the trie. */
function matching(filters: string[], topic: string): string[] {
  return matches(trieOf(...filters), topicName(topic)).map((line) => line.slice(0, -2))
}

class SlowSubscriptions {
  readonly #byKey = new Map<string, { filter: TopicFilter; subscriber: Subscriber; options: SubscriptionOptions }>()

  add(filter: TopicFilter, subscriber: Subscriber, options: SubscriptionOptions): boolean {
    const key = `${subscriber.name} ${filter}`
    const isNew = !this.#byKey.has(key)
    this.#byKey.set(key, { filter, subscriber, options })
    return isNew
  }

  remove(filter: TopicFilter, subscriber: Subscriber): boolean {
    return this.#byKey.delete(`${subscriber.name} ${filter}`)
  }

  all(): { filter: TopicFilter; subscriber: Subscriber }[] {
    return [...this.#byKey.values()]
  }

  matches(topic: TopicName): string[] {
    const found: string[] = []
    for (const { filter, subscriber, options } of this.#byKey.values()) {
      const shared = splitSharedFilter(filter)
      const line = `${subscriber.name} ${options.qos}`
      if (matchesFilter(shared?.filter ?? filter, topic)) found.push(shared ? `${shared.group} ${line}` : line)
    }
    return found.toSorted()
  }
}

const step = fc.record({
  adds: fc.boolean(),
  filter: fc.oneof({ weight: 3, arbitrary: topicFilters }, { weight: 1, arbitrary: sharedFilters }),
  subscriber: fc.constantFrom(...subscribers),
  options,
})

test('the trie finds the matches of a direct comparison, after any additions and removals', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.array(topicNames, { maxLength: 20 }), (steps, topics) => {
      const trie = new SubscriptionTrie<Subscriber>()
      const slow = new SlowSubscriptions()
      for (const { adds, filter, subscriber, options } of steps) {
        if (adds) assert.equal(trie.add(filter, subscriber, options), slow.add(filter, subscriber, options))
        else assert.equal(trie.remove(filter, subscriber), slow.remove(filter, subscriber))
      }
      for (const topic of topics) {
        assert.deepEqual(matches(trie, topic), slow.matches(topic), topic)
        assert.deepEqual(explained(trie, topic), slow.matches(topic), topic)
      }

      for (const { filter, subscriber } of slow.all()) assert.equal(trie.remove(filter, subscriber), true)
      assert.equal(trie.isEmpty, true, 'no node is left')
    }),
    { numRuns: 500, seed: 1_883 },
  )
})

test('[MQTT-4.7.1-2] a multi-level wildcard matches its parent level and everything below', () => {
  for (const topic of ['sport', 'sport/', 'sport/tennis', 'sport/tennis/player1']) {
    assert.deepEqual(matching(['sport/#'], topic), ['sport/#'], topic)
  }
  assert.deepEqual(matching(['sport/#'], 'sports'), [])
})

test('[MQTT-4.7.1-3] a single-level wildcard matches one level, also an empty one', () => {
  assert.deepEqual(matching(['+/+', '/+', '+', 'a/+'], '/finance'), ['+/+', '/+'])
  assert.deepEqual(matching(['a/+', 'a/+/+'], 'a/'), ['a/+'])
})

test('[MQTT-4.7.2-1] filters that begin with a wildcard do not match topics that begin with $', () => {
  assert.deepEqual(matching(['#', '+/monitor/#', '$SYS/#', '$SYS/monitor/+'], '$SYS/monitor/clients'), [
    '$SYS/#',
    '$SYS/monitor/+',
  ])
  assert.deepEqual(matching(['a/+', 'a/#'], 'a/$SYS'), ['a/#', 'a/+'], 'in a later level, $ is an ordinary character')
})

test('[MQTT-4.7.3-4] topics are compared unchanged: case, spaces and empty levels matter', () => {
  assert.deepEqual(matching(['Accounts', 'accounts', '/accounts', 'accounts/'], 'accounts'), ['accounts'])
})

test('[MQTT5-4.8.2-1] a shared subscription and the ordinary one to its filter are independent', () => {
  const [subscriber] = subscribers
  const trie = new SubscriptionTrie<Subscriber>()
  trie.add(topicFilter('$share/workers/jobs'), subscriber, optionsOf({}))
  assert.equal(trie.remove(topicFilter('jobs'), subscriber), false)
  assert.equal(trie.remove(topicFilter('$share/others/jobs'), subscriber), false)
  assert.deepEqual(matches(trie, topicName('jobs')), ['workers s1 0'])

  trie.add(topicFilter('jobs'), subscriber, optionsOf({ qos: 1 }))
  assert.equal(trie.remove(topicFilter('$share/workers/jobs'), subscriber), true)
  assert.deepEqual(matches(trie, topicName('jobs')), ['s1 1'])
})

test('a filter and a topic of 65,535 bytes and levels need no recursion, and leave no memory in use', () => {
  const [subscriber] = subscribers
  const trie = new SubscriptionTrie<Subscriber>()
  const filters = ['/'.repeat(65_535), '+/'.repeat(32_767), `${'/'.repeat(65_534)}#`].map(topicFilter)
  for (const filter of filters) trie.add(filter, subscriber, optionsOf({}))
  assert.equal(matches(trie, topicName('/'.repeat(65_535))).length, 2)
  assert.equal(matches(trie, topicName('/'.repeat(32_767))).length, 1)
  for (const filter of filters) assert.equal(trie.remove(filter, subscriber), true)
  assert.equal(trie.isEmpty, true)
})
