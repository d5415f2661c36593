import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  removeFilterPrefix,
  countLevels,
  hasWildcard,
  matchesFilter,
  parseTopicFilter,
  parseTopicName,
  splitExclusiveFilter,
  splitSharedFilter,
  type TopicFilter,
} from '../../src/protocol/index.ts'
import { fc } from '../properties.ts'

describe('a topic name', () => {
  test('is any text without wildcards', () => {
    for (const name of ['a', '/', '/a', 'a/', 'a//b', ' ', '$SYS/x', 'Ä/ö', '\u0001', '🐦', 'a'.repeat(65_535)]) {
      assert.equal(parseTopicName(name), name)
    }
  })

  test('[MQTT-4.7.3-1] [MQTT-4.7.3-2] [MQTT-4.7.3-3] is not empty, has no U+0000, and has at most 65,535 bytes', () => {
    for (const text of ['', 'a\0b', 'a'.repeat(65_536), 'ü'.repeat(32_768), '€'.repeat(21_846), '\ud800']) {
      assert.equal(parseTopicName(text), undefined)
    }
    assert.notEqual(parseTopicName('€'.repeat(21_845)), undefined)
  })

  test('[MQTT-3.3.2-2] [MQTT5-3.3.2-2] has no wildcard anywhere', () => {
    for (const text of ['#', '+', 'a/#', 'a+b', '#a']) assert.equal(parseTopicName(text), undefined)
  })
})

describe('a topic filter', () => {
  test('can have wildcards that are a whole level', () => {
    for (const filter of ['#', '+', 'a/#', '+/+', '/+', '+/', '/#', 'a/+/b/#', '$SYS/#', 'a', '$share', '$shared/a']) {
      assert.equal(parseTopicFilter(filter), filter)
    }
  })

  test('[MQTT-4.7.1-2] [MQTT-4.7.1-3] is invalid if a wildcard is a part of a level, or # is not the last level', () => {
    for (const text of ['a#', '#a', 'a/#/b', '#/', 'a+', '+a', 'a/+b/c', '##', '++', '#/#', '']) {
      assert.equal(parseTopicFilter(text), undefined)
    }
  })

  test('[MQTT5-4.8.2-1] [MQTT5-4.8.2-2] for a shared subscription has a group without wildcards and a filter', () => {
    for (const text of [
      '$share/g/a',
      '$share/g/#',
      '$share/g//',
      '$share/g/+/b',
      '$share/g/$SYS/#',
      '$share/$share/a',
    ]) {
      assert.equal(parseTopicFilter(text), text)
    }
    for (const text of [
      '$share/',
      '$share//',
      '$share//a',
      '$share/g',
      '$share/g/',
      '$share/+/a',
      '$share/#',
      '$share/a#/b',
    ]) {
      assert.equal(parseTopicFilter(text), undefined)
    }
  })

  test('is invalid with two prefixes $share', () => {
    assert.equal(parseTopicFilter('$share/g/$share/h/a'), undefined)
  })

  test('for a shared subscription is split into group and filter', () => {
    assert.deepEqual(splitSharedFilter('$share/g/a/#' as TopicFilter), { group: 'g', filter: 'a/#' })
    assert.deepEqual(splitSharedFilter('$share/g//' as TopicFilter), { group: 'g', filter: '/' })
    assert.equal(splitSharedFilter('a/$share/b' as TopicFilter), undefined)
    assert.equal(splitSharedFilter('$share' as TopicFilter), undefined)
  })
})

describe('an exclusive filter', () => {
  test('has a filter after its prefix that is neither shared nor exclusive', () => {
    for (const filter of [
      '$exclusive/a',
      '$exclusive/a/#',
      '$exclusive/+',
      '$exclusive//',
      '$exclusive',
      '$exclusives/a',
    ])
      assert.equal(parseTopicFilter(filter), filter)
    for (const text of [
      '$exclusive/',
      '$exclusive/a#',
      '$exclusive/#/a',
      '$exclusive/$share/g/a',
      '$exclusive/$exclusive/a',
    ])
      assert.equal(parseTopicFilter(text), undefined, text)
  })

  test('gives the filter after its prefix', () => {
    assert.equal(splitExclusiveFilter('$exclusive/a/#' as TopicFilter), 'a/#')
    assert.equal(splitExclusiveFilter('a/$exclusive/b' as TopicFilter), undefined)
    assert.deepEqual(
      ['$exclusive/a', '$share/g/a', 'a'].map((filter) => removeFilterPrefix(filter as TopicFilter)),
      ['a', 'a', 'a'],
    )
  })
})

test('the number of levels is the number of separators plus one', () => {
  for (const [text, levels] of [
    ['a', 1],
    ['/', 2],
    ['a/b', 2],
    ['/a/', 3],
    ['//', 3],
  ] as const) {
    assert.equal(countLevels(text), levels)
  }
})

test('a wildcard is found at any position', () => {
  for (const text of ['+', 'a/#', 'a+']) assert.equal(hasWildcard(text), true)
  for (const text of ['', 'a/b']) assert.equal(hasWildcard(text), false)
})

describe('a filter matches', () => {
  const matching = [
    ['sport/tennis/player1/#', 'sport/tennis/player1'],
    ['sport/tennis/player1/#', 'sport/tennis/player1/ranking'],
    ['sport/tennis/player1/#', 'sport/tennis/player1/score/wimbledon'],
    ['sport/#', 'sport'],
    ['#', 'a/b'],
    ['#', '/'],
    ['sport/+', 'sport/'],
    ['sport/tennis/+', 'sport/tennis/player1'],
    ['+/+', '/finance'],
    ['/+', '/finance'],
    ['+/tennis/#', 'sport/tennis'],
    ['a', 'a'],
    ['a//b', 'a//b'],
    ['+/+/+', '//'],
    ['$SYS/#', '$SYS'],
    ['$SYS/#', '$SYS/broker/clients'],
    ['$SYS/monitor/+', '$SYS/monitor/Clients'],
    ['a/#', 'a/$b'],
  ] as const
  const others = [
    ['sport/tennis/+', 'sport/tennis/player1/ranking'],
    ['sport/+', 'sport'],
    ['+', '/finance'],
    ['a', 'A'],
    ['a', 'a/'],
    ['/a', 'a'],
    ['a/b', 'a'],
    ['a/+/c', 'a/b'],
    ['a/b/#', 'a'],
  ] as const

  for (const [filter, topic] of matching) {
    test(`${filter} matches ${topic}`, () => assert.equal(matchesFilter(filter, topic), true))
  }
  for (const [filter, topic] of others) {
    test(`${filter} does not match ${topic}`, () => assert.equal(matchesFilter(filter, topic), false))
  }

  test('[MQTT-4.7.2-1] [MQTT5-4.7.2-1] no topic that begins with $ by a leading wildcard', () => {
    for (const filter of ['#', '+/monitor/Clients', '+/#', '+']) {
      assert.equal(matchesFilter(filter, '$SYS/monitor/Clients'), false)
      assert.equal(matchesFilter(filter, '$SYS'), false)
    }
  })

  test('the same topics as an equivalent regular expression', () => {
    const level = fc.constantFrom('', 'a', 'b', '$x')
    const topics = fc.array(level, { minLength: 1, maxLength: 4 }).map((levels) => levels.join('/'))
    const filters = fc
      .tuple(fc.array(fc.oneof(level, fc.constant('+')), { maxLength: 4 }), fc.boolean())
      .map(([levels, endsInHash]) => [...levels, ...(endsInHash || levels.length === 0 ? ['#'] : [])].join('/'))
    fc.assert(
      fc.property(filters, topics, (filter, topic) => {
        assert.equal(matchesFilter(filter, topic), asExpression(filter).test(topic))
      }),
      { numRuns: 5_000, seed: 5 },
    )
  })
})

/** The same filter as a regular expression. */
function asExpression(filter: string): RegExp {
  const body = filter
    .replaceAll('$', '\\$')
    .replaceAll('+', '[^/]*')
    .replace(/(^|\/)#$/, (_, separator) => (separator === '/' ? '(/.*)?' : '.*'))
  return new RegExp(`^${/^[+#]/.test(filter) ? '(?!\\$)' : ''}${body}$`)
}
