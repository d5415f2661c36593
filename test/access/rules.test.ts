// Actions that rules allow and deny.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Identity } from '../../src/core/index.ts'
import { defaultRuleSettings } from '../../src/access/rules/access-rules.ts'
import { parseTokenGrants } from '../../src/access/rules/token-grants.ts'
import {
  client,
  publishes,
  receives,
  record,
  rulesOf,
  someone,
  stage,
  type Stage,
  subscribes,
  topic,
} from './rule-stage.ts'

describe('rules', () => {
  test('are evaluated in their order: the first that matches decides', () => {
    const access = stage('{deny, all, publish, ["a/b"]}. {allow, all, publish, ["a/#"]}. {deny, all}.')
    assert.equal(publishes(access, someone, 'a/b'), 'deny')
    assert.equal(publishes(access, someone, 'a/c'), 'allow')
    assert.equal(publishes(access, someone, 'b'), 'deny')
    assert.equal(subscribes(access, someone, 'a/c'), 'deny')
  })

  test('that do not match leave the decision to no_match', () => {
    assert.equal(publishes(stage('{allow, all, publish, ["a"]}.'), someone, 'b'), 'deny')
    assert.equal(publishes(stage('{allow, all, publish, ["a"]}.', { noMatch: 'allow' }), someone, 'b'), 'allow')
  })

  test('[bad-input 27] if there are none, no_match decides', () => {
    const shut = stage('% {allow, all}.')
    assert.equal(shut.rules.allowsEverything, false)
    assert.equal(publishes(shut, someone, 'a'), 'deny')
    assert.equal(subscribes(shut, someone, 'a'), 'deny')
    assert.equal(receives(shut, someone, 'a'), false)
    assert.equal(stage('', { noMatch: 'allow' }).rules.allowsEverything, true)
  })

  test('end the connection if deny_action is set so', () => {
    const access = stage('{allow, all, publish, ["a"]}.', { denyAction: 'disconnect' })
    assert.equal(publishes(access, someone, 'b'), 'disconnect')
    assert.equal(subscribes(access, someone, 'b'), 'disconnect')
    assert.equal(publishes(access, someone, 'a'), 'allow')
  })

  test('do not apply to a superuser', () => {
    const access = stage('{deny, all}.')
    assert.equal(publishes(access, client('root', { isSuperuser: true }), 'a'), 'allow')
    assert.ok(receives(access, client('root', { isSuperuser: true }), 'a'))
  })

  test('apply to user names, client IDs and addresses, and to combinations of them', () => {
    const access = stage(`
      {allow, {user, "u"}, publish, ["user"]}. {allow, {client, "c"}, publish, ["client"]}.
      {allow, {ipaddr, "10.0.0.0/8"}, publish, ["net"]}. {allow, {ipaddrs, ["10.0.0.1", "::1"]}, publish, ["host"]}.
      {allow, {'and', [{user, "u"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["both"]}.
      {allow, {'or', [{user, "u"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["either"]}.`)
    const topics = ['user', 'client', 'net', 'host', 'both', 'either']
    const allowedTo = (who: Identity): string[] => topics.filter((name) => publishes(access, who, name) === 'allow')
    assert.deepEqual(allowedTo(client('x', { username: 'u' })), ['user', 'either'])
    assert.deepEqual(allowedTo(client('c')), ['client'])
    assert.deepEqual(allowedTo(client('x', { peerAddress: '::ffff:10.0.0.1' })), ['net', 'host', 'either'])
    assert.deepEqual(allowedTo(client('c', { username: 'u', peerAddress: '10.9.9.9' })), [
      'user',
      'client',
      'net',
      'both',
      'either',
    ])
    assert.deepEqual(allowedTo(client('x', { peerAddress: '' })), [])
  })

  test('report which of them decided', () => {
    const access = stage('{allow, all, publish, ["a"]}.\n{deny, {user, "u"}, publish, ["b/#"]}.')
    const why = (who: Identity, name: string): unknown => access.rules.explain(who, 'publish', name)
    const user = client('c', { username: 'u' })
    assert.deepEqual(why(user, 'b/c'), {
      allows: false,
      because: 'configured-rule',
      rule: '{deny, {user, "u"}, publish, ["b/#"]}.',
      place: 'acl.conf:2',
    })
    assert.deepEqual(why(someone, 'b/c'), { allows: false, because: 'no-match', rule: undefined, place: undefined })
    assert.equal(access.rules.explain(client('c', { isSuperuser: true }), 'publish', 'x')?.because, 'superuser')
  })
})

describe('a subscription', () => {
  test('is allowed only by a rule that covers all topics that it can match', () => {
    const access = stage('{allow, all, subscribe, ["a/+", "b/#"]}.')
    for (const filter of ['a/x', 'a/+', 'b', 'b/#', 'b/+/c', 'b/c/#'])
      assert.equal(subscribes(access, someone, filter), 'allow', filter)
    for (const filter of ['a/#', '#', '+/x', '+/+', 'a', 'a/+/#', 'c'])
      assert.equal(subscribes(access, someone, filter), 'deny', filter)
  })

  test('[bad-input 25] that is broad does not deliver topics that a narrow rule denies', () => {
    const access = stage('{deny, all, subscribe, ["a/secret/#"]}. {allow, all, subscribe, ["a/#"]}.')
    assert.equal(subscribes(access, someone, 'a/#'), 'allow')
    assert.equal(subscribes(access, someone, 'a/secret/+'), 'deny')
    assert.equal(receives(access, someone, 'a/open'), true)
    assert.equal(receives(access, someone, 'a/secret'), false)
    assert.equal(receives(access, someone, 'a/secret/x'), false)
  })

  test('[bad-input 26] to topics that begin with $ is denied by a rule with a leading wildcard, and never allowed by it', () => {
    const open = stage('{allow, all, pubsub, ["#"]}.')
    assert.equal(subscribes(open, someone, '#'), 'allow')
    assert.equal(subscribes(open, someone, '$SYS/#'), 'deny')
    assert.equal(receives(open, someone, '$SYS/x'), false)
    const shut = stage('{deny, all, pubsub, ["#"]}. {deny, all, pubsub, ["+/x"]}.', { noMatch: 'allow' })
    assert.equal(subscribes(shut, someone, '$SYS/#'), 'deny')
    assert.equal(publishes(shut, someone, '$MQTT/x'), 'deny')
    assert.equal(receives(shut, someone, '$internal/x'), false)
  })

  test('to a literal filter is compared unchanged', () => {
    const access = stage('{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}. {allow, all}.')
    assert.equal(subscribes(access, someone, '#'), 'deny')
    assert.equal(subscribes(access, someone, '+/#'), 'allow')
    assert.equal(receives(access, someone, 'a'), true)
    const placeholder = stage('{allow, all, publish, ["@a/${clientid}"]}.')
    assert.equal(publishes(placeholder, someone, 'a/c1'), 'deny')
    assert.equal(publishes(placeholder, someone, 'a/${clientid}'), 'allow')
  })

  test('whose filter an eq rule allows receives all topics of the filter, except topics that an earlier rule denies', () => {
    const access = stage('{deny, all, subscribe, ["a/secret"]}. {allow, all, subscribe, ["@a/+"]}.')
    assert.equal(subscribes(access, someone, 'a/+'), 'allow')
    assert.equal(subscribes(access, someone, 'a/x'), 'deny')
    assert.equal(receives(access, someone, 'a/x'), true)
    assert.equal(receives(access, someone, 'a/secret'), false)
    assert.equal(receives(access, someone, 'b'), false)
  })
})

describe('a placeholder', () => {
  const acl =
    '{allow, all, publish, ["early"]}. {allow, all, pubsub, ["clients/${clientid}/#", "users/%u", "x-${clientid}-y"]}. {allow, all}.'
  const good = client('c1', { username: 'u1' })

  test('is replaced by the name of the client', () => {
    const access = stage(acl.replace(' {allow, all}.', ''))
    assert.equal(publishes(access, good, 'clients/c1/a'), 'allow')
    assert.equal(publishes(access, good, 'clients/c2/a'), 'deny')
    assert.equal(publishes(access, good, 'users/u1'), 'allow')
    assert.equal(publishes(access, good, 'x-c1-y'), 'allow')
    assert.equal(subscribes(access, good, 'clients/c1/#'), 'allow')
    assert.equal(subscribes(access, good, 'clients/+/#'), 'deny')
    assert.equal(receives(access, good, 'clients/c1/deep/er'), true)
  })

  const bad = ['#', '+', 'a/b', 'a+', 'a#', '/', '', '$SYS']
  for (const name of bad) {
    test(`[bad-input 23] whose value is ${JSON.stringify(name)} denies every action that reaches its rule`, () => {
      const access = stage(acl)
      for (const who of [client(name, { username: 'u1' }), client('c1', { username: name })]) {
        for (const wanted of ['clients/x/a', `clients/${name}/a`, 'users/x', 'anything', 'clients/+/a']) {
          assert.equal(publishes(access, who, wanted), 'deny', wanted)
          assert.equal(subscribes(access, who, wanted), 'deny', wanted)
          assert.equal(receives(access, who, wanted), false, wanted)
        }
        assert.equal(publishes(access, who, 'early'), 'allow')
        assert.equal(access.rules.explain(who, 'publish', 'b')?.because, 'unusable-placeholder')
      }
    })
  }

  test('for a user name denies clients without a user name too', () => {
    assert.equal(publishes(stage(acl), client('c1'), 'anything'), 'deny')
  })
})

describe('stored rules', () => {
  test('for one client are evaluated from the oldest, whatever their names are and in whichever order they arrived', () => {
    const older = record({ topic: 'b/#', permit: 'deny', createdAtMs: 5 })
    const newer = record({ topic: 'b/+', permit: 'allow', createdAtMs: 9 })
    for (const records of [
      [older, newer],
      [newer, older],
    ]) {
      assert.equal(publishes(stage('', {}, records), someone, 'b/c'), 'deny')
      const exchanged = records.map((one) => ({ ...one, createdAtMs: 14 - one.createdAtMs }))
      assert.equal(publishes(stage('', {}, exchanged), someone, 'b/c'), 'allow')
    }
  })

  test('with the same time are evaluated in the same order on every shard, in whichever order they arrived', () => {
    const records = [record({ topic: 'b/#', permit: 'deny' }), record({ topic: 'b/+', permit: 'allow' })]
    const decisions = [records, records.toReversed()].map((come) => publishes(stage('', {}, come), someone, 'b/c'))
    assert.deepEqual(decisions, ['deny', 'deny'])
  })

  test('come before those of the configuration: client ID, user name, all clients, each the oldest first', () => {
    const records = [
      record({ topic: 'a', permit: 'deny', createdAtMs: 5 }),
      record({ about: 'username', who: 'u', topic: 'a', permit: 'allow', createdAtMs: 9 }),
      record({ about: 'clientid', who: 'c', topic: 'a', permit: 'deny', createdAtMs: 9 }),
      record({ about: 'clientid', who: 'c', topic: '+', permit: 'allow', createdAtMs: 8, action: 'publish' }),
    ]
    const access = stage('{allow, all}.', {}, records)
    assert.equal(publishes(access, client('x'), 'a'), 'deny')
    assert.equal(publishes(access, client('x', { username: 'u' }), 'a'), 'allow')
    assert.equal(publishes(access, client('c', { username: 'u' }), 'a'), 'allow')
    assert.equal(subscribes(access, client('c', { username: 'u' }), 'a'), 'deny')
    assert.equal(publishes(access, client('x'), 'b'), 'allow')
    const found = access.rules.explain(client('x', { username: 'u' }), 'publish', 'a')
    assert.deepEqual([found?.because, found?.rule], ['stored-rule', 'allow username "u" pubsub "a"'])
  })

  test('[bad-input 24] apply at once when they are added and deleted, and the epoch changes', () => {
    const access = stage('{allow, all}.')
    assert.equal(publishes(access, someone, 'a'), 'allow')
    const before = access.rules.epoch
    const rule = record({ about: 'clientid', who: 'c1', topic: 'a', permit: 'deny' })
    assert.equal(access.rules.applyRecords({ put: [rule], delete: [] }), true)
    assert.ok(access.rules.epoch > before)
    assert.equal(publishes(access, someone, 'a'), 'deny')
    assert.equal(receives(access, someone, 'a'), false)
    access.rules.applyRecords({ put: [], delete: [rule] })
    assert.equal(publishes(access, someone, 'a'), 'allow')
  })

  test('enable authorization if it was not needed before', () => {
    const access = stage('', { noMatch: 'allow' })
    assert.equal(access.rules.allowsEverything, true)
    access.rules.applyRecords({ put: [record({ permit: 'deny' })], delete: [] })
    assert.equal(access.rules.allowsEverything, false)
    access.rules.applyRecords({ put: [], delete: [record({})] })
    assert.equal(access.rules.allowsEverything, true)
  })
})

describe('settings', () => {
  test('[bad-input 24] that change the rules change the permissions of connected clients', () => {
    const access = stage('{allow, all}.')
    assert.equal(publishes(access, someone, 'a'), 'allow')
    const before = access.rules.epoch
    access.rules.changeSettings({
      ...defaultRuleSettings,
      noMatch: 'deny',
      rules: rulesOf('{deny, all, publish, ["a"]}.'),
    })
    assert.ok(access.rules.epoch > before)
    assert.equal(publishes(access, someone, 'a'), 'deny')
  })
})

const tokenIdentity = (claim: unknown): Identity => {
  const grants = parseTokenGrants(claim)
  assert.ok(grants !== undefined, 'the rules of the claim are valid')
  return client('c1', { username: 'u1', grants })
}

describe('the rules of a token', () => {
  test('allow only the listed actions, whatever the other rules are', () => {
    const access = stage('{allow, all}.', { hasTokens: true })
    const who = tokenIdentity({ pub: ['a/${clientid}'], sub: ['b/#', 'eq c/+'], all: ['d/%u'] })
    assert.equal(publishes(access, who, 'a/c1'), 'allow')
    assert.equal(publishes(access, who, 'a/c2'), 'deny')
    assert.equal(publishes(access, who, 'b/x'), 'deny')
    assert.equal(subscribes(access, who, 'b/+'), 'allow')
    assert.equal(subscribes(access, who, 'c/+'), 'allow')
    assert.equal(subscribes(access, who, 'c/x'), 'deny')
    assert.equal(publishes(access, who, 'd/u1'), 'allow')
    assert.equal(access.rules.explain(who, 'publish', 'z')?.because, 'token')
  })

  test('may deny, too: the first that matches decides', () => {
    const access = stage('{deny, all}.', { hasTokens: true })
    const who = tokenIdentity([
      { permission: 'deny', action: 'publish', topic: 'a/b' },
      { permission: 'allow', action: 'all', topic: 'a/#' },
    ])
    assert.equal(publishes(access, who, 'a/b'), 'deny')
    assert.equal(subscribes(access, who, 'a/#'), 'allow')
  })

  test('that are invalid make the token invalid', () => {
    const claims = [
      undefined,
      null,
      'a',
      { pub: 'a' },
      { publish: ['a'] },
      { pub: [1] },
      { pub: ['a/#/b'] },
      { pub: Array.from({ length: 1_001 }, () => 'a') },
      [{ permission: 'allow', topic: 'a', qos: [0] }],
      [{ permission: 'maybe', topic: 'a' }],
      [{ permission: 'allow', action: 'read', topic: 'a' }],
      [null],
    ]
    for (const claim of claims) assert.equal(parseTokenGrants(claim), undefined, JSON.stringify(claim))
  })
})

describe('an access service', () => {
  const withService = { usesService: true, noMatch: 'allow' } as const

  test('gets a request only if no rule matches, and its response is cached for its time to live', () => {
    const access = stage('{deny, all, publish, ["a"]}.', { ...withService, decisionTtlMs: 10_000 })
    assert.equal(access.rules.isUncacheable, true)
    assert.equal(publishes(access, someone, 'a'), 'deny')
    assert.equal(publishes(access, someone, 'b'), 'unknown')
    access.rules.recordResponse(someone, 'publish', 'b', 'allow')
    assert.equal(publishes(access, someone, 'b'), 'allow')
    assert.equal(subscribes(access, someone, 'b'), 'unknown')
    assert.equal(publishes(access, client('c2'), 'b'), 'unknown')
    access.time += 9_999
    assert.equal(publishes(access, someone, 'b'), 'allow')
    access.time += 1
    assert.equal(publishes(access, someone, 'b'), 'unknown')
  })

  test('[bad-input 29] that fails denies, unless the profile ignores failed services', () => {
    for (const [deniesOnError, expected] of [
      [true, 'deny'],
      [false, 'allow'],
    ] as const) {
      const access = stage('', { ...withService, deniesOnError })
      access.rules.recordResponse(someone, 'publish', 'a', 'failed')
      assert.equal(publishes(access, someone, 'a'), expected)
      access.time += 1_000
      assert.equal(publishes(access, someone, 'a'), 'unknown', 'after 1 s, the service is requested again')
    }
  })

  test('has a limited number of cached decisions per client', () => {
    const access = stage('', { ...withService, maxDecisions: 3 })
    for (let index = 0; index < 10; index++) {
      access.time += 2_000
      access.rules.recordResponse(someone, 'publish', `t/${index}`, 'allow')
    }
    const known = Array.from({ length: 10 }, (_, index) => `t/${index}`).filter(
      (name) => publishes(access, someone, name) === 'allow',
    )
    assert.deepEqual(known, ['t/7', 't/8', 't/9'])
  })

  test('keeps the decision of the last request, however small the cache is', () => {
    const access = stage('', { ...withService, maxDecisions: 0, decisionTtlMs: 0 })
    for (let index = 0; index < 100; index++) access.rules.recordResponse(someone, 'subscribe', `t/${index}`, 'allow')
    for (let index = 0; index < 100; index++) assert.equal(subscribes(access, someone, `t/${index}`), 'allow')
  })

  test('gets a request again after a change of settings: it may be another service', () => {
    const access = stage('', withService)
    access.rules.recordResponse(someone, 'subscribe', 'a', 'allow')
    assert.equal(subscribes(access, someone, 'a'), 'allow')
    access.rules.changeSettings({ ...defaultRuleSettings, ...withService })
    assert.equal(subscribes(access, someone, 'a'), 'unknown')
  })

  test('gets no request at delivery', () => {
    const access = stage('{deny, all, subscribe, ["a/secret"]}.', withService)
    assert.equal(receives(access, someone, 'a/b'), true)
    assert.equal(receives(access, someone, 'a/secret'), false)
  })
})

const remains = ({ rules }: Stage, clientId: string, name: string): boolean =>
  rules.canRetain({ clientId, username: undefined }, topic(name))

describe('a retained message', () => {
  test('[bad-input 24] of a publisher that may no longer publish it is not delivered', () => {
    const access = stage('{allow, {client, "good"}, publish, ["a/#"]}.')
    assert.equal(remains(access, 'good', 'a/b'), true)
    assert.equal(remains(access, 'bad', 'a/b'), false)
    access.rules.applyRecords({
      put: [record({ about: 'clientid', who: 'good', topic: 'a/b', permit: 'deny' })],
      delete: [],
    })
    assert.equal(remains(access, 'good', 'a/b'), false)
  })

  test('that a service may have allowed stays if no rule matches', () => {
    const access = stage('{deny, {client, "bad"}, publish, ["a/#"]}.', { usesService: true })
    assert.deepEqual([remains(access, 'good', 'a/b'), remains(access, 'bad', 'a/b')], [true, false])
  })

  test('of a publisher that is allowed by its address stays while clients of some address are allowed', () => {
    const everybodyElse = '{allow, all, subscribe, ["#"]}. {deny, all}.'
    for (const who of [
      '{ipaddr, "10.0.0.0/8"}',
      '{\'and\', [{client, "good"}, {ipaddr, "10.0.0.0/8"}]}',
      '{\'or\', [{user, "x"}, {ipaddrs, ["10.0.0.1", "::1"]}]}',
    ]) {
      const access = stage(`{allow, ${who}, publish, ["a/#"]}. ${everybodyElse}`)
      assert.deepEqual([remains(access, 'good', 'a/b'), remains(access, 'good', 'b')], [true, false], who)
      access.rules.changeSettings({ ...defaultRuleSettings, noMatch: 'deny', rules: rulesOf(everybodyElse) })
      assert.equal(remains(access, 'good', 'a/b'), false, who)
    }
    const named = stage(`{allow, {'and', [{client, "good"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["a/#"]}. {deny, all}.`)
    assert.equal(remains(named, 'bad', 'a/b'), false)
  })

  test('of a publisher from a denied address stays: it may have come from another address', () => {
    const access = stage('{deny, {ipaddr, "192.0.2.0/24"}, publish, ["a/#"]}. {allow, all}.')
    assert.equal(remains(access, 'good', 'a/b'), true)
  })

  test('is checked without the address of its publisher: an allow rule with an address matches, a deny rule with an address does not', () => {
    const [allow, deny] = ['allow', 'deny'].map((what) => `{${what}, {ipaddr, "10.0.0.0/8"}, publish, ["${what}/#"]}.`)
    for (const acl of [`${allow} ${deny}`, `${deny} ${allow}`]) {
      const access = stage(acl, { noMatch: 'deny' })
      assert.deepEqual([remains(access, 'good', 'allow/a'), remains(access, 'good', 'deny/a')], [true, false])
      const open = stage(acl, { noMatch: 'allow' })
      assert.deepEqual([remains(open, 'good', 'allow/a'), remains(open, 'good', 'deny/a')], [true, true])
    }
  })

  test('that no client published stays', () => {
    assert.equal(remains(stage('{deny, all}.'), '', 'a'), true)
  })
})

describe('a session whose client is disconnected', () => {
  test('is not denied in advance: the permission is checked when the message is delivered', () => {
    const access = stage('{deny, all}.')
    assert.equal(receives(access, client('c1', { peerAddress: '' }), 'a'), true)
  })
})
