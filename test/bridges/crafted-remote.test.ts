// A malicious or faulty remote broker. It affects its own bridge only: no message is lost, memory does not grow,
// and the bridge tries again, at increasing intervals.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { AckPacket, reasonCodes } from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'
import { encode, encodePublish } from '../simulator/world.ts'
import { Bridged, payloads, publishAll } from './bridged-brokers.ts'
import { ack, connackIn, crafted, pingresp, polite, repeated, type PacketHandler } from './crafted.ts'

const bothWays = `keepalive = 20s, backoff_max = 10s,
  forwards = [{local_topic = "out/#", remote_topic = ""}],
  subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]`

const connack = connackIn(5)

function once(bytes: () => Buffer): PacketHandler {
  return polite((packet, send) => {
    if (packet.type === 'subscribe') send(bytes())
  })
}

const violations: readonly (readonly [what: string, handlePacket: PacketHandler, error: RegExp])[] = [
  ['bytes that are not MQTT', (_, send) => send(Buffer.alloc(100, 0xff)), /broke the protocol/],
  ['a CONNACK that is malformed', (_, send) => send(Buffer.from([0x20, 3, 0, 0, 9])), /broke the protocol/],
  ['another packet before CONNACK', (_, send) => send(pingresp), /pingresp before connack/],
  ['no response', () => undefined, /does not respond/],
  [
    'CONNACK with session present, although the bridge requested a new session,',
    (_, send) => send(encode({ type: 'connack', sessionPresent: true, reasonCode: 0, properties: undefined }, 5)),
    /session present, although CONNECT requested a new session/,
  ],
  ['a second CONNACK', once(() => connack), /unexpected packet: connack/],
  ['AUTH', once(() => Buffer.from([0xf0, 0])), /unexpected packet: auth/],
  [
    'a packet larger than the maximum of this broker',
    once(() => Buffer.from([0x30, 0xff, 0xff, 0xff, 0x7f])),
    /more than/,
  ],
  ['a topic alias above the maximum', once(() => aliased(1)), /topic alias 1/],
  ['a topic with wildcards', once(() => encodePublish({ topic: 'in/+', payload: 'x' }, 5)), /broke the protocol/],
  ['endless PUBACK', once(() => repeated(ack('puback', 7), 2_000)), /1000 unexpected acknowledgements/],
  ['endless PUBREC', once(() => repeated(ack('pubrec', 7), 2_000)), /1000 unexpected acknowledgements/],
  ['endless PUBCOMP', once(() => repeated(ack('pubcomp', 7), 2_000)), /1000 unexpected acknowledgements/],
  [
    'endless PUBREL',
    once(() => repeated(ack('pubrel', 7), 2_000)),
    /1000 unexpected acknowledgements between two pings, such as PUBREL/,
  ],
  ['endless PINGRESP', once(() => repeated(pingresp, 2_000)), /1000 pingresp packets/],
  [
    'PUBREL before it received PUBREC',
    once(() =>
      Buffer.concat([encodePublish({ topic: 'in/a', payload: 'x', qos: 2, packetId: 1 }, 5), ack('pubrel', 1)]),
    ),
    /PUBREL for packet id 1/,
  ],
]

function aliased(topicAlias: number): Buffer {
  return encodePublish({ topic: 'in/a', payload: 'x', properties: { topicAlias } }, 5)
}

describe('a remote broker that sends', () => {
  for (const [what, handlePacket, error] of violations) {
    test(`${what} is disconnected, and contacted again at increasing intervals`, () => {
      const remote = crafted(handlePacket)
      const world = new Bridged({ bridge: bothWays, crafted: remote.accept })
      world.local.publish('out/a', 'kept', { qos: 1 })
      world.passSeconds(600)
      assert.match(world.status.lastError ?? '', error)
      assert.ok(remote.connections >= 20 && remote.connections <= 130, `${remote.connections} connections`)
      assert.equal(world.status.spooled, 1)
      const subscriber = world.local.subscriber('#')
      world.local.publish('other', 'still here', { qos: 2 })
      assert.deepEqual(subscriber.payloads, ['still here'])
    })
  }

  test('more than this broker can process is read as fast as it processes', () => {
    const flood = Array.from({ length: 3_000 }, (_, index) =>
      encodePublish({ topic: 'in/a', payload: `${index}`, qos: 1, packetId: index + 1 }, 5),
    )
    const acknowledged: number[] = []
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'subscribe') send(Buffer.concat(flood))
      if (packet.type === 'puback') acknowledged.push(packet.packetId)
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    assert.equal(world.status.lastError, undefined)
    assert.deepEqual(
      acknowledged,
      Array.from({ length: 3_000 }, (_, index) => index + 1),
    )
  })

  test('packets that violate the protocol gets DISCONNECT with the reason in MQTT 5.0', () => {
    const reasonCodesReceived: (number | undefined)[] = []
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'subscribe') send(connack)
      if (packet.type === 'disconnect') reasonCodesReceived.push(packet.reasonCode)
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    assert.match(world.status.lastError ?? '', /unexpected packet: connack/)
    assert.deepEqual(reasonCodesReceived, [reasonCodes.protocolError])
  })

  test('acknowledgements that match no request, repeatedly: they are not reported', () => {
    const suback = encode({ type: 'suback', packetId: 9, reasonCodes: [0x87], properties: undefined }, 5)
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'subscribe') send(repeated(suback, 5_000))
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    world.passSeconds(120)
    assert.match(world.status.lastError ?? '', /1000 suback packets/)
    assert.equal(world.events.filter(({ event }) => event === 'warning').length, 0)
    assert.equal(world.events.filter((event) => event.event === 'disconnected' && event.isNew).length, 1)
  })

  for (const topic of ['in/a', 'nowhere']) {
    test(`messages to ${topic} endlessly, and does not read responses, is disconnected before the responses fill the memory`, () => {
      const most = 300_000
      const packets = Array.from({ length: 1_000 }, (_, index) =>
        encodePublish({ topic, payload: 'x', qos: 1, packetId: index + 1 }, 5),
      )
      let remoteStream: ByteStream | undefined
      const remote = crafted(
        polite((packet, send) => {
          if (packet.type !== 'subscribe') return
          remoteStream?.pause()
          send(repeated(Buffer.concat(packets), most / packets.length))
        }),
      )
      const accept = (stream: ByteStream): void => {
        remoteStream = stream
        remote.accept(stream)
      }
      const world = new Bridged({ bridge: bothWays, crafted: accept })
      assert.match(world.status.lastError ?? '', /does not read the acknowledgements/)
    })
  }

  test('repeated PUBREC for one message gets PUBREL each time, until the limit of acknowledgements', () => {
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'publish' || packet.type === 'pubrel') send(ack('pubrec', packet.packetId))
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    world.local.publish('out/a', 'one', { qos: 2 })
    world.passSeconds(30)
    assert.match(world.status.lastError ?? '', /1000 unexpected acknowledgements between two pings, such as pubrec/)
  })
})

describe('a remote broker that refuses', () => {
  test('the bridge reconnects repeatedly, and logs the reason without its password', () => {
    const refusal = encode(
      { type: 'connack', sessionPresent: false, reasonCode: reasonCodes.badUserNameOrPassword, properties: undefined },
      5,
    )
    const remote = crafted((_, send) => send(refusal))
    const world = new Bridged({ bridge: `${bothWays}, username = u, password = geheim`, crafted: remote.accept })
    world.passSeconds(60)
    assert.match(world.status.lastError ?? '', /bad user name or password/)
    assert.doesNotMatch(JSON.stringify([world.status, world.events]), /geheim/)
    assert.ok(remote.connections > 3)
  })

  test('a message permanently: it is counted, and the others are sent', () => {
    const seen: string[] = []
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type !== 'publish') return
      const isBad = packet.topic?.name === 'out/bad'
      if (!isBad) seen.push(packet.chunk.toString('utf8', packet.payloadStart, packet.frameEnd))
      const reason = isBad ? reasonCodes.notAuthorized : reasonCodes.success
      send(encode(new AckPacket('puback', packet.packetId, reason, undefined), 5))
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    world.local.publish('out/bad', 'x', { qos: 1 })
    publishAll(world.local, 'out/a', payloads(3), 1)
    assert.deepEqual(seen, payloads(3))
    assert.equal(world.status.counters.dropped['refused-there'], 1)
    assert.equal(world.status.spooled, 0)
  })

  const passing = ['quotaExceeded', 'unspecifiedError', 'implementationSpecificError', 'packetIdentifierInUse'] as const
  for (const why of passing) {
    test(`a message for a temporary reason (${why}): it is sent again`, () => {
      let refusals = 0
      const handlePacket: PacketHandler = polite((packet, send) => {
        if (packet.type !== 'publish') return
        const reason = refusals++ < 2 ? reasonCodes[why] : reasonCodes.success
        send(encode(new AckPacket('puback', packet.packetId, reason, undefined), 5))
      })
      const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
      world.local.publish('out/a', 'x', { qos: 1 })
      world.passSeconds(15)
      assert.equal(world.status.spooled, 0)
      assert.equal(world.status.counters.acknowledged, 1)
      assert.equal(world.status.counters.failures, 2)
    })
  }

  test('one message repeatedly: the count ends when it is accepted, and starts again for its packet identifier', () => {
    let seen = 0
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type !== 'publish') return
      const isShort = packet.topic?.name === 'out/bad' && seen++ % 4 !== 3
      const reason = isShort ? reasonCodes.quotaExceeded : reasonCodes.success
      send(encode(new AckPacket('puback', packet.packetId, reason, undefined), 5))
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    world.local.publish('out/bad', 'x', { qos: 1 })
    world.passSeconds(60)
    // All packet identifiers of a bridge: the next message has the first one again.
    publishAll(world.local, 'out/a', payloads(2_046), 1)
    world.local.publish('out/bad', 'y', { qos: 1 })
    world.passSeconds(60)
    assert.deepEqual([seen, world.status.counters.dropped['refused-there'], world.status.spooled], [8, 0, 0])
  })

  test('a message because of its quota repeatedly: it is dropped in the end', () => {
    const handlePacket: PacketHandler = polite((packet, send) => {
      if (packet.type === 'publish')
        send(encode(new AckPacket('puback', packet.packetId, reasonCodes.quotaExceeded, undefined), 5))
    })
    const world = new Bridged({ bridge: bothWays, crafted: crafted(handlePacket).accept })
    world.local.publish('out/a', 'x', { qos: 1 })
    world.passSeconds(300)
    assert.equal(world.status.counters.dropped['refused-there'], 1)
    assert.equal(world.status.spooled, 0)
  })
})
