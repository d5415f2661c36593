// Actions that rules allow and deny.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Identity } from '../../src/core/index.ts'
import { defaultRuleSettings } from '../../src/access/rules/access-rules.ts'
import { tokenGrants } from '../../src/access/rules/token-grants.ts'
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
    const world = stage('{deny, all, publish, ["a/b"]}. {allow, all, publish, ["a/#"]}. {deny, all}.')
    assert.equal(publishes(world, someone, 'a/b'), 'deny')
    assert.equal(publishes(world, someone, 'a/c'), 'allow')
    assert.equal(publishes(world, someone, 'b'), 'deny')
    assert.equal(subscribes(world, someone, 'a/c'), 'deny')
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
    const world = stage('{allow, all, publish, ["a"]}.', { denyAction: 'disconnect' })
    assert.equal(publishes(world, someone, 'b'), 'disconnect')
    assert.equal(subscribes(world, someone, 'b'), 'disconnect')
    assert.equal(publishes(world, someone, 'a'), 'allow')
  })

  test('do not apply to a superuser', () => {
    const world = stage('{deny, all}.')
    assert.equal(publishes(world, client('root', { isSuperuser: true }), 'a'), 'allow')
    assert.ok(receives(world, client('root', { isSuperuser: true }), 'a'))
  })

  test('apply to user names, client IDs and addresses, and to combinations of them', () => {
    const world = stage(`
      {allow, {user, "u"}, publish, ["user"]}. {allow, {client, "c"}, publish, ["client"]}.
      {allow, {ipaddr, "10.0.0.0/8"}, publish, ["net"]}. {allow, {ipaddrs, ["10.0.0.1", "::1"]}, publish, ["host"]}.
      {allow, {'and', [{user, "u"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["both"]}.
      {allow, {'or', [{user, "u"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["either"]}.`)
    const topics = ['user', 'client', 'net', 'host', 'both', 'either']
    const allowedTo = (who: Identity): string[] => topics.filter((name) => publishes(world, who, name) === 'allow')
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
    const world = stage('{allow, all, publish, ["a"]}.\n{deny, {user, "u"}, publish, ["b/#"]}.')
    const why = (who: Identity, name: string): unknown => world.rules.explain(who, 'publish', name)
    const user = client('c', { username: 'u' })
    assert.deepEqual(why(user, 'b/c'), {
      allows: false,
      because: 'configured-rule',
      rule: '{deny, {user, "u"}, publish, ["b/#"]}.',
      place: 'acl.conf:2',
    })
    assert.deepEqual(why(someone, 'b/c'), { allows: false, because: 'no-match', rule: undefined, place: undefined })
    assert.equal(world.rules.explain(client('c', { isSuperuser: true }), 'publish', 'x')?.because, 'superuser')
  })
})

describe('a subscription', () => {
  test('is allowed only by a rule that covers all topics that it can match', () => {
    const world = stage('{allow, all, subscribe, ["a/+", "b/#"]}.')
    for (const filter of ['a/x', 'a/+', 'b', 'b/#', 'b/+/c', 'b/c/#'])
      assert.equal(subscribes(world, someone, filter), 'allow', filter)
    for (const filter of ['a/#', '#', '+/x', '+/+', 'a', 'a/+/#', 'c'])
      assert.equal(subscribes(world, someone, filter), 'deny', filter)
  })

  test('[bad-input 25] that is broad does not deliver topics that a narrow rule denies', () => {
    const world = stage('{deny, all, subscribe, ["a/secret/#"]}. {allow, all, subscribe, ["a/#"]}.')
    assert.equal(subscribes(world, someone, 'a/#'), 'allow')
    assert.equal(subscribes(world, someone, 'a/secret/+'), 'deny')
    assert.equal(receives(world, someone, 'a/open'), true)
    assert.equal(receives(world, someone, 'a/secret'), false)
    assert.equal(receives(world, someone, 'a/secret/x'), false)
  })

  test('[bad-input 26] is not allowed to topics with $ by a rule with a leading wildcard, but is denied by one', () => {
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
    const world = stage('{deny, all, subscribe, ["$SYS/#", {eq, "#"}]}. {allow, all}.')
    assert.equal(subscribes(world, someone, '#'), 'deny')
    assert.equal(subscribes(world, someone, '+/#'), 'allow')
    assert.equal(receives(world, someone, 'a'), true)
    const placeholder = stage('{allow, all, publish, ["@a/${clientid}"]}.')
    assert.equal(publishes(placeholder, someone, 'a/c1'), 'deny')
    assert.equal(publishes(placeholder, someone, 'a/${clientid}'), 'allow')
  })

  test('that is allowed literally gets all its topics, and an earlier denial applies', () => {
    const world = stage('{deny, all, subscribe, ["a/secret"]}. {allow, all, subscribe, ["@a/+"]}.')
    assert.equal(subscribes(world, someone, 'a/+'), 'allow')
    assert.equal(subscribes(world, someone, 'a/x'), 'deny')
    assert.equal(receives(world, someone, 'a/x'), true)
    assert.equal(receives(world, someone, 'a/secret'), false)
    assert.equal(receives(world, someone, 'b'), false)
  })
})

describe('a placeholder', () => {
  const acl =
    '{allow, all, publish, ["early"]}. {allow, all, pubsub, ["clients/${clientid}/#", "users/%u", "x-${clientid}-y"]}. {allow, all}.'
  const good = client('c1', { username: 'u1' })

  test('is replaced by the name of the client', () => {
    const world = stage(acl.replace(' {allow, all}.', ''))
    assert.equal(publishes(world, good, 'clients/c1/a'), 'allow')
    assert.equal(publishes(world, good, 'clients/c2/a'), 'deny')
    assert.equal(publishes(world, good, 'users/u1'), 'allow')
    assert.equal(publishes(world, good, 'x-c1-y'), 'allow')
    assert.equal(subscribes(world, good, 'clients/c1/#'), 'allow')
    assert.equal(subscribes(world, good, 'clients/+/#'), 'deny')
    assert.equal(receives(world, good, 'clients/c1/deep/er'), true)
  })

  const bad = ['#', '+', 'a/b', 'a+', 'a#', '/', '', '$SYS']
  for (const name of bad) {
    test(`[bad-input 23] whose value is ${JSON.stringify(name)} denies every action that reaches its rule`, () => {
      const world = stage(acl)
      for (const who of [client(name, { username: 'u1' }), client('c1', { username: name })]) {
        for (const wanted of ['clients/x/a', `clients/${name}/a`, 'users/x', 'anything', 'clients/+/a']) {
          assert.equal(publishes(world, who, wanted), 'deny', wanted)
          assert.equal(subscribes(world, who, wanted), 'deny', wanted)
          assert.equal(receives(world, who, wanted), false, wanted)
        }
        assert.equal(publishes(world, who, 'early'), 'allow')
        assert.equal(world.rules.explain(who, 'publish', 'b')?.because, 'unusable-placeholder')
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
    const world = stage('{allow, all}.', {}, records)
    assert.equal(publishes(world, client('x'), 'a'), 'deny')
    assert.equal(publishes(world, client('x', { username: 'u' }), 'a'), 'allow')
    assert.equal(publishes(world, client('c', { username: 'u' }), 'a'), 'allow')
    assert.equal(subscribes(world, client('c', { username: 'u' }), 'a'), 'deny')
    assert.equal(publishes(world, client('x'), 'b'), 'allow')
    const found = world.rules.explain(client('x', { username: 'u' }), 'publish', 'a')
    assert.deepEqual([found?.because, found?.rule], ['stored-rule', 'allow username "u" pubsub "a"'])
  })

  test('[bad-input 24] apply at once when they are added and deleted, and the epoch changes', () => {
    const world = stage('{allow, all}.')
    assert.equal(publishes(world, someone, 'a'), 'allow')
    const before = world.rules.epoch
    const rule = record({ about: 'clientid', who: 'c1', topic: 'a', permit: 'deny' })
    assert.equal(world.rules.applyRecords({ put: [rule], delete: [] }), true)
    assert.ok(world.rules.epoch > before)
    assert.equal(publishes(world, someone, 'a'), 'deny')
    assert.equal(receives(world, someone, 'a'), false)
    world.rules.applyRecords({ put: [], delete: [rule] })
    assert.equal(publishes(world, someone, 'a'), 'allow')
  })

  test('enable authorization if it was not needed before', () => {
    const world = stage('', { noMatch: 'allow' })
    assert.equal(world.rules.allowsEverything, true)
    world.rules.applyRecords({ put: [record({ permit: 'deny' })], delete: [] })
    assert.equal(world.rules.allowsEverything, false)
    world.rules.applyRecords({ put: [], delete: [record({})] })
    assert.equal(world.rules.allowsEverything, true)
  })
})

describe('settings', () => {
  test('[bad-input 24] that change the rules change the permissions of connected clients', () => {
    const world = stage('{allow, all}.')
    assert.equal(publishes(world, someone, 'a'), 'allow')
    const before = world.rules.epoch
    world.rules.changeSettings({
      ...defaultRuleSettings,
      noMatch: 'deny',
      rules: rulesOf('{deny, all, publish, ["a"]}.'),
    })
    assert.ok(world.rules.epoch > before)
    assert.equal(publishes(world, someone, 'a'), 'deny')
  })
})

const tokenIdentity = (claim: unknown): Identity => {
  const grants = tokenGrants(claim)
  assert.ok(grants !== undefined, 'the rules of the claim are valid')
  return client('c1', { username: 'u1', grants })
}

describe('the rules of a token', () => {
  test('allow only the listed actions, whatever the other rules are', () => {
    const world = stage('{allow, all}.', { hasTokens: true })
    const who = tokenIdentity({ pub: ['a/${clientid}'], sub: ['b/#', 'eq c/+'], all: ['d/%u'] })
    assert.equal(publishes(world, who, 'a/c1'), 'allow')
    assert.equal(publishes(world, who, 'a/c2'), 'deny')
    assert.equal(publishes(world, who, 'b/x'), 'deny')
    assert.equal(subscribes(world, who, 'b/+'), 'allow')
    assert.equal(subscribes(world, who, 'c/+'), 'allow')
    assert.equal(subscribes(world, who, 'c/x'), 'deny')
    assert.equal(publishes(world, who, 'd/u1'), 'allow')
    assert.equal(world.rules.explain(who, 'publish', 'z')?.because, 'token')
  })

  test('may deny, too: the first that matches decides', () => {
    const world = stage('{deny, all}.', { hasTokens: true })
    const who = tokenIdentity([
      { permission: 'deny', action: 'publish', topic: 'a/b' },
      { permission: 'allow', action: 'all', topic: 'a/#' },
    ])
    assert.equal(publishes(world, who, 'a/b'), 'deny')
    assert.equal(subscribes(world, who, 'a/#'), 'allow')
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
    for (const claim of claims) assert.equal(tokenGrants(claim), undefined, JSON.stringify(claim))
  })
})

describe('an access service', () => {
  const withService = { usesService: true, noMatch: 'allow' } as const

  test('gets a request only if no rule matches, and its response is cached for its time to live', () => {
    const world = stage('{deny, all, publish, ["a"]}.', { ...withService, decisionTtlMs: 10_000 })
    assert.equal(world.rules.isUncacheable, true)
    assert.equal(publishes(world, someone, 'a'), 'deny')
    assert.equal(publishes(world, someone, 'b'), 'unknown')
    world.rules.recordResponse(someone, 'publish', 'b', 'allow')
    assert.equal(publishes(world, someone, 'b'), 'allow')
    assert.equal(subscribes(world, someone, 'b'), 'unknown')
    assert.equal(publishes(world, client('c2'), 'b'), 'unknown')
    world.time += 9_999
    assert.equal(publishes(world, someone, 'b'), 'allow')
    world.time += 1
    assert.equal(publishes(world, someone, 'b'), 'unknown')
  })

  test('[bad-input 29] that fails denies, unless the profile ignores failed services', () => {
    for (const [deniesOnError, expected] of [
      [true, 'deny'],
      [false, 'allow'],
    ] as const) {
      const world = stage('', { ...withService, deniesOnError })
      world.rules.recordResponse(someone, 'publish', 'a', 'failed')
      assert.equal(publishes(world, someone, 'a'), expected)
      world.time += 1_000
      assert.equal(publishes(world, someone, 'a'), 'unknown', 'after 1 s, the service is requested again')
    }
  })

  test('has a limited number of cached decisions per client', () => {
    const world = stage('', { ...withService, maxDecisions: 3 })
    for (let index = 0; index < 10; index++) {
      world.time += 2_000
      world.rules.recordResponse(someone, 'publish', `t/${index}`, 'allow')
    }
    const known = Array.from({ length: 10 }, (_, index) => `t/${index}`).filter(
      (name) => publishes(world, someone, name) === 'allow',
    )
    assert.deepEqual(known, ['t/7', 't/8', 't/9'])
  })

  test('keeps the decision of the last request, however small the cache is', () => {
    const world = stage('', { ...withService, maxDecisions: 0, decisionTtlMs: 0 })
    for (let index = 0; index < 100; index++) world.rules.recordResponse(someone, 'subscribe', `t/${index}`, 'allow')
    for (let index = 0; index < 100; index++) assert.equal(subscribes(world, someone, `t/${index}`), 'allow')
  })

  test('gets a request again after a change of settings: it may be another service', () => {
    const world = stage('', withService)
    world.rules.recordResponse(someone, 'subscribe', 'a', 'allow')
    assert.equal(subscribes(world, someone, 'a'), 'allow')
    world.rules.changeSettings({ ...defaultRuleSettings, ...withService })
    assert.equal(subscribes(world, someone, 'a'), 'unknown')
  })

  test('gets no request at delivery', () => {
    const world = stage('{deny, all, subscribe, ["a/secret"]}.', withService)
    assert.equal(receives(world, someone, 'a/b'), true)
    assert.equal(receives(world, someone, 'a/secret'), false)
  })
})

const remains = ({ rules }: Stage, clientId: string, name: string): boolean =>
  rules.canRetain({ clientId, username: undefined }, topic(name))

describe('a retained message', () => {
  test('[bad-input 24] of a publisher that may no longer publish it is not delivered', () => {
    const world = stage('{allow, {client, "good"}, publish, ["a/#"]}.')
    assert.equal(remains(world, 'good', 'a/b'), true)
    assert.equal(remains(world, 'bad', 'a/b'), false)
    world.rules.applyRecords({
      put: [record({ about: 'clientid', who: 'good', topic: 'a/b', permit: 'deny' })],
      delete: [],
    })
    assert.equal(remains(world, 'good', 'a/b'), false)
  })

  test('that a service may have allowed stays if no rule matches', () => {
    const world = stage('{deny, {client, "bad"}, publish, ["a/#"]}.', { usesService: true })
    assert.deepEqual([remains(world, 'good', 'a/b'), remains(world, 'bad', 'a/b')], [true, false])
  })

  test('of a publisher that is allowed by its address stays while clients of some address are allowed', () => {
    const everybodyElse = '{allow, all, subscribe, ["#"]}. {deny, all}.'
    for (const who of [
      '{ipaddr, "10.0.0.0/8"}',
      '{\'and\', [{client, "good"}, {ipaddr, "10.0.0.0/8"}]}',
      '{\'or\', [{user, "x"}, {ipaddrs, ["10.0.0.1", "::1"]}]}',
    ]) {
      const world = stage(`{allow, ${who}, publish, ["a/#"]}. ${everybodyElse}`)
      assert.deepEqual([remains(world, 'good', 'a/b'), remains(world, 'good', 'b')], [true, false], who)
      world.rules.changeSettings({ ...defaultRuleSettings, noMatch: 'deny', rules: rulesOf(everybodyElse) })
      assert.equal(remains(world, 'good', 'a/b'), false, who)
    }
    const named = stage(`{allow, {'and', [{client, "good"}, {ipaddr, "10.0.0.0/8"}]}, publish, ["a/#"]}. {deny, all}.`)
    assert.equal(remains(named, 'bad', 'a/b'), false)
  })

  test('of a publisher from a denied address stays: it may have come from another address', () => {
    const world = stage('{deny, {ipaddr, "192.0.2.0/24"}, publish, ["a/#"]}. {allow, all}.')
    assert.equal(remains(world, 'good', 'a/b'), true)
  })

  test('is decided for rules with an address: those that allow match, and those that deny do not', () => {
    const [allow, deny] = ['allow', 'deny'].map((what) => `{${what}, {ipaddr, "10.0.0.0/8"}, publish, ["${what}/#"]}.`)
    for (const acl of [`${allow} ${deny}`, `${deny} ${allow}`]) {
      const world = stage(acl, { noMatch: 'deny' })
      assert.deepEqual([remains(world, 'good', 'allow/a'), remains(world, 'good', 'deny/a')], [true, false])
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
    const world = stage('{deny, all}.')
    assert.equal(receives(world, client('c1', { peerAddress: '' }), 'a'), true)
  })
})
