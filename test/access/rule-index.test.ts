// Compares the fast implementations with simple ones.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { matchesFilter } from '../../src/protocol/index.ts'
import { readAclTopic, readLiteral, type AclRule, type AclTopic, type AclSubject } from '../../src/config/index.ts'
import { compileRule, Search, type Action } from '../../src/access/rules/compiled-rule.ts'
import { RuleSet } from '../../src/access/rules/rule-set.ts'
import { RuleIndex } from '../../src/access/rules/rule-index.ts'
import { scanRules } from '../../src/access/rules/rule-list.ts'
import { parseClientAddress, matchesSubject, toPrincipal } from '../../src/access/rules/principal.ts'
import {
  coversFilter,
  matchesTopic,
  parseTopicPattern,
  type FilterPattern,
} from '../../src/access/rules/topic-patterns.ts'
import { fc } from '../properties.ts'

const letters = ['a', 'b', '', '$x']
const anyPrincipal = toPrincipal({ clientId: 'a', username: 'b' })

/**
 * Every topic of up to `longest` levels from a few letters; the last stands for all levels that no filter names. The empty topic
 * is invalid, but `/#` would match it: it counts, and a rule for `+/+/#` does not cover `/#`.
 */
function allTopics(longest: number): string[] {
  const levels = [...letters, 'other']
  let topics = levels
  const all = [...topics]
  for (let length = 2; length <= longest; length++) {
    topics = topics.flatMap((topic) => levels.map((level) => `${topic}/${level}`))
    all.push(...topics)
  }
  return all
}

/** Filters of up to three levels; topics with one level more show every difference between two of them. */
const topics = allTopics(4)
const level = fc.constantFrom(...letters, '+')
const filter = fc
  .tuple(fc.array(level, { minLength: 0, maxLength: 3 }), fc.boolean())
  .map(([levels, hasRest]) => [...levels, ...(hasRest || levels.length === 0 ? ['#'] : [])].join('/'))
  .filter((text) => text !== '')

function pattern(text: string): FilterPattern {
  const made = parseTopicPattern({ kind: 'filter', text })
  assert.ok(made.kind === 'filter')
  return made
}

describe('a rule covers a filter', () => {
  test('exactly if it matches every topic that the filter matches', () => {
    fc.assert(
      fc.property(filter, filter, (rule, wanted) => {
        const covers = coversFilter(pattern(rule), wanted.split('/'), anyPrincipal, false)
        const expected = topics.every((topic) => !matchesFilter(wanted, topic) || matchesFilter(rule, topic))
        assert.equal(covers, expected, `${rule} and ${wanted}`)
      }),
      { numRuns: 3_000 },
    )
  })

  test('as MQTT matches topics, and also with $ in the first level if it denies', () => {
    fc.assert(
      fc.property(filter, fc.constantFrom(...topics), (rule, topic) => {
        assert.equal(matchesTopic(pattern(rule), topic.split('/'), anyPrincipal, false), matchesFilter(rule, topic))
        const bare = topic.startsWith('$') ? `s${topic.slice(1)}` : topic
        const bareRule = rule.replace(/^\$/, 's')
        assert.equal(matchesTopic(pattern(rule), topic.split('/'), anyPrincipal, true), matchesFilter(bareRule, bare))
      }),
      { numRuns: 3_000 },
    )
  })
})

const ruleLevel = fc.constantFrom('a', 'b', '$x', '+', '%c', '${username}', 'p${clientid}', '')
const ruleTopic = fc
  .tuple(fc.array(ruleLevel, { maxLength: 3 }), fc.boolean(), fc.boolean())
  .map(([levels, hasRest, isLiteral]): AclTopic => {
    const text = [...levels, ...(hasRest || levels.length === 0 ? ['#'] : [])].join('/') || 'a'
    const read = isLiteral ? readLiteral(text) : readAclTopic(text)
    assert.ok('kind' in read)
    return read
  })
const name = fc.constantFrom('a', 'b', '+', '', '$x')
const simpleWho: fc.Arbitrary<AclSubject> = fc.oneof(
  fc.constant<AclSubject>({ is: 'anybody' }),
  name.map((username): AclSubject => ({ is: 'username', username })),
  name.map((clientId): AclSubject => ({ is: 'clientid', clientId })),
  fc.constant<AclSubject>({ is: 'address', ranges: [{ family: 4, words: [0x0a000000], prefixBits: 8 }] }),
)
const parts = fc.array(simpleWho, { minLength: 1, maxLength: 3 })
const subjects: fc.Arbitrary<AclSubject> = fc.oneof(
  simpleWho,
  parts.map((of): AclSubject => ({ is: 'all-of', parts: of })),
  parts.map((of): AclSubject => ({ is: 'any-of', parts: of })),
)
const rule: fc.Arbitrary<AclRule> = fc.record({
  permit: fc.constantFrom('allow', 'deny'),
  action: fc.constantFrom('publish', 'subscribe', 'pubsub'),
  who: subjects,
  topics: fc.option(fc.array(ruleTopic, { minLength: 1, maxLength: 3 }), { nil: undefined, freq: 12 }),
  text: fc.constant(''),
  file: fc.constant('f'),
  line: fc.constant(1),
})
const caller = fc.record({
  clientId: name,
  username: fc.option(name, { nil: undefined }),
  peerAddress: fc.constantFrom('10.0.0.1', '192.0.2.1', ''),
})
const accessRequest = fc.record({
  action: fc.constantFrom<Action>('publish', 'subscribe', 'receive'),
  levels: fc.array(fc.constantFrom('a', 'b', 'pa', 'pb', '$x', ''), { minLength: 1, maxLength: 4 }),
  wildcards: filter,
})

function topicOf({ action, levels, wildcards }: { action: Action; levels: string[]; wildcards: string }): string {
  return action === 'subscribe' ? wildcards : levels.join('/') || 'a'
}

describe('the index of rules', () => {
  test('finds the rule that a search through all finds', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 30 }), caller, accessRequest, (rules, from, request) => {
        const compiled = rules.map((each, order) =>
          compileRule({ ...each, place: undefined, because: 'configured-rule' }, order),
        )
        const plain = new Search(toPrincipal(from), request.action, topicOf(request))
        scanRules(compiled, plain)
        const indexed = new Search(toPrincipal(from), request.action, topicOf(request))
        new RuleIndex(compiled).search(indexed)
        assert.equal(indexed.order, plain.order)
        assert.deepEqual(indexed.decision, plain.decision)
      }),
      { numRuns: 5_000 },
    )
  })

  test('and the index by subject decide like the first rule for the client', () => {
    fc.assert(
      fc.property(fc.array(rule, { maxLength: 40 }), caller, accessRequest, (rules, from, request) => {
        const compiled = rules.map((each, order) =>
          compileRule({ ...each, place: 'f:1', because: 'configured-rule' }, order),
        )
        const plain = new Search(toPrincipal(from), request.action, topicOf(request))
        scanRules(
          compiled.filter((_, index) => matchesSubject(rules[index].who, from, parseClientAddress(from))),
          plain,
        )
        const booked = new Search(toPrincipal(from), request.action, topicOf(request))
        for (const list of new RuleSet(rules).selectLists(from)) list.search(booked)
        assert.equal(booked.order, plain.order)
        assert.deepEqual(booked.decision, plain.decision)
      }),
      { numRuns: 5_000 },
    )
  })

  test('does not check rules for other topics and other clients', () => {
    const manyTopics = Array.from({ length: 20_000 }, (_, index): AclRule => {
      const topic = readAclTopic(`plant/${index}/#`)
      assert.ok('kind' in topic)
      const about: AclSubject = index % 2 === 0 ? { is: 'anybody' } : { is: 'clientid', clientId: `c${index}` }
      return { permit: 'allow', action: 'pubsub', who: about, topics: [topic], text: '', file: 'f', line: index }
    })
    const book = new RuleSet(manyTopics)
    const from = { clientId: 'c7', username: undefined, peerAddress: '' }
    const lists = book.selectLists(from)
    assert.equal(lists.length, 2)
    const orderOfMatch = (topic: string): number => {
      const search = new Search(toPrincipal(from), 'publish', topic)
      for (const list of lists) list.search(search)
      return search.order
    }
    assert.deepEqual(
      [orderOfMatch('plant/7/a'), orderOfMatch('plant/9/a'), orderOfMatch('plant/19998/x')],
      [7, Infinity, 19_998],
    )
  })
})
