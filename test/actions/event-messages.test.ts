// event_message: JSON to `$event/...`, with the names and members of EMQX.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventMessageNames } from '../../src/actions/plan/rule-plan.ts'
import { ruleWorld } from './rule-world.ts'

const one = { shards: 1 } as const

test('each enabled event is published, with its members, and causes no further one', () => {
  const { world, take } = ruleWorld(one)
  const watcher = world.subscriber('$event/#')
  take([], eventMessageNames)
  const receiver = world.connect('receiver', { username: 'r', keepAliveSeconds: 20 })
  receiver.subscribe('t', { qos: 1 })
  world.connect('publisher', { username: 'p' }).publish('t', 'x', { qos: 1 })
  world.clients.at(-1)?.publish('nobody', 'y')
  receiver.unsubscribe('t')
  receiver.disconnect()
  world.settle()
  const events = watcher.messages.map(({ topic, payload }) => ({
    topic: topic.slice('$event/'.length),
    payload: JSON.parse(payload) as Record<string, unknown>,
  }))
  assert.deepEqual(
    events.map(({ topic, payload }) => `${topic} ${String(payload['clientid'])}`),
    [
      'client_connected receiver',
      'client_subscribed receiver',
      'client_connected publisher',
      'message_delivered receiver',
      'message_acked receiver',
      'message_dropped publisher',
      'client_unsubscribed receiver',
      'client_disconnected receiver',
    ],
  )
  const payloadOf = (topic: string) => events.find((event) => event.topic === topic)?.payload ?? {}
  const connected = payloadOf('client_connected')
  assert.deepEqual(
    [connected['username'], connected['keepalive'], connected['proto_ver'], connected['clean_start']],
    ['r', 20, 5, true],
  )
  assert.equal(typeof connected['ipaddress'], 'string')
  const acked = payloadOf('message_acked')
  assert.deepEqual(
    [acked['from_clientid'], acked['from_username'], acked['username'], acked['topic'], acked['payload'], acked['qos']],
    ['publisher', 'p', 'r', 't', 'x', 1],
  )
  assert.deepEqual(payloadOf('client_subscribed')['subopts'], { qos: 1 })
  assert.equal(payloadOf('message_dropped')['reason'], 'no_subscribers')
  const disconnected = payloadOf('client_disconnected')
  assert.deepEqual([disconnected['reason'], disconnected['proto_name']], ['normal', 'MQTT'])
  assert.equal(disconnected['connected_at'], connected['connected_at'])
})

test('nothing is recorded for disabled events', () => {
  const { take, wanted } = ruleWorld(one)
  take([], ['client_subscribed', 'message_dropped'])
  assert.deepEqual([...wanted()], ['session-subscribed', 'message-dropped'])
  take([])
  assert.deepEqual([...wanted()], [])
})
