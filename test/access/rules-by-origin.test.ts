// Rules for clients of namespaces, and for the bridges of this broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { client, publishes, receives, record, someone, stage, subscribes, topic } from './rule-stage.ts'

describe('rules of a namespace', () => {
  const deny = record({ namespace: 'plant', permit: 'deny', topic: 'lamp' })
  const inside = client('c1', { namespace: 'plant' })

  test('apply to its clients, and are evaluated before those without a listener', () => {
    const access = stage('', { noMatch: 'allow' }, [deny, record({ topic: 'lamp' })])
    assert.equal(publishes(access, inside, 'lamp'), 'deny')
    assert.equal(publishes(access, someone, 'lamp'), 'allow')
    assert.equal(publishes(access, client('c1', { namespace: 'shop' }), 'lamp'), 'allow')
    access.rules.applyRecords({ put: [], delete: [{ ...deny }] })
    assert.equal(publishes(access, inside, 'lamp'), 'allow')
  })

  test('apply to publications of its clients after their disconnect: publishers are stored with their namespace', () => {
    const access = stage('', { noMatch: 'allow' }, [deny])
    assert.equal(access.rules.canRetain({ clientId: 'plant\0c1', username: undefined }, topic('lamp')), false)
    const whole = topic('$ns/plant/lamp')
    assert.equal(access.rules.canRetain({ clientId: 'plant\0c1', username: undefined }, whole), false)
    assert.equal(access.rules.canRetain({ clientId: 'c1', username: undefined }, topic('lamp')), true)
  })

  test('if there are namespaces, their topics are denied to clients without one, whatever the rules are', () => {
    const access = stage('{allow, all}.', { hasNamespaces: true })
    assert.equal(publishes(access, someone, '$ns/plant/lamp'), 'deny')
    assert.equal(subscribes(access, someone, '$ns/#'), 'deny')
    assert.equal(receives(access, someone, '$ns/plant/lamp'), false)
    assert.equal(publishes(access, inside, '$ns/plant/lamp'), 'allow')
    assert.equal(subscribes(access, inside, '$SYS/#'), 'deny')
    assert.equal(access.rules.explain(inside, 'subscribe', '$SYS/#')?.because, 'namespace')
    assert.equal(publishes(access, client('c2', { isSuperuser: true }), '$ns/plant/lamp'), 'allow')
    assert.equal(publishes(access, client('$bridge/up'), '$ns/plant/lamp'), 'allow')
  })
})

describe('the bridges of this broker', () => {
  const bridge = client('$bridge/plant')

  test('may publish as their own rules allow, whatever the rules for all clients are', () => {
    const access = stage('{deny, all}.', {}, [record({ permit: 'deny' })])
    assert.deepEqual([publishes(access, bridge, 'a'), subscribes(access, bridge, 'a/#')], ['allow', 'allow'])
    assert.equal(receives(access, bridge, 'a/b'), true)
    const publisher = { clientId: bridge.clientId, username: undefined }
    assert.equal(access.rules.canRetain(publisher, topic('a')), true)
    assert.equal(access.rules.explain(bridge, 'publish', 'a')?.because, 'bridge')
  })

  test('cause no request to a service', () => {
    assert.equal(publishes(stage('', { usesService: true }), bridge, 'a'), 'allow')
  })

  test('may use the filters that store their state, whatever the rules with their names deny', () => {
    const rules = '{allow, {client, "$bridge/plant"}, all, ["out/#"]}. {deny, {client, "$bridge/plant"}, all}.'
    const access = stage(rules, { denyAction: 'disconnect' })
    assert.equal(subscribes(access, bridge, '$bridge/joined/dGhlcmU'), 'allow')
    assert.equal(
      subscribes(access, client('somebody'), '$bridge/joined/dGhlcmU'),
      'disconnect',
      'another client has no permission',
    )
    assert.equal(receives(access, bridge, '$bridge/joined/dGhlcmU'), false)
    assert.equal(subscribes(access, bridge, 'other/#'), 'deny')
  })

  test('are not disconnected for a message that they may not publish: it would be redelivered endlessly', () => {
    const rules =
      '{deny, {client, "$bridge/plant"}, publish, ["secret/#"]}. {deny, {client, "c"}, publish, ["secret/#"]}.'
    const access = stage(rules, { denyAction: 'disconnect' })
    assert.equal(publishes(access, bridge, 'secret/a'), 'deny')
    assert.equal(publishes(access, client('c'), 'secret/a'), 'disconnect')
  })

  test('are subject to the rules with their names', () => {
    const named = { about: 'clientid', who: bridge.clientId } as const
    const stored = stage('', {}, [record({ ...named, permit: 'deny', topic: 'secret/#' })])
    assert.deepEqual([publishes(stored, bridge, 'secret/a'), publishes(stored, bridge, 'a')], ['deny', 'allow'])
    const configured = stage('{deny, {client, "$bridge/plant"}, publish, ["secret/#"]}.')
    assert.deepEqual([publishes(configured, bridge, 'secret/a'), publishes(configured, bridge, 'a')], ['deny', 'allow'])
  })
})
