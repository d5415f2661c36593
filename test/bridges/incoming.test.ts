// Messages of the remote broker for which a client would be disconnected, or whose rules have changed meanwhile.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CoreSettings } from '../../src/core/index.ts'
import { encodePublish, type World } from '../simulator/world.ts'
import { Bridged } from './bridged-brokers.ts'
import { ack, connackIn, crafted, granted, type PacketHandler } from './crafted.ts'

function inward(filter: string): string {
  return `subscription = [{remote_topic = "${filter}", local_topic = "", qos = 2}]`
}

test('the packet identifier of a QoS 2 message whose rule was removed is free for the next message after redelivery', () => {
  const received: string[] = []
  const old = { payload: 'old', qos: 2, packetId: 5 } as const
  const handlePacket: PacketHandler = (packet, send, close) => {
    const sessionPresent = remote.connections > 1
    if (packet.type === 'connect') {
      send(connackIn(5, { sessionPresent }))
      if (sessionPresent) send(encodePublish({ ...old, topic: 'before/a', dup: true }, 5))
    }
    send(granted(packet) ?? Buffer.alloc(0))
    if (packet.type === 'subscribe' && !sessionPresent) send(encodePublish({ ...old, topic: 'before/a' }, 5))
    if (packet.type === 'pubrec') {
      if (sessionPresent) send(ack('pubrel', 5))
      else close()
    }
    if (packet.type !== 'pubcomp') return
    received.push(packet.type)
    if (received.length === 1) send(encodePublish({ ...old, topic: 'now/a', payload: 'new' }, 5))
  }
  const remote = crafted(handlePacket)
  const world = new Bridged({ bridge: inward('before/#'), crafted: remote.accept })
  const subscriber = world.local.subscriber('#')
  world.change(inward('now/#'))
  world.passSeconds(30)
  assert.deepEqual(subscriber.payloads, ['new'])
  assert.deepEqual(received, ['pubcomp', 'pubcomp'], 'one for each message')
  assert.equal(world.local.coreOf('').view.findInternalSession('$bridge/b')?.unreleased.length, 0)
})

type Act = (remote: World) => void

const strange: readonly (readonly [
  what: string,
  settings: Partial<CoreSettings>,
  act: Act,
  received: readonly string[],
])[] = [
  [
    'that topics are to remember, where this one lets them remember nothing',
    { retainAvailable: false },
    (remote) => remote.publish('in/a', 'kept', { qos: 1, retain: true }),
    ['kept'],
  ],
  [
    'of a QoS that the broker grants to no client',
    { maximumQoS: 1 },
    (remote) => remote.publish('in/a', 'twice acknowledged', { qos: 2 }),
    ['twice acknowledged'],
  ],
  [
    'of QoS 0 that is not the text that it says',
    { validatesPayloadFormat: true },
    (remote) => remote.publish('in/a', Buffer.from([0xff]), { properties: { payloadFormatIndicator: 1 } }),
    [],
  ],
]

for (const [what, settings, act, received] of strange) {
  test(`a message of the remote broker ${what}, does not end the connection and is not redelivered endlessly`, () => {
    const world = new Bridged({ bridge: inward('in/#'), world: { settings } })
    const subscriber = world.local.subscriber('#', { qos: 2 })
    act(world.remote)
    world.remote.publish('in/a', 'next', { qos: 1 })
    assert.deepEqual(subscriber.payloads, [...received, 'next'])
    assert.ok(subscriber.messages.every(({ retain, qos }) => !retain && qos <= (settings.maximumQoS ?? 2)))
    assert.equal(world.status.counters.failures, 0)
  })
}

test('a remote broker that reconnects with very many PUBRELs is served', () => {
  const count = 1_500
  const received: number[] = []
  const ids = Array.from({ length: count }, (_, index) => index + 1)
  const handlePacket: PacketHandler = (packet, send, close) => {
    const sessionPresent = remote.connections > 1
    if (packet.type === 'connect') {
      send(connackIn(5, { sessionPresent }))
      if (sessionPresent) send(Buffer.concat(ids.map((id) => ack('pubrel', id))))
    }
    send(granted(packet) ?? Buffer.alloc(0))
    if (packet.type === 'subscribe' && !sessionPresent)
      send(Buffer.concat(ids.map((packetId) => encodePublish({ topic: 'in/a', payload: 'x', qos: 2, packetId }, 5))))
    if (packet.type === 'pubrec' && packet.packetId === count) close()
    if (packet.type === 'pubcomp') received.push(packet.packetId)
  }
  const remote = crafted(handlePacket)
  const world = new Bridged({ bridge: inward('in/#'), crafted: remote.accept })
  world.passSeconds(30)
  assert.equal(received.length, count)
  assert.deepEqual([world.status.state, world.status.counters.unexpected], ['connected', 0])
  assert.equal(world.local.coreOf('').view.findInternalSession('$bridge/b')?.unreleased.length, 0)
})
