// Rules with events: when they run, their columns, and that they delay no client.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { listColumns, type EventName } from '../../src/rules/index.ts'
import { eventOfTrigger, createTriggerColumns } from '../../src/actions/columns/trigger-columns.ts'
import { ruleTriggerKinds, type RuleTrigger } from '../../src/core/index.ts'
import { reasonCodes } from '../../src/protocol/index.ts'
import { plainConnect } from '../simulator/plain-connect.ts'
import { republishTo, ruleWorld, toConsole } from './rule-world.ts'

const one = { shards: 1 } as const

const refusal = () => ({ decision: { allowed: false as const, reason: reasonCodes.notAuthorized }, afterMs: 0 })

const allowsAll = {
  epoch: 1,
  allowsEverything: false,
  isUncacheable: false,
  canPublish: () => 'allow' as const,
  canSubscribe: () => 'allow' as const,
  canReceive: () => true,
  canRetain: () => true,
  canStay: () => true,
} as const

function rule(id: string, sql: string) {
  return { id, sql, actions: toConsole }
}

describe('events of clients', () => {
  test('connected, connack and disconnected, with the fields of CONNECT and DISCONNECT', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([
      rule('in', 'SELECT * FROM "$events/client_connected"'),
      rule('ack', 'SELECT clientid, reason_code FROM "$events/client/connack"'),
      rule('out', 'SELECT * FROM "$events/client/disconnected"'),
    ])
    const client = world.connect('c1', {
      username: 'u1',
      keepAliveSeconds: 30,
      cleanStart: false,
      sessionExpirySeconds: 60,
      properties: { userProperties: [['site', 'hall']] },
    })
    client.disconnect({ properties: { userProperties: [['why', 'done']] } })
    const [connected] = outputsOf('in')
    const { conn_props: properties, ...rest } = connected ?? {}
    assert.deepEqual(rest, {
      event: 'client.connected',
      timestamp: rest['timestamp'],
      node: 'godwit@test',
      metadata: { rule_id: 'in' },
      clientid: 'c1',
      username: 'u1',
      client_attrs: {},
      mountpoint: '',
      peername: rest['peername'],
      sockname: rest['sockname'],
      proto_name: 'MQTT',
      proto_ver: 5,
      keepalive: 30,
      clean_start: false,
      expiry_interval: 60,
      is_bridge: false,
      connected_at: rest['timestamp'],
    })
    assert.deepEqual((properties as Record<string, unknown>)['User-Property'], { site: 'hall' })
    assert.deepEqual(outputsOf('ack'), [{ clientid: 'c1', reason_code: 'success' }])
    const [disconnected = {}] = outputsOf('out')
    assert.equal(disconnected['reason'], 'normal')
    assert.deepEqual((disconnected['disconn_props'] as Record<string, unknown>)['User-Property'], { why: 'done' })
  })

  test('a disconnect has its reason', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([rule('out', 'SELECT clientid, reason FROM "$events/client_disconnected"')])
    world.connect('lost').drop()
    world.connect('silent', { keepAliveSeconds: 10 })
    world.passSeconds(20)
    world.connect('kicked')
    world.command({ name: 'kick', clientId: 'kicked' })
    world.connect('twice', { cleanStart: false })
    world.client('twice', { cleanStart: false }).connect()
    world.connect('fresh', { cleanStart: false })
    world.client('fresh', { cleanStart: true }).connect()
    assert.deepEqual(
      outputsOf('out').map(({ clientid, reason }) => `${String(clientid)} ${String(reason)}`),
      ['lost tcp_closed', 'silent keepalive_timeout', 'kicked kicked', 'twice takenover', 'fresh discarded'],
    )
  })

  test('a disconnect has its reason: a denied PUBLISH that ends the connection, and an error of the client itself', () => {
    const permissions = { ...allowsAll, canPublish: () => 'disconnect' as const }
    const { world, take, outputsOf } = ruleWorld({ ...one, host: { permissions } })
    take([rule('out', 'SELECT clientid, reason FROM "$events/client_disconnected"')])
    world.connect('denied').publish('no', 'x', { qos: 1 })
    world.connect('broken').disconnect({ reasonCode: reasonCodes.unspecifiedError })
    assert.deepEqual(outputsOf('out'), [
      { clientid: 'denied', reason: 'not_authorized' },
      { clientid: 'broken', reason: 'internal_error' },
    ])
  })

  test('a refused client causes connack and authn_complete, and no connected', () => {
    const { world, take, outputsOf } = ruleWorld({ ...one, host: { decision: refusal } })
    take([
      rule('in', 'SELECT * FROM "$events/client_connected"'),
      rule('ack', 'SELECT clientid, username, reason_code, connected_at FROM "$events/client_connack"'),
      rule('authn', 'SELECT clientid, reason_code, is_superuser FROM "$events/auth/check_authn_complete"'),
    ])
    world.client('stranger', { username: 'u' }).connect()
    assert.deepEqual(outputsOf('in'), [])
    assert.deepEqual(outputsOf('ack'), [{ clientid: 'stranger', username: 'u', reason_code: 'not_authorized' }])
    assert.deepEqual(outputsOf('authn'), [{ clientid: 'stranger', reason_code: 'not_authorized', is_superuser: false }])
  })

  test('subscribed and unsubscribed, in the spelling of the specification too, with properties', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([
      rule('sub', `SELECT clientid, topic, qos, sub_props.'User-Property' AS up FROM "$events/session_subscribe"`),
      rule('unsub', 'SELECT clientid, topic, qos FROM "$events/session_unsubscribed"'),
    ])
    const client = world.connect('c1')
    client.subscribe('a/+', { qos: 1 })
    client.unsubscribe('a/+')
    client.unsubscribe('never')
    assert.deepEqual(outputsOf('sub'), [{ clientid: 'c1', topic: 'a/+', qos: 1 }])
    assert.deepEqual(outputsOf('unsub'), [{ clientid: 'c1', topic: 'a/+', qos: 1 }])
  })

  test('authorization is reported for publishing and subscribing, allowed or denied', () => {
    const permissions = {
      ...allowsAll,
      canPublish: (_who: unknown, { name }: { name: string }) => (name === 'no' ? ('deny' as const) : 'allow'),
      canSubscribe: (_who: unknown, filter: string) => (filter === 'no/#' ? ('deny' as const) : 'allow'),
    } as const
    const { world, take, outputsOf } = ruleWorld({ ...one, host: { permissions } })
    take([
      rule('authz', 'SELECT clientid, action, topic, result, authz_source FROM "$events/client_check_acl_complete"'),
    ])
    const client = world.connect('c1')
    client.publish('yes', 'x', { qos: 1 })
    client.publish('no', 'x', { qos: 1 })
    client.subscribe(['a/b', 'no/#'])
    assert.deepEqual(
      outputsOf('authz').map(({ action, topic, result }) => `${String(action)} ${String(topic)} ${String(result)}`),
      ['publish yes allow', 'publish no deny', 'subscribe a/b allow', 'subscribe no/# deny'],
    )
    assert.equal(outputsOf('authz')[0]?.['authz_source'], 'file')
  })
})

describe('events of messages', () => {
  test('delivered and acked have the receiver, the publisher and the message', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([
      rule(
        'del',
        'SELECT clientid, username, from_clientid, from_username, topic, qos, payload FROM "$events/message_delivered"',
      ),
      rule('ack', 'SELECT clientid, from_clientid, topic, qos, payload FROM "$events/message/acked"'),
    ])
    const receiver = world.connect('receiver', { username: 'r' })
    receiver.subscribe('t/#', { qos: 2 })
    const publisher = world.connect('publisher', { username: 'p' })
    for (const qos of [0, 1, 2] as const) publisher.publish(`t/${qos}`, `m${qos}`, { qos })
    const about = { clientid: 'receiver', from_clientid: 'publisher' }
    assert.deepEqual(
      outputsOf('del'),
      ([0, 1, 2] as const).map((qos) => ({
        ...about,
        username: 'r',
        from_username: 'p',
        topic: `t/${qos}`,
        qos,
        payload: `m${qos}`,
      })),
    )
    assert.deepEqual(outputsOf('ack'), [
      { ...about, topic: 't/1', qos: 1, payload: 'm1' },
      { ...about, topic: 't/2', qos: 2, payload: 'm2' },
    ])
  })

  test('a message without subscribers is dropped, and no other', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([rule('drop', 'SELECT clientid, topic, payload, reason FROM "$events/message_dropped"')])
    world.subscriber('subscribed')
    const publisher = world.connect('p')
    publisher.publish('subscribed', 'x', { qos: 1 })
    publisher.publish('unheard', 'y', { qos: 0 })
    publisher.publish('unheard', 'z', { qos: 1 })
    world.settle()
    const dropped = { clientid: 'p', topic: 'unheard', reason: 'no_subscribers' }
    assert.deepEqual(outputsOf('drop'), [
      { ...dropped, payload: 'y' },
      { ...dropped, payload: 'z' },
    ])
  })

  test('deliveries are dropped for No Local, for a disconnected client at QoS 0, and for a full queue', () => {
    const { world, take, outputsOf } = ruleWorld({ ...one, settings: { maxQueuedMessages: 1, maxInflightMessages: 1 } })
    take([rule('drop', 'SELECT clientid, from_clientid, payload, reason FROM "$events/delivery_dropped"')])
    const own = world.connect('own')
    own.subscribe('own', { noLocal: true })
    own.publish('own', 'a', { qos: 1 })
    const offlineClient = world.connect('offline', { cleanStart: false, sessionExpirySeconds: 60 })
    offlineClient.subscribe('sleep', { qos: 1 })
    offlineClient.disconnect()
    own.publish('sleep', 'b', { qos: 0 })
    const slow = world.connect('slow', { receiveMaximum: 1 })
    slow.subscribe('slow', { qos: 1 })
    slow.stopReading()
    for (const payload of ['c', 'd', 'e']) own.publish('slow', payload, { qos: 1 })
    world.settle()
    assert.deepEqual(
      outputsOf('drop').map(({ clientid, payload, reason }) => [clientid, payload, reason].join(' ')),
      ['own a no_local', 'offline b qos0_msg', 'slow e queue_full'],
    )
  })

  test('a message of QoS 2 is dropped beyond max_awaiting_rel, and for a packet identifier that is in use', () => {
    const { world, take, outputsOf } = ruleWorld({ ...one, settings: { maxAwaitingRelease: 2, receiveMaximum: 10 } })
    take([rule('drop', 'SELECT clientid, payload, qos, reason FROM "$events/message_dropped" WHERE topic = \'a\'')])
    world.subscriber('a')
    const wire = world.wire({ version: 5 })
    wire.send(plainConnect(5, 'me'))
    for (const packetId of [1, 2, 3, 2]) wire.sendPublish({ topic: 'a', payload: `p${packetId}`, qos: 2, packetId })
    world.settle()
    assert.deepEqual(outputsOf('drop'), [
      { clientid: 'me', payload: 'p3', qos: 2, reason: 'receive_maximum_exceeded' },
      { clientid: 'me', payload: 'p2', qos: 2, reason: 'packet_identifier_inuse' },
    ])
  })

  test('deliveries are dropped that have expired or are larger than the maximum of the receiver', () => {
    const { world, take, outputsOf } = ruleWorld(one)
    take([rule('drop', 'SELECT clientid, payload, reason FROM "$events/delivery_dropped"')])
    const small = world.connect('small', { maximumPacketBytes: 60 })
    small.subscribe('large', { qos: 1 })
    const away = world.connect('away', { cleanStart: false, sessionExpirySeconds: 600 })
    away.subscribe('late', { qos: 1 })
    away.disconnect()
    const publisher = world.connect('p')
    publisher.publish('large', 'l'.repeat(100), { qos: 1 })
    publisher.publish('late', 'x', { qos: 1, properties: { messageExpiryIntervalSeconds: 5 } })
    world.passSeconds(10)
    away.connect()
    world.settle()
    assert.deepEqual(
      outputsOf('drop').map(({ clientid, payload, reason }) =>
        [clientid, String(payload).slice(0, 1), reason].join(' '),
      ),
      ['small l too_large', 'away x expired'],
    )
  })

  test('do not run for messages of rules: two rules that would trigger each other end at once', () => {
    const { world, take, report } = ruleWorld(one)
    const republish = republishTo('response')
    take([
      { id: 'delivered', sql: 'SELECT topic FROM "$events/message_delivered"', actions: republish },
      { id: 'dropped', sql: 'SELECT topic FROM "$events/message_dropped"', actions: republishTo('nobody') },
    ])
    const all = world.subscriber('response')
    const published = world.subscriber('question')
    world.connect('p').publish('question', 'x', { qos: 1 })
    world.settle()
    assert.deepEqual(published.payloads, ['x'])
    assert.equal(all.payloads.length, 1)
    assert.equal(report('delivered')?.counters.matched, 1)
    assert.equal(report('dropped')?.counters.matched, 0)
  })
})

test('events without a rule are not recorded, and a disabled rule does not count', () => {
  const { take, wanted } = ruleWorld(one)
  take([{ ...rule('off', 'SELECT * FROM "$events/message_delivered"'), isEnabled: false }])
  assert.deepEqual([...wanted()], [])
  take([rule('both', 'SELECT * FROM "$events/message_acked", "$events/message/acked", "a"')])
  assert.deepEqual([...wanted()], ['message-acked'])
})

test('a rule with an event and a topic does not run for its own messages', () => {
  const { world, take, report } = ruleWorld(one)
  const sql = 'SELECT event FROM "$events/client_connected", "again"'
  take([{ id: 'both', sql, actions: republishTo('again') }])
  world.connect('c1')
  assert.equal(report('both')?.counters.matched, 1)
})

test('the message that the rule of an acknowledgement stores is in one batch with the end of the delivery', () => {
  const { world, take } = ruleWorld(one)
  take([
    {
      id: 'ack',
      sql: 'SELECT payload FROM "$events/message_acked"',
      actions: republishTo('acked', { qos: '1', payload: '${payload}' }),
    },
  ])
  const durable = { cleanStart: false, sessionExpirySeconds: 3_600 } as const
  const subscriber = world.connect('subscriber', durable)
  subscriber.subscribe('acked', { qos: 1 })
  subscriber.disconnect()
  const receiver = world.connect('receiver', durable)
  receiver.subscribe('t', { qos: 1 })
  world.connect('p').publish('t', 'x', { qos: 1 })
  world.restart()
  receiver.connect()
  subscriber.connect()
  world.settle()
  assert.deepEqual(subscriber.payloads, ['x'], 'the acknowledgement was stored with the message of its rule')
  assert.equal(receiver.payloads.length, 1, 'and the message is not sent again')
})

test('slow rules run after clients, and lose nothing until too many messages wait', () => {
  let nowMs = 0
  // Each call of the clock advances it by 5 ms.
  const { world, take, outputsOf } = ruleWorld(one, { monotonicMs: () => (nowMs += 5) })
  take([rule('del', 'SELECT payload FROM "$events/message_delivered"')])
  const receivers = Array.from({ length: 100 }, (_, number) =>
    world.subscriber('t', { network: undefined, qos: number % 2 ? 0 : 1 }),
  )
  world.connect('p').publish('t', 'x', { qos: 1 })
  world.passMs(100)
  assert.ok(receivers.every(({ payloads }) => payloads.length === 1))
  assert.equal(outputsOf('del').length, 100)
  assert.ok(outputsOf('del').every(({ payload }) => payload === 'x'))
})

test('each event has the columns of its definition', () => {
  const { world } = ruleWorld(one)
  world.connect('c1')
  const seen: EventName[] = ruleTriggerKinds.map((kind) => eventOfTrigger[kind])
  assert.equal(new Set(seen).size, ruleTriggerKinds.length)
  const message = { publisher: 'c1' }
  for (const kind of ruleTriggerKinds) {
    const trigger = { kind, atMs: 1, clientId: 'c', message } as unknown as RuleTrigger
    const context = {
      nodeName: 'n',
      findPublisher: () => undefined,
      createMessageId: () => '',
      findAuthorizationSource: () => '',
    }
    const columns = createTriggerColumns(trigger, context).listColumnNames()
    assert.deepEqual([...columns, 'metadata'].toSorted(), listColumns(eventOfTrigger[kind]).toSorted(), kind)
  }
})
