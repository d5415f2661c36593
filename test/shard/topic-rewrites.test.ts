// Rules that replace topics: the rule that applies, and the expansion of groups and placeholders.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rewriteFilter, rewriteTopic, type RewriteRule } from '../../src/core/model/topic-rewrites.ts'
import type { TopicFilter, TopicName } from '../../src/protocol/index.ts'
import { createMatchRegex } from '../../src/shard/runtime/match-regex.ts'

const matchRegex = createMatchRegex()
const rules: readonly RewriteRule[] = [
  { action: 'all', source_topic: 'y/+/z/#', re: '^y/(.+)/z/(.+)$', dest_topic: 'y/z/$2' },
  { action: 'publish', source_topic: 'x/#', re: '^x/y/(.+)$', dest_topic: 'z/y/x/$1' },
  { action: 'subscribe', source_topic: 'x1/#', re: '^x1/y/(.+)$', dest_topic: 'z1/y/x/$1' },
  { action: 'all', source_topic: 'own/#', re: '^own/(.+)$', dest_topic: 'of/${username}/${clientid}/$1' },
  { action: 'all', source_topic: 'own/#', re: '.*', dest_topic: 'never' },
]
const who = { clientId: 'c', username: 'u' }

function published(topic: string, by: { clientId: string; username: string | undefined } = who): string | undefined {
  return rewriteTopic({ rules, matchRegex }, topic as TopicName, by)
}

function subscribed(filter: string, by = who): string | undefined {
  return rewriteFilter({ rules, matchRegex }, filter as TopicFilter, by)
}

test('the first rule whose filter matches decides', () => {
  assert.equal(published('y/a/z/b'), 'y/z/b')
  assert.equal(published('x/y/1'), 'z/y/x/1')
  assert.equal(published('x/1/2'), 'x/1/2', 'the filter matches and the expression does not')
  assert.equal(published('x1/y/1'), 'x1/y/1', 'the rule is for subscriptions')
  assert.equal(published('own/a'), 'of/u/c/a')
  assert.equal(published('own/a', { clientId: 'c', username: undefined }), 'own/a')
  assert.equal(published('own/a', { clientId: '+', username: 'u' }), 'own/a', 'that would not be a topic name')
  assert.equal(published('else'), 'else')
})

test('a name of a client that is more than a part of a level is not inserted, and groups lead to no topic of the broker', () => {
  for (const value of ['+', '#', 'alice/cmd', '$SYS', 'a\u0001', ''])
    for (const by of [
      { clientId: value, username: 'u' },
      { clientId: 'c', username: value },
    ]) {
      assert.equal(published('own/a', by), 'own/a', value)
      assert.equal(subscribed('own/a', by), 'own/a', value)
    }
  assert.equal(published('own/a', { clientId: 'a$&b', username: '$1x'.slice(1) }), 'of/1x/a$&b/a')
  const free = [{ action: 'all', source_topic: 'x/#', re: '^x/(.+)$', dest_topic: '$1' }] as const
  for (const text of [
    '$ns/other/t',
    '$SYS/x',
    '$event/x',
    '$delayed/1/t',
    '$share/g/t',
    '$queue/t',
    '$exclusive/t',
    '$any/t',
  ]) {
    assert.equal(rewriteTopic({ rules: free, matchRegex }, `x/${text}` as TopicName, who), undefined, text)
    assert.equal(rewriteFilter({ rules: free, matchRegex }, `x/${text}` as TopicFilter, who), undefined, text)
  }
})

test('the filter of a shared subscription is replaced after $share, and exclusive filters are not', () => {
  assert.equal(subscribed('x1/y/+'), 'z1/y/x/+')
  assert.equal(subscribed('$share/g/y/a/z/#'), '$share/g/y/z/#')
  assert.equal(subscribed('x/y/1'), 'x/y/1', 'the rule is for publications')
  assert.equal(subscribed('$exclusive/own/a'), '$exclusive/own/a')
})

test('an expression with exponential time in other engines is matched in time', () => {
  assert.equal(matchRegex('^(a+)+$', `${'a'.repeat(5_000)}b`), undefined)
})
