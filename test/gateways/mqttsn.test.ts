// The MQTT-SN gateway in memory, with a simulated clock: retries, lost clients, and messages that a client
// cannot receive. By section F3 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway } from '../../src/gateways/index.ts'
import { PublishPacket, type QoS, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

/** The addresses of the loopback have proven themselves: see amplification.test.ts for others. */
const peer = { address: '127.0.0.7', port: 4_000 }
const topics = new TopicTable(16)

class Stage extends GatewayStage {
  get resumesTopics(): boolean {
    return false
  }

  readonly gateway = new MqttSnGateway({ ...snSettings, resumesTopics: this.resumesTopics }, this.dependencies)

  receive(...octets: readonly (number | string)[]): void {
    this.receiveFrom(peer.port, ...octets)
  }

  receiveFrom(port: number, ...octets: readonly (number | string)[]): void {
    const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
    this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), { ...peer, port })
  }

  /** The sent packets since the last call, in hexadecimal. */
  taken(): readonly string[] {
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  connected(durationSeconds = 60, flags = 0x04): void {
    this.receive(0x04, flags, 1, durationSeconds >> 8, durationSeconds & 255, 'dev')
    this.acceptAll()
    assert.deepEqual(this.taken(), ['030500'])
  }

  /** A message of the broker for the client. */
  deliver(topic: string, qos: QoS, packetId: number, payload = 'x'): void {
    const packet = new PublishPacket(
      topics.internName(topic as TopicName),
      { qos, retain: false, dup: false },
      Buffer.from(payload),
    )
    packet.packetId = packetId
    packet.frameEnd = payload.length
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  /** An acknowledgement of the broker for the client. */
  acknowledge(type: 'puback' | 'pubrec', packetId: number): void {
    this.connections.at(-1)?.callbacks.handlePacket({ type, packetId, reasonCode: 0, properties: undefined })
  }

  wait(ms: number): void {
    this.nowMs += ms
    this.gateway.tick()
  }
}

describe('[F3] a client that has published', () => {
  test('gets PUBACK before messages, as it may have one exchange at a time', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0c, 0x21, 0, 5, 0, 1, 'own')
    stage.deliver('pre/defined', 1, 7)
    stage.deliver('ab', 0, 0)
    assert.deepEqual(stage.taken(), [])
    stage.acknowledge('puback', 1)
    assert.deepEqual(stage.taken(), ['070d0005000100', '080c210005000778', '080c026162000078'])
  })

  test('gets PUBREC before messages, and they do not wait for PUBREL', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0c, 0x41, 0, 5, 0, 1, 'own')
    stage.deliver('ab', 0, 0)
    assert.deepEqual(stage.taken(), [])
    stage.acknowledge('pubrec', 1)
    assert.deepEqual(stage.taken(), ['040f0001', '080c026162000078'])
    stage.deliver('cd', 0, 0)
    assert.deepEqual(stage.taken(), ['080c026364000078'])
  })

  test('gets messages between continuous publications', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0c, 0x21, 0, 5, 0, 1, 'first')
    stage.deliver('ab', 0, 0)
    stage.receive(0x0c, 0x21, 0, 5, 0, 2, 'second')
    stage.acknowledge('puback', 1)
    assert.deepEqual(stage.taken(), ['070d0005000100', '080c026162000078'])
  })
})

describe('[F3] a message for a client', () => {
  test('is sent again with DUP until it is acknowledged', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('pre/defined', 1, 7)
    assert.deepEqual(stage.taken(), ['080c210005000778'])
    stage.wait(9_999)
    assert.deepEqual(stage.taken(), [])
    stage.wait(1)
    assert.deepEqual(stage.taken(), ['080ca10005000778'])
    stage.receive(0x0d, 0, 5, 0, 7, 0)
    stage.wait(20_000)
    assert.deepEqual(stage.taken(), [])
  })

  test('disconnects its client if it is not acknowledged after max_retries', () => {
    const stage = new Stage()
    stage.connected(600)
    stage.deliver('pre/defined', 1, 7)
    for (let retry = 0; retry < 4; retry++) stage.wait(10_000)
    assert.equal(stage.taken().length, 4)
    assert.equal(stage.gateway.clients, 0)
  })

  test('of an unknown topic waits for REGACK; other topics continue', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('a/long/name', 0, 0)
    stage.deliver('a/long/name', 0, 0, 'y')
    stage.deliver('ab', 0, 0)
    const [register = '', short] = stage.taken()
    assert.match(register, /^110a0001ffff/)
    assert.equal(short, '080c026162000078')
    stage.receive(0x0b, 0, 1, 0xff, 0xff, 0)
    assert.deepEqual(stage.taken(), ['080c000001000078', '080c000001000079'])
  })

  test('of a topic that it rejects is dropped and counted', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('a/long/name', 0, 0)
    stage.taken()
    stage.receive(0x0b, 0, 1, 0xff, 0xff, 2)
    assert.deepEqual(stage.taken(), [])
    assert.equal(stage.dependencies.counters.dropped['not-registered'], 1)
  })

  test('with an unknown topic id is registered and sent again', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0a, 0, 0, 0, 1, 'a/long/name')
    assert.deepEqual(stage.taken(), ['070b0001000100'])
    stage.deliver('a/long/name', 1, 9)
    assert.deepEqual(stage.taken(), ['080c200001000978'])
    stage.receive(0x0d, 0, 1, 0, 9, 2)
    assert.match(stage.taken()[0] ?? '', /^110a0001/)
    stage.receive(0x0b, 0, 1, 0xff, 0xff, 0)
    assert.deepEqual(stage.taken(), ['080ca00001000978'])
  })

  test('at QoS 2 is released by PUBREL, and one is in flight at a time', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('ab', 2, 3)
    stage.deliver('cd', 1, 4)
    assert.deepEqual(stage.taken(), ['080c426162000378'])
    stage.receive(0x0f, 0, 3)
    stage.connections
      .at(-1)
      ?.callbacks.handlePacket({ type: 'pubrel', packetId: 3, reasonCode: 0, properties: undefined })
    assert.deepEqual(stage.taken(), ['04100003'])
    stage.wait(10_000)
    assert.deepEqual(stage.taken(), ['04100003'])
    stage.receive(0x0e, 0, 3)
    assert.deepEqual(stage.taken(), ['080c226364000478'])
  })
})

describe('[F3] a client that is silent is lost', () => {
  for (const [seconds, lostMs] of [
    [10, 15_000],
    [60, 90_000],
    [100, 110_000],
  ] as const) {
    test(`after ${lostMs} ms with a duration of ${seconds} s`, () => {
      const stage = new Stage()
      stage.connected(seconds)
      stage.wait(lostMs - 1)
      assert.equal(stage.gateway.clients, 1)
      stage.wait(1)
      assert.equal(stage.gateway.clients, 0)
    })
  }

  test('never, with a duration of 0, and after idle_timeout if it does not complete CONNECT', () => {
    const stage = new Stage()
    stage.connected(0)
    stage.wait(1_000_000_000)
    assert.equal(stage.gateway.clients, 1)
    const other = new Stage()
    other.receive(0x04, 0x0c, 1, 0, 60, 'dev')
    assert.deepEqual(other.taken(), ['0206'])
    other.wait(30_000)
    assert.equal(other.gateway.clients, 0)
  })
})

describe('[F3] a client', () => {
  test('that sleeps longer than its keep alive stays connected to the broker', () => {
    const stage = new Stage()
    stage.connected(60)
    stage.receive(0x18, 0x0e, 0x10)
    assert.deepEqual(stage.taken(), ['0218'])
    const { packets } = stage.connections[0] ?? assert.fail()
    for (let seconds = 0; seconds < 3_600; seconds += 60) {
      packets.splice(0)
      stage.wait(60_000)
      assert.ok(
        packets.some(({ type }) => type === 'pingreq'),
        `nothing was heard in the minute from ${seconds} s on`,
      )
    }
    assert.equal(stage.gateway.clients, 1)
  })

  test('whose CONNACK was lost gets another one; after another packet, CONNECT starts a new session', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x04, 0, 1, 0, 60, 'dev')
    assert.deepEqual(stage.taken(), ['030500'])
    assert.equal(stage.connections.length, 1)
    stage.receive(0x0a, 0, 0, 0, 1, 'topic')
    stage.taken()
    stage.receive(0x04, 0, 1, 0, 60, 'dev')
    assert.deepEqual(stage.taken(), [], 'the broker has not acknowledged yet')
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['030500'])
    assert.equal(stage.connections.length, 2)
  })

  test('gets a refusal for its publications while the broker does not read', () => {
    const stage = new Stage()
    stage.connected()
    const { published } = stage.connections[0] ?? assert.fail()
    stage.unsentBytes = 1_048_577
    stage.receive(0x0c, 0x21, 0, 5, 0, 9, 'x')
    assert.deepEqual(stage.taken(), ['070d0005000901'])
    stage.receive(0x0c, 0x01, 0, 5, 0, 0, 'x')
    assert.equal(stage.dependencies.counters.dropped['queue-full'], 2)
    assert.equal(published.length, 0)
    stage.unsentBytes = 0
    stage.receive(0x0c, 0x21, 0, 5, 0, 9, 'x')
    assert.equal(published.length, 1)
  })

  test('gets a refusal for congestion if the broker has its maximum of connections', () => {
    const stage = new Stage()
    stage.hasSpace = false
    stage.receive(0x04, 0x04, 1, 0, 60, 'dev')
    assert.deepEqual(stage.taken(), ['030501'])
    assert.equal(stage.connections.length, 0)
  })

  test('with another client ID at the same address disconnects the previous client, with its will, and has its own topic ids', () => {
    const stage = new Stage()
    stage.receive(0x04, 0x08, 1, 0, 60, 'dev')
    stage.receive(0x07, 0x00, 'gone')
    stage.receive(0x09, 'bye')
    stage.acceptAll()
    stage.receive(0x0a, 0, 0, 0, 1, 'only/of/dev')
    stage.taken()
    stage.receive(0x04, 0x00, 1, 0, 60, 'next')
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['030500'])
    assert.deepEqual(
      stage.connections.map(({ published }) =>
        published.map(({ topic, chunk }) => `${topic?.name} ${chunk.toString()}`),
      ),
      [['gone bye'], []],
    )
    assert.equal(stage.gateway.clients, 1)
    stage.receive(0x0c, 0x00, 0, 1, 0, 0, 'x')
    assert.deepEqual(stage.taken(), ['070d0001000002'], 'unknown topic id')
  })
})

class ResumingStage extends Stage {
  override get resumesTopics(): boolean {
    return true
  }
}

describe('[F3] a client with a session', () => {
  test('gets its topic ids again when it connects, with subs_resume: a few at a time', () => {
    const stage = new ResumingStage()
    stage.connected(60, 0)
    for (let id = 1; id <= 6; id++) {
      stage.receive(0x0a, 0, 0, 0, id, `topic/${id}`)
      stage.taken()
    }
    stage.receive(0x18)
    stage.taken()
    stage.receive(0x04, 0, 1, 0, 60, 'dev')
    stage.acceptAll()
    const [connack, ...registers] = stage.taken()
    assert.equal(connack, '030500')
    assert.deepEqual(
      registers.map((hex) => hex.slice(0, 8)),
      ['0d0a0001', '0d0a0002', '0d0a0003', '0d0a0004'],
    )
    const messageId = Buffer.from(registers[0]?.slice(8, 12) ?? '', 'hex')
    stage.receive(0x0b, 0, 1, ...messageId, 0)
    assert.deepEqual(
      stage.taken().map((hex) => hex.slice(0, 8)),
      // 5 is predefined.
      ['0d0a0006'],
    )
  })

  test('that sleeps and connects from another port gets its queued messages, also at QoS 0', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x18, 0, 60)
    stage.taken()
    stage.deliver('ab', 0, 0)
    stage.receiveFrom(4_001, 0x04, 0, 1, 0, 60, 'dev')
    assert.deepEqual(
      stage.sent.map(({ peer: { port } }) => port),
      [4_001, 4_001],
    )
    assert.deepEqual(stage.taken(), ['030500', '080c026162000078'])
    assert.equal(stage.gateway.clients, 1)
  })

  test('that sleeps gets PINGRESP for a PINGREQ without its id, and stays asleep', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x18, 0, 60)
    stage.taken()
    stage.deliver('ab', 0, 0)
    stage.receive(0x16)
    assert.deepEqual(stage.taken(), ['0217'])
  })

  test('that connects again while it is awake gets PINGRESP for its PINGREQ in its next sleep', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x18, 0, 60)
    stage.receive(0x16, 'dev')
    stage.taken()
    // Another session: the connection to the broker ends before its PINGRESP.
    stage.connected(60, 0x04)
    stage.receive(0x18, 0, 60)
    stage.receive(0x16, 'dev')
    stage.taken()
    stage.connections.at(-1)?.callbacks.handlePacket({ type: 'pingresp' })
    assert.deepEqual(
      stage.connections.at(-1)?.packets.map(({ type }) => type),
      ['pingreq'],
    )
    assert.deepEqual(stage.taken(), ['0217'])
  })

  test('that is asleep because of a late copy of DISCONNECT gets DISCONNECT for its REGISTER, at most once in 5 s', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x18, 0, 60)
    stage.receive(0x04, 0, 1, 0, 60, 'dev')
    stage.receive(0x18, 0, 60)
    assert.deepEqual(stage.taken(), ['0218', '030500', '0218'])
    stage.deliver('ab', 1, 7)
    const register = (): void => stage.receive(0x0a, 0, 0, 0, 1, 'up/dev')
    register()
    register()
    stage.receive(0x0d, 0, 1, 0, 7, 0)
    assert.deepEqual(stage.taken(), ['0218'])
    stage.wait(5_000)
    register()
    assert.deepEqual(stage.taken(), ['0218'])
    stage.receive(0x04, 0, 1, 0, 60, 'dev')
    assert.deepEqual(stage.taken(), ['030500', '080c226162000778'], 'its messages are queued')
    register()
    assert.deepEqual(stage.taken(), ['070b0001000100'])
  })

  test('gets the response to a new will when the broker has it', () => {
    const stage = new Stage()
    stage.connected(60, 0)
    stage.receive(0x1a, 0, 'will/topic')
    assert.deepEqual(stage.taken(), [])
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['031b00'])
    stage.receive(0x1c, 'gone')
    assert.deepEqual(stage.taken(), [])
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['031d00'])
  })
})

test('[F1] a clean session is not stored: it survives its connection only while its will changes', () => {
  const stage = new Stage()
  stage.receive(0x04, 0x04, 1, 0, 60, 'dev')
  const [connect] = stage.connections[0]?.packets ?? []
  assert.equal(connect?.type === 'connect' && connect.properties?.sessionExpiryIntervalSeconds, 0)
  stage.acceptAll()
  stage.receive(0x1a, 0, 'will/topic')
  const goodbyeOf = (connection: number): unknown => stage.connections[connection]?.goodbye
  assert.deepEqual(goodbyeOf(0), {
    type: 'disconnect',
    reasonCode: 0,
    properties: { sessionExpiryIntervalSeconds: 60 },
  })
  stage.acceptAll()
  stage.receive(0x18)
  assert.deepEqual(goodbyeOf(1), { type: 'disconnect', reasonCode: 0, properties: { sessionExpiryIntervalSeconds: 0 } })
})

test('[F8] an address has at most 1,024 clients, a loopback address any number', () => {
  const stage = new Stage()
  const limits = stage.dependencies.addresses
  for (let client = 0; client < 1_024; client++) assert.ok(limits.takeClient('192.0.2.7'))
  const connect = Buffer.from('0904040100003c6465', 'hex')
  connect[0] = connect.length
  const remote = { address: '192.0.2.7', port: 4_000 }
  stage.gateway.handleDatagram(connect, remote)
  assert.deepEqual(stage.taken(), ['030501'])
  limits.releaseClient('192.0.2.7')
  stage.gateway.handleDatagram(connect, remote)
  assert.equal(stage.gateway.clients, 1)
  for (let client = 0; client < 3_000; client++) assert.ok(limits.takeClient('127.0.0.1'))
})

describe('[F3] unauthenticated clients', () => {
  test('get DISCONNECT at most once in 5 s for each address', () => {
    const stage = new Stage()
    for (let count = 0; count < 20; count++) stage.receive(0x16)
    assert.deepEqual(stage.taken(), ['0218'])
    stage.wait(5_000)
    stage.receive(0x16)
    assert.deepEqual(stage.taken(), ['0218'])
  })

  test('that send DISCONNECT, or PINGREQ with the client ID of no sleeping client, get a response to each, up to 10 per second', () => {
    const stage = new Stage()
    stage.receive(0x16)
    assert.deepEqual(stage.taken(), ['0218'])
    stage.receive(0x18)
    stage.receive(0x16, 'ghost')
    stage.receive(0x0a, 0, 0, 0, 1, 'a')
    assert.deepEqual(stage.taken(), ['0218', '0218'])
    for (let count = 0; count < 100; count++) stage.receive(0x18)
    assert.ok(stage.taken().length <= 10)
  })

  test('a client that sends PINGREQ with another client ID gets DISCONNECT, and its own state stays', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x16, 'other')
    stage.receive(0x16, 'dev')
    assert.deepEqual(stage.taken(), ['0218', '0217'])
  })

  test('get 10 responses to SEARCHGW per second', () => {
    const stage = new Stage()
    for (let count = 0; count < 100; count++) stage.receive(0x01, 0)
    assert.equal(stage.taken().length, 10)
  })
})
