// Limits of the remote broker, from CONNACK and from its behavior.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { reasonCodes, type ConnackProperties, type PublishPacket } from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { encodePublish } from '../simulator/world.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'
import { ack, connackIn, crafted, granted, pingresp, polite, type PacketHandler } from './crafted.ts'

const outward = 'forwards = [{local_topic = "out/#", remote_topic = ""}]'
const inward = 'subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]'

function aliased(topic: string, topicAlias: number, qos: 0 | 1): Buffer {
  return encodePublish({ topic, payload: 'x', qos, packetId: topicAlias, properties: { topicAlias } }, 5)
}

type Seen = Pick<PublishPacket, 'qos' | 'dup' | 'retain'>

/** Each connection has its own limits; the remote broker acknowledges nothing. */
function limited(limits: readonly ConnackProperties[], seen: Seen[], closesOn: number) {
  const remote = crafted((packet, send, close) => {
    const properties = limits[remote.connections - 1]
    if (packet.type === 'connect')
      send(
        connackIn(5, { sessionPresent: remote.connections > 1, ...(properties === undefined ? {} : { properties }) }),
      )
    if (packet.type !== 'publish') return
    seen.push({ qos: packet.qos, dup: packet.dup, retain: packet.retain })
    if (remote.connections === closesOn) close()
  })
  return remote
}

test('a bridge to AWS IoT follows its quotas: one CONNECT per second, eight filters per SUBSCRIBE', () => {
  const connects: number[] = []
  const requests: number[] = []
  const world: { current: Bridged | undefined } = { current: undefined }
  const remote = crafted((packet, send) => {
    if (packet.type === 'connect') {
      connects.push(world.current?.stage.nowMs ?? 0)
      send(connackIn(4))
    }
    if (packet.type === 'subscribe') requests.push(packet.subscriptions.length)
    const response = granted(packet)
    if (response !== undefined) send(response)
  })
  const rules = Array.from({ length: 20 }, (_, at) => `{remote_topic = "in/${at}", local_topic = "", qos = 1}`)
  const bridge = `proto_ver = 4, no_local_v4 = false, subscription = [${rules.join()}]`
  world.current = new Bridged({ bridge, isOfAws: true, crafted: remote.accept })
  world.current.passSeconds(3)
  assert.equal(world.current.status.state, 'connected', world.current.status.lastError)
  const [first = 0, second = 0, ...others] = connects
  assert.ok(second - first >= 1_000, `${second - first} ms between the connection with a clean session and the next`)
  assert.deepEqual(others, [])
  assert.deepEqual(requests, [8, 8, 4])
})

describe('a remote broker', () => {
  for (const supportsIdentifiers of [true, false]) {
    test(`that supports ${supportsIdentifiers ? 'subscription identifiers gets one' : 'no subscription identifiers gets none'}`, () => {
      const identifiers: unknown[] = []
      const remote = crafted((packet, send) => {
        if (packet.type === 'connect')
          send(connackIn(5, supportsIdentifiers ? {} : { properties: { subscriptionIdentifiersAvailable: false } }))
        if (packet.type === 'subscribe') identifiers.push(packet.properties?.subscriptionIdentifier)
      })
      const world = new Bridged({ bridge: `${inward}, sub_properties { identifier = 7 }`, crafted: remote.accept })
      assert.equal(world.status.state, 'connected')
      assert.deepEqual(identifiers, [supportsIdentifiers ? 7 : undefined])
    })
  }

  test('without retained messages gets no retained message', () => {
    const seen: Seen[] = []
    const remote = limited([{ retainAvailable: false }], seen, 0)
    const world = new Bridged({ bridge: outward, crafted: remote.accept })
    world.local.publish('out/a', 'kept', { qos: 1, retain: true })
    assert.deepEqual(seen, [{ qos: 1, dup: false, retain: false }])
  })

  test('[MQTT-3.3.1-2] that now supports QoS 0 only gets the waiting messages with it, and without DUP', () => {
    const seen: Seen[] = []
    const remote = limited([{}, { maximumQoS: 0 }], seen, 1)
    const world = new Bridged({ bridge: `${outward}, backoff_max = 1s`, crafted: remote.accept })
    world.local.publish('out/a', 'one', { qos: 1 })
    world.passSeconds(5)
    assert.deepEqual(seen.slice(0, 2), [
      { qos: 1, dup: false, retain: false },
      { qos: 0, dup: false, retain: false },
    ])
    assert.equal(world.status.spooled, 0)
  })

  test('that does not read uses at most 4 MiB of memory of the bridge, and further messages stay in the queue', () => {
    let remoteStream: ByteStream | undefined
    const remote = crafted(polite(() => remoteStream?.pause()))
    const accept = (stream: ByteStream): void => {
      remoteStream = stream
      remote.accept(stream)
    }
    const world = new Bridged({ bridge: `${outward}, ${inward}`, crafted: accept })
    const author = world.local.connect('author')
    const large = 'x'.repeat(65_536)
    for (let count = 0; count < 200; count++) author.publish('out/a', large, { qos: 1 })
    assert.equal(world.status.spooled, 200)
    assert.ok(world.status.counters.sentBytes < 4_194_304, `${world.status.counters.sentBytes} bytes`)
  })

  test('that sends few unrequested packets, over days, is accepted', () => {
    let sendBytes: ((bytes: Buffer) => void) | undefined
    const handlePacket: PacketHandler = (packet, send) => {
      sendBytes = send
      if (packet.type === 'connect') send(connackIn(5))
      if (packet.type === 'pingreq') send(pingresp)
    }
    const world = new Bridged({ bridge: `${outward}, keepalive = 20s`, crafted: crafted(handlePacket).accept })
    for (let round = 0; round < 5; round++) {
      sendBytes?.(Buffer.concat(Array.from({ length: 600 }, () => ack('puback', 7))))
      world.passSeconds(60)
    }
    assert.deepEqual([world.status.state, world.status.counters.unexpected], ['connected', 3_000])
  })

  test('that redelivers QoS 2 in the same connection, with PUBREL at once, gets PUBREC and PUBCOMP', () => {
    const acks: string[] = []
    const message = { topic: 'in/a', payload: 'x', qos: 2, packetId: 1 } as const
    const handlePacket: PacketHandler = polite((packet, send) => {
      send(granted(packet) ?? Buffer.alloc(0))
      if (packet.type === 'subscribe') send(encodePublish(message, 5))
      if (packet.type === 'pubrec' && acks.length === 0)
        send(Buffer.concat([encodePublish({ ...message, dup: true }, 5), ack('pubrel', 1)]))
      if (packet.type === 'pubrec' || packet.type === 'pubcomp') acks.push(packet.type)
    })
    const world = new Bridged({ bridge: inward, crafted: crafted(handlePacket).accept })
    assert.equal(world.status.lastError, undefined)
    assert.deepEqual(acks, ['pubrec', 'pubrec', 'pubcomp'])
  })

  test('may use topic aliases up to the granted maximum, and no others', () => {
    const identifiers = [
      ['in/a', 1],
      ['', 1],
      ['in/b', 2],
      ['', 1],
      ['', 2],
    ] as const
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'subscribe')
        send(Buffer.concat(identifiers.map(([topic, alias]) => aliased(topic, alias, 1))))
      if (packet.type === 'puback' && packet.packetId === 2) send(aliased('', 3, 0))
    })
    const bridge = `${inward}, conn_properties { topic_alias_maximum = 3 }`
    const world = new Bridged({ bridge, crafted: crafted(handlePacket).accept, isBroken: () => true })
    const subscriber = world.local.subscriber('#')
    world.isBroken = () => false
    world.passSeconds(1)
    const topics = subscriber.messages.map(({ topic }) => topic)
    assert.deepEqual(topics.slice(0, 5), ['in/a', 'in/a', 'in/b', 'in/a', 'in/b'])
    assert.match(world.status.lastError ?? '', /topic alias 3, which is not defined/)
  })
})

describe('after a connection that ended because of a message', () => {
  const disconnectForProtocolError = Buffer.from([0xe0, 2, reasonCodes.protocolError, 0])

  /** The first connection ends because of one of three messages. Returns the number of messages in each connection. */
  function endConnectionAfterMessages(
    bridge: string,
    later: (connection: number, seen: number, packetId: number) => Buffer | 'close' | undefined,
  ) {
    const seen = [0, 0, 0, 0]
    const remote = crafted((packet, send, close) => {
      const at = remote.connections
      if (packet.type === 'connect') send(connackIn(5, { sessionPresent: at > 1 }))
      if (packet.type !== 'publish') return
      seen[at] = (seen[at] ?? 0) + 1
      const then = at === 1 ? undefined : later(at, seen[at], packet.packetId)
      if (then === 'close') close()
      else if (then !== undefined) send(then)
      if (at !== 1 || seen[at] !== 3) return
      send(disconnectForProtocolError)
      close()
    })
    const world = new Bridged({ bridge, crafted: remote.accept, isBroken: () => true })
    publishAll(world.local, 'out/a', payloads(3), 1)
    world.isBroken = () => false
    world.passSeconds(5)
    return { world, seen }
  }

  const bridge = `${outward}, backoff_max = 1s`

  test('messages that were in flight are sent one at a time, and all others together again', () => {
    const { world, seen } = endConnectionAfterMessages(bridge, (_, count, packetId) =>
      count <= 3 ? ack('puback', packetId) : undefined,
    )
    publishAll(world.local, 'out/a', payloads(5, 'n'), 1)
    assert.deepEqual(seen, [0, 3, 8, 0])
  })

  test('if the next connection ends for another reason, the messages are not sent one at a time again', () => {
    const { seen } = endConnectionAfterMessages(bridge, (connection) => (connection === 2 ? 'close' : undefined))
    assert.deepEqual(seen, [0, 3, 1, 3])
  })
})
