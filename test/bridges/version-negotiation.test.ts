// The protocol version of a connection to the remote broker, and the bridge bit of CONNECT. Between two Godwits, it is
// always 5.0, where messages have a loop marker. A wrong claim of a remote broker costs one or two connections.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loopMarkerName } from '../../src/core/index.ts'
import { reasonCodes, type ConnectPacket, type Packet } from '../../src/protocol/index.ts'
import { encodePublish } from '../simulator/world.ts'
import { Bridged } from './bridged-brokers.ts'
import { ack, connackIn, crafted, pingresp, type PacketHandler } from './crafted.ts'

const outward = 'forwards = [{local_topic = "out/#", remote_topic = ""}]'
const inward = 'subscription = [{remote_topic = "in/#", local_topic = "", qos = 2}]'
const before5 = `proto_ver = 4, clientid = c, keepalive = 10s, ${outward}`
const named = { host: { brokerName: 'there' } }
const durable = { cleanStart: false, sessionExpirySeconds: 1_000 } as const
/** Every packet has a delay, so that there is a time between any two. */
const slow = { minDelayMs: 10, maxDelayMs: 10, splits: false, capacityBytes: 16_384 }

function logged(world: Bridged, kind: 'notice' | 'warning'): string[] {
  return world.events.flatMap((event) => (event.event === kind ? [event.text] : []))
}

describe('a bridge to a Godwit', () => {
  for (const version of [3, 4] as const) {
    test(`that is configured with MQTT ${version} uses 5.0 from the start, so that properties are forwarded`, () => {
      const world = new Bridged({ bridge: `${before5}, ${inward}, proto_ver = ${version}`, remoteOptions: named })
      assert.deepEqual([world.status.state, world.status.version], ['connected', 5])
      assert.equal(world.settings.version, version)
      assert.equal(world.dialed.length, 2)
      assert.deepEqual([world.status.counters.connects, world.status.counters.failures], [1, 0])
      assert.match(logged(world, 'notice').join(), /is a Godwit: MQTT 5\.0 is used/)
      const remote = world.remote.subscriber('out/#')
      const local = world.local.subscriber('in/#')
      world.local.publish('out/a', 'up', {
        qos: 1,
        properties: { contentType: 'text', messageExpiryIntervalSeconds: 60 },
      })
      world.remote.publish('in/a', 'down', { qos: 2 })
      assert.deepEqual([remote.payloads, local.payloads], [['up'], ['down']])
      const [{ properties } = assert.fail()] = remote.messages
      assert.deepEqual([properties?.contentType, properties?.messageExpiryIntervalSeconds], ['text', 60])
      assert.deepEqual(properties?.userProperties, [[loopMarkerName, 'here']])
    })
  }

  test('with several shards gets its name on any of them', () => {
    for (const clientid of ['a', 'b', 'c', 'd', 'e', 'f']) {
      const world = new Bridged({
        bridge: `${before5}, clientid = ${clientid}`,
        remoteOptions: { ...named, shards: 3 },
      })
      world.passSeconds(5)
      assert.deepEqual([world.status.state, world.status.version], ['connected', 5])
    }
  })

  test('reconnects with 5.0 at once after the connection broke, and stays with it', () => {
    const world = new Bridged({ bridge: before5, remoteOptions: named })
    world.passSeconds(60)
    world.stream?.destroy()
    world.passSeconds(5)
    world.remote.restart('kill')
    world.passSeconds(60)
    assert.deepEqual([world.status.state, world.status.version], ['connected', 5])
    assert.equal(logged(world, 'notice').length, 1)
  })

  test('without the bridge bit (no_local_v4) uses the configured version', () => {
    const world = new Bridged({ bridge: `${before5}, no_local_v4 = false`, remoteOptions: named })
    assert.deepEqual([world.status.state, world.status.version], ['connected', 4])
  })

  for (const becomes of ['a Godwit', 'another broker'] as const) {
    test(`that becomes ${becomes}: QoS 2 in flight continues with the other version, and arrives once`, () => {
      const isNow = becomes === 'a Godwit'
      for (let step = 0; step < 30; step++) {
        const bridge = `${before5}, ${inward}`
        const world = new Bridged({ bridge, network: slow, ...(isNow ? {} : { remoteOptions: named }) })
        const remote = world.remote.connect('listener', durable)
        remote.subscribe('out/#')
        const local = world.local.connect('listener', durable)
        local.subscribe('in/#')
        world.passSeconds(2)
        assert.equal(world.status.version, isNow ? 4 : 5)
        world.local.publish('out/a', 'up', { qos: 2 })
        world.remote.publish('in/a', 'down', { qos: 2 })
        world.local.passMs(step * 5)
        world.remote.crash('kill')
        if (isNow) world.remote.host.traits.brokerName = 'there'
        else delete world.remote.host.traits.brokerName
        world.remote.start()
        remote.connect()
        world.passSeconds(60)
        assert.deepEqual([world.status.state, world.status.version], ['connected', isNow ? 5 : 4])
        assert.deepEqual([remote.payloads, local.payloads], [['up'], ['down']], `after ${step * 5} ms`)
        assert.equal(world.status.spooled, 0)
      }
    })
  }

  test('each of several servers has its own version', () => {
    const bridge = `${before5}, server = "mqtt-quic://there:1", hybrid_bridging = true, hybrid_servers = ["mqtt-tcp://there:2"]`
    const world = new Bridged({ bridge, remoteOptions: named, isBroken: (server) => server.startsWith('mqtt-quic') })
    assert.deepEqual([world.status.state, world.status.version], ['connected', 5])
    world.isBroken = () => false
    world.passSeconds(130)
    assert.deepEqual([world.status.server, world.status.version], ['mqtt-quic://there:1', 5])
    assert.equal(logged(world, 'notice').length, 2)
  })
})

const nameOf = (payload: string | Buffer, topic = '$godwit/broker'): Buffer => encodePublish({ topic, payload }, 4)

/** A remote broker of 3.1.1 that sends `behind` after CONNACK, and passes CONNECT of 5.0 to `inFive`. */
function liar(behind: Buffer, inFive: PacketHandler): PacketHandler {
  let version = 4
  return (packet, send, close) => {
    if (packet.type === 'connect') version = packet.version
    if (version === 5) return inFive(packet, send, close)
    if (packet.type === 'connect') send(Buffer.concat([connackIn(4), behind]))
    else respond(packet, send)
  }
}

function respond(packet: Packet, send: (bytes: Buffer) => void): void {
  if (packet.type === 'pingreq') send(pingresp)
  if (packet.type === 'publish' && packet.qos === 1) send(ack('puback', packet.packetId))
}

const onConnect =
  (act: (send: (bytes: Buffer) => void, close: () => void) => void): PacketHandler =>
  (packet, send, close) => {
    if (packet.type === 'connect') act(send, close)
  }

const noName = (name: string): Buffer => connackIn(5, { properties: { userProperties: [[loopMarkerName, name]] } })

const lies: readonly (readonly [what: string, inFive: PacketHandler])[] = [
  ['closes after CONNECT of 5.0', onConnect((_, close) => close())],
  ['refuses 5.0', onConnect((send) => send(connackIn(5, { reasonCode: reasonCodes.unsupportedProtocolVersion })))],
  ['sends no name in 5.0', onConnect((send) => send(connackIn(5)))],
  ['sends an invalid name in 5.0', onConnect((send) => send(noName('a b')))],
  ['sends a name of 5,000 characters in 5.0', onConnect((send) => send(noName('x'.repeat(5_000))))],
  ['does not respond to 5.0', () => undefined],
  ['responds to 5.0 with bytes that are not MQTT', onConnect((send) => send(Buffer.alloc(50, 0xff)))],
]

describe('a remote broker that pretends to be a Godwit and', () => {
  for (const [what, inFive] of lies) {
    test(`${what} is contacted with the configured protocol version after five attempts`, () => {
      const remote = crafted(liar(nameOf('abc'), inFive))
      const world = new Bridged({ bridge: before5, crafted: remote.accept })
      const subscriber = world.local.subscriber(['#', '$godwit/#'])
      world.passSeconds(300)
      assert.deepEqual([world.status.state, world.status.version], ['connected', 4])
      assert.equal(world.status.counters.connects, 1)
      assert.ok(remote.connections <= 12, `${remote.connections} connections`)
      world.local.publish('out/a', 'goes', { qos: 1 })
      assert.equal(world.status.spooled, 0)
      assert.deepEqual(subscriber.payloads, ['goes'], 'its status message reaches no client')
      assert.ok(logged(world, 'notice').length <= 5)
    })
  }

  for (const [what, behind] of [
    ['has a name that is too long', nameOf('x'.repeat(65))],
    ['has an empty name', nameOf('')],
    ['has a name that is not UTF-8', nameOf(Buffer.from([0xc3, 0x28]))],
    ['has a name with a line break', nameOf('a\nb')],
    ['sends its name with QoS 1', encodePublish({ topic: '$godwit/broker', payload: 'abc', qos: 1, packetId: 1 }, 4)],
    ['sends its name to another topic', nameOf('abc', '$godwit/brokers')],
    [
      'says it behind something else',
      Buffer.concat([encodePublish({ topic: 'in/a', payload: 'x' }, 4), nameOf('abc')]),
    ],
  ] as const) {
    test(`${what} is not contacted with 5.0, and no local client receives the message`, () => {
      const remote = crafted(liar(behind, () => assert.fail('it gets CONNECT of 5.0')))
      const rules =
        'subscription = [{remote_topic = "in/#", local_topic = ""}, {remote_topic = "$godwit/#", local_topic = ""}]'
      const world = new Bridged({ bridge: `${before5}, ${rules}`, crafted: remote.accept, isBroken: () => true })
      const subscriber = world.local.subscriber('$godwit/broker')
      world.isBroken = () => false
      world.passSeconds(10)
      assert.deepEqual([world.status.state, world.status.version], ['connected', 4])
      assert.equal(remote.connections, 2, 'one with a clean session, one with a persistent session')
      assert.deepEqual(subscriber.payloads, [])
    })
  }
})

test('messages that a remote broker of 3.1.1 sends after CONNACK are received in order', () => {
  const messages = ['1', '2', '3'].map((payload) => encodePublish({ topic: 'in/a', payload }, 4))
  const remote = crafted(liar(Buffer.concat(messages), () => assert.fail('it gets CONNECT of 5.0')))
  const world = new Bridged({ bridge: `${before5}, ${inward}`, crafted: remote.accept, isBroken: () => true })
  const subscriber = world.local.subscriber('in/#')
  world.isBroken = () => false
  world.passSeconds(10)
  assert.equal(world.status.state, 'connected')
  assert.deepEqual(subscriber.payloads, ['1', '2', '3'])
})

test('a remote broker that does not respond to PINGREQ is connected after two seconds', () => {
  const published: Packet[] = []
  const handlePacket: PacketHandler = (packet, send) => {
    if (packet.type === 'connect') send(connackIn(4))
    if (packet.type !== 'publish') return
    published.push(packet)
    send(ack('puback', packet.packetId))
  }
  const world = new Bridged({ bridge: before5, crafted: crafted(handlePacket).accept })
  assert.equal(world.status.state, 'connecting', 'it may be a Godwit with a slow connection')
  world.passSeconds(3)
  assert.deepEqual([world.status.state, world.status.version, world.status.counters.failures], ['connected', 4, 0])
  world.local.publish('out/a', 'up', { qos: 1 })
  assert.equal(published.length, 1)
})

/** A broker that refuses the bridge bit with `refuse`. */
function narrow(refuse: (send: (bytes: Buffer) => void, close: () => void) => void): {
  handlePacket: PacketHandler
  bits: boolean[]
} {
  const bits: boolean[] = []
  const handlePacket: PacketHandler = (packet, send, close) => {
    if (packet.type !== 'connect') return respond(packet, send)
    bits.push(packet.isBridge)
    if (packet.isBridge) refuse(send, close)
    else send(connackIn(4))
  }
  return { handlePacket, bits }
}

describe('before 5.0, a bridge sets the bridge bit', () => {
  test('whatever its rules, and not if no_local_v4 is false', () => {
    const connects: ConnectPacket[] = []
    const handlePacket: PacketHandler = (packet, send) => {
      if (packet.type === 'connect') connects.push(packet)
      if (packet.type === 'connect') send(connackIn(4))
      else respond(packet, send)
    }
    const world = new Bridged({ bridge: before5, crafted: crafted(handlePacket).accept })
    assert.equal(world.status.state, 'connected')
    world.change(`${before5}, ${inward}`)
    assert.equal(world.status.counters.connects, 1, 'rules change within the open connection')
    assert.deepEqual(new Set(connects.map(({ isBridge }) => isBridge)), new Set([true]))
    world.change(`${before5}, ${inward}, no_local_v4 = false`)
    world.passSeconds(10)
    assert.equal(connects.at(-1)?.isBridge, false)
  })

  for (const [what, expected, refuse] of [
    ['closes', [true, false, true, false, false], (_: unknown, close: () => void) => close()],
    [
      'refuses the protocol version',
      [true, false, false],
      (send: (bytes: Buffer) => void) => send(connackIn(4, { reasonCode: 1 })),
    ],
  ] as const) {
    test(`if a broker ${what}, the bridge connects again at once without the bridge bit`, () => {
      const { handlePacket, bits } = narrow(refuse)
      const world = new Bridged({ bridge: before5, crafted: crafted(handlePacket).accept })
      assert.equal(world.status.state, 'connected')
      assert.deepEqual(bits, expected, 'finally one with a clean session, one with a persistent session')
      assert.equal(world.status.counters.failures, 0)
      assert.deepEqual(logged(world, 'warning'), [])
    })

    test(`if a broker ${what}, it may send messages back: with rules in both directions, the bridge logs a warning`, () => {
      const { handlePacket, bits } = narrow(refuse)
      const world = new Bridged({ bridge: `${before5}, ${inward}`, crafted: crafted(handlePacket).accept })
      assert.match(logged(world, 'warning').join(), /may return messages that the bridge sent/)
      world.passSeconds(100)
      assert.equal(logged(world, 'warning').length, 1)
      assert.deepEqual(bits, expected)
    })
  }

  test('a broker that was contacted without the bridge bit gets it again after a long connection', () => {
    let isNarrow = true
    const bits: boolean[] = []
    const closes: (() => void)[] = []
    const handlePacket: PacketHandler = (packet, send, close) => {
      if (packet.type !== 'connect') return respond(packet, send)
      bits.push(packet.isBridge)
      closes.push(close)
      if (packet.isBridge && isNarrow) close()
      else send(connackIn(4))
    }
    const world = new Bridged({ bridge: `keepalive = 0s, ${before5}`, crafted: crafted(handlePacket).accept })
    world.passSeconds(60)
    isNarrow = false
    closes.at(-1)?.()
    world.passSeconds(10)
    assert.equal(world.status.state, 'connected')
    assert.equal(bits.at(-1), true)
  })

  test('if a broker closes each connection, the bridge tries both forms of CONNECT, with increasing pauses', () => {
    const bits: boolean[] = []
    const handlePacket: PacketHandler = (packet, _send, close) => {
      if (packet.type === 'connect') bits.push(packet.isBridge)
      close()
    }
    const world = new Bridged({ bridge: `${before5}, backoff_max = 10s`, crafted: crafted(handlePacket).accept })
    world.passSeconds(600)
    assert.ok(bits.length >= 120 && bits.length <= 260, `${bits.length} connections`)
    assert.deepEqual(bits.slice(0, 4), [true, false, true, false])
    assert.equal(world.events.filter((event) => event.event === 'disconnected' && event.isNew).length, 1)
    assert.deepEqual(logged(world, 'warning'), [])
  })

  test('if a broker stops during CONNECT, the bridge sends the bridge bit again when it is back', () => {
    const bits: boolean[] = []
    const away = { isAway: false }
    const handlePacket: PacketHandler = (packet, send, close) => {
      if (packet.type !== 'connect') return respond(packet, send)
      bits.push(packet.isBridge)
      if (bits.length > 1) return send(connackIn(4))
      away.isAway = true
      close()
    }
    const world = new Bridged({ bridge: before5, crafted: crafted(handlePacket).accept, isBroken: () => away.isAway })
    assert.equal(world.status.state, 'waiting')
    away.isAway = false
    world.passSeconds(10)
    assert.equal(world.status.state, 'connected')
    assert.ok(bits.length > 1 && bits.every((bit) => bit))
  })
})
