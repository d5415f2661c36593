import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TopicMapping } from '../../src/bridges/rules/topic-mapping.ts'
import { toForwardMapping, findForwardProblem } from '../../src/bridges/rules/bridge-rules.ts'
import { matchesFilter } from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'

const levels = 128

function mapped(
  filter: string,
  target: string,
  topic: string,
  around = { prefix: '', suffix: '' },
): string | undefined {
  return new TopicMapping({ filter, target, ...around }).map(topic, levels)
}

const cases: readonly [filter: string, target: string, topic: string, expected: string | undefined][] = [
  ['#', '', 'a/b', 'a/b'],
  ['a/#', 'x', 'a/b', 'x'],
  ['+/nanomq/#', '#', 'cmd/nanomq/hello/world', 'hello/world'],
  ['+/plant/+', 'in/+/of/+', 'a/plant/b', 'in/a/of/b'],
  ['a/#', 'x/#', 'a', 'x'],
  ['a/#', '#', 'a', undefined],
  ['a/+', '+', 'a/', undefined],
  ['+/+', '+/#', 'a/b', 'a'],
]

for (const [filter, target, topic, expected] of cases) {
  test(`${topic} matches ${filter} and is mapped to ${target === '' ? 'the same topic' : target} as ${expected}`, () => {
    assert.equal(mapped(filter, target, topic), expected)
  })
}

test('prefix and suffix are added to the mapped topic', () => {
  assert.equal(mapped('a/+', '+', 'a/b', { prefix: 'p/', suffix: '/s' }), 'p/b/s')
})

test('a topic with more levels than allowed is not mapped', () => {
  assert.equal(new TopicMapping({ filter: '#', target: '', prefix: 'a/b/', suffix: '' }).map('c/d', 3), undefined)
})

const level = fc.stringMatching(/^[a-z]{0,3}$/)
const topicName = fc.array(level, { minLength: 1, maxLength: 5 }).map((parts) => parts.join('/'))
const filterOf = fc.array(fc.oneof(level, fc.constant('+')), { minLength: 1, maxLength: 4 })
const topicFilter = fc.tuple(filterOf, fc.boolean()).map(([parts, isOpen]) => [...parts, ...(isOpen ? ['#'] : [])])

test('a filter mapped to itself does not change topics', () => {
  fc.assert(
    fc.property(topicFilter, topicName, (parts, topic) => {
      const filter = parts.join('/')
      fc.pre(filter !== '' && topic !== '' && matchesFilter(filter, topic))
      assert.equal(mapped(filter, filter, topic), topic)
    }),
  )
})

test('a mapped topic has no wildcards, whatever the topic', () => {
  fc.assert(
    fc.property(topicFilter, topicFilter, topicName, (from, to, topic) => {
      const rule = { localFilter: from.join('/'), remoteTopic: to.join('/'), prefix: '', suffix: '' }
      fc.pre(findForwardProblem({ ...rule, qos: undefined, retain: undefined }) === undefined)
      fc.pre(topic !== '' && matchesFilter(rule.localFilter, topic))
      const mapping = toForwardMapping({ ...rule, qos: undefined, retain: undefined })
      assert.doesNotMatch(new TopicMapping(mapping).map(topic, levels) ?? '', /[+#]/)
    }),
  )
})

const forward = { localFilter: '#', remoteTopic: '', prefix: '', suffix: '', qos: undefined, retain: undefined }
const refused: readonly [why: string, rule: Partial<typeof forward>][] = [
  ['local_topic is not a topic filter', { localFilter: 'a/#/b' }],
  ['local_topic must not begin with $share/', { localFilter: '$share/g/a' }],
  ['local_topic must not begin with $SYS/', { localFilter: '$SYS/#' }],
  ['prefix must not contain wildcards', { prefix: '+/' }],
  ['remote_topic has more + than local_topic', { localFilter: 'a/+', remoteTopic: '+/+' }],
  ['remote_topic has more # than local_topic', { localFilter: 'a/+', remoteTopic: '#' }],
]

for (const [why, rule] of refused) {
  test(`a rule is refused because ${why}`, () => {
    assert.ok(findForwardProblem({ ...forward, ...rule })?.startsWith(why))
  })
}
