// Rules without the rest of the broker, and clients for them.

import assert from 'node:assert/strict'
import { readAclFile, type AclRule } from '../../src/config/index.ts'
import type { Identity } from '../../src/core/index.ts'
import { Topic, type TopicFilter, type TopicName } from '../../src/protocol/index.ts'
import { AccessRules, defaultRuleSettings, type RuleSettings } from '../../src/access/rules/access-rules.ts'
import type { AccessRecord, RuleRecord } from '../../src/records/index.ts'

export function rulesOf(text: string): readonly AclRule[] {
  const read = readAclFile(text, 'acl.conf')
  assert.ok('rules' in read, JSON.stringify(read))
  return read.rules
}

export interface Stage {
  readonly rules: AccessRules
  time: number
}

export function stage(acl: string, more: Partial<RuleSettings> = {}, records: readonly AccessRecord[] = []): Stage {
  const settings: RuleSettings = { ...defaultRuleSettings, noMatch: 'deny', ...more, rules: rulesOf(acl) }
  const access: Stage = {
    rules: new AccessRules(settings, { nowMs: () => access.time, mayStay: () => true }),
    time: 1_000_000,
  }
  access.rules.applyRecords({ put: records, delete: [] })
  return access
}

export function client(clientId: string, more: Partial<Identity> = {}): Identity {
  const known = { clientId, username: undefined, peerAddress: '192.0.2.1' }
  return { ...known, isSuperuser: false, expiresAtMs: undefined, grants: undefined, ...more }
}

export function topic(name: string): Topic {
  return new Topic(name as TopicName, Buffer.from(name))
}

export const publishes = ({ rules }: Stage, who: Identity, name: string): string => rules.canPublish(who, topic(name))
export const subscribes = ({ rules }: Stage, who: Identity, filter: string): string =>
  rules.canSubscribe(who, filter as TopicFilter)
export const receives = ({ rules }: Stage, who: Identity, name: string): boolean => rules.canReceive(who, topic(name))

export const someone = client('c1')

export function record(more: Partial<RuleRecord>): RuleRecord {
  const rule = { kind: 'rule', about: 'all', who: '', topic: '#', action: 'pubsub', permit: 'allow' } as const
  return { ...rule, createdAtMs: 1, ...more }
}
