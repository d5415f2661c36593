// Cached decisions of a service about single clients: their number, and their time to live.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceDecisions } from '../../src/access/rules/service-decisions.ts'
import type { Identity } from '../../src/core/index.ts'

const someone: Identity = {
  clientId: 'c1',
  username: undefined,
  peerAddress: '192.0.2.1',
  isSuperuser: false,
  expiresAtMs: undefined,
  grants: undefined,
}

function learnt(decisions: ServiceDecisions, topics: readonly string[]): void {
  for (const [index, topic] of topics.entries())
    decisions.recordResponse(someone, { action: 'publish', topic, response: 'allow' }, index * 2_000)
}

test('if there are too many decisions, the least recently used one is deleted, and one that is set again is new', () => {
  const decisions = new ServiceDecisions({ maxPerClient: 2, ttlMs: 60_000 })
  learnt(decisions, ['a', 'b', 'a', 'c'])
  assert.deepEqual(
    ['a', 'b', 'c'].map((topic) => decisions.find(someone, 'publish', topic, 6_000)),
    ['allow', undefined, 'allow'],
  )
})

test('decisions from before a change of settings are not used', () => {
  const limits = { maxPerClient: 2, ttlMs: 60_000 }
  const decisions = new ServiceDecisions(limits)
  learnt(decisions, ['a'])
  decisions.changeLimits(limits)
  assert.equal(decisions.find(someone, 'publish', 'a', 0), undefined)
})
