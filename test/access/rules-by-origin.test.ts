// Rules for clients of namespaces, and for the bridges of this broker.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { client, publishes, receives, record, someone, stage, subscribes, topic } from './rule-stage.ts'

describe('rules of a namespace', () => {
  const deny = record({ namespace: 'plant', permit: 'deny', topic: 'lamp' })
  const inside = client('c1', { namespace: 'plant' })

  test('apply to its clients, and are evaluated before those without a listener', () => {
    const world = stage('', { noMatch: 'allow' }, [deny, record({ topic: 'lamp' })])
    assert.equal(publishes(world, inside, 'lamp'), 'deny')
    assert.equal(publishes(world, someone, 'lamp'), 'allow')
    assert.equal(publishes(world, client('c1', { namespace: 'shop' }), 'lamp'), 'allow')
    world.rules.applyRecords({ put: [], delete: [{ ...deny }] })
    assert.equal(publishes(world, inside, 'lamp'), 'allow')
  })

  test('apply to publications of its clients after their disconnect: publishers are stored with their namespace', () => {
    const world = stage('', { noMatch: 'allow' }, [deny])
    assert.equal(world.rules.canRetain({ clientId: 'plant\0c1', username: undefined }, topic('lamp')), false)
    const whole = topic('$ns/plant/lamp')
    assert.equal(world.rules.canRetain({ clientId: 'plant\0c1', username: undefined }, whole), false)
    assert.equal(world.rules.canRetain({ clientId: 'c1', username: undefined }, topic('lamp')), true)
  })

  test('if there are namespaces, their topics are denied to clients without one, whatever the rules are', () => {
    const world = stage('{allow, all}.', { hasNamespaces: true })
    assert.equal(publishes(world, someone, '$ns/plant/lamp'), 'deny')
    assert.equal(subscribes(world, someone, '$ns/#'), 'deny')
    assert.equal(receives(world, someone, '$ns/plant/lamp'), false)
    assert.equal(publishes(world, inside, '$ns/plant/lamp'), 'allow')
    assert.equal(subscribes(world, inside, '$SYS/#'), 'deny')
    assert.equal(world.rules.explain(inside, 'subscribe', '$SYS/#')?.because, 'namespace')
    assert.equal(publishes(world, client('c2', { isSuperuser: true }), '$ns/plant/lamp'), 'allow')
    assert.equal(publishes(world, client('$bridge/up'), '$ns/plant/lamp'), 'allow')
  })
})

describe('the bridges of this broker', () => {
  const bridge = client('$bridge/plant')

  test('may publish as their own rules allow, whatever the rules for all clients are', () => {
    const world = stage('{deny, all}.', {}, [record({ permit: 'deny' })])
    assert.deepEqual([publishes(world, bridge, 'a'), subscribes(world, bridge, 'a/#')], ['allow', 'allow'])
    assert.equal(receives(world, bridge, 'a/b'), true)
    const publisher = { clientId: bridge.clientId, username: undefined }
    assert.equal(world.rules.canRetain(publisher, topic('a')), true)
    assert.equal(world.rules.explain(bridge, 'publish', 'a')?.because, 'bridge')
  })

  test('cause no request to a service', () => {
    assert.equal(publishes(stage('', { usesService: true }), bridge, 'a'), 'allow')
  })

  test('may use the filters that store their state, whatever the rules with their names deny', () => {
    const rules = '{allow, {client, "$bridge/plant"}, all, ["out/#"]}. {deny, {client, "$bridge/plant"}, all}.'
    const world = stage(rules, { denyAction: 'disconnect' })
    assert.equal(subscribes(world, bridge, '$bridge/joined/dGhlcmU'), 'allow')
    assert.equal(
      subscribes(world, client('somebody'), '$bridge/joined/dGhlcmU'),
      'disconnect',
      'another client has no permission',
    )
    assert.equal(receives(world, bridge, '$bridge/joined/dGhlcmU'), false)
    assert.equal(subscribes(world, bridge, 'other/#'), 'deny')
  })

  test('are not disconnected for a message that they may not publish: it would be redelivered endlessly', () => {
    const rules =
      '{deny, {client, "$bridge/plant"}, publish, ["secret/#"]}. {deny, {client, "c"}, publish, ["secret/#"]}.'
    const world = stage(rules, { denyAction: 'disconnect' })
    assert.equal(publishes(world, bridge, 'secret/a'), 'deny')
    assert.equal(publishes(world, client('c'), 'secret/a'), 'disconnect')
  })

  test('are subject to the rules with their names', () => {
    const named = { about: 'clientid', who: bridge.clientId } as const
    const stored = stage('', {}, [record({ ...named, permit: 'deny', topic: 'secret/#' })])
    assert.deepEqual([publishes(stored, bridge, 'secret/a'), publishes(stored, bridge, 'a')], ['deny', 'allow'])
    const configured = stage('{deny, {client, "$bridge/plant"}, publish, ["secret/#"]}.')
    assert.deepEqual([publishes(configured, bridge, 'secret/a'), publishes(configured, bridge, 'a')], ['deny', 'allow'])
  })
})
