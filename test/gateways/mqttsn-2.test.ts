// MQTT-SN 2.0 in memory, by the sections of Committee Specification Draft 01. The tests encode packets by its tables.

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
  readonly gateway = new MqttSnGateway({ ...snSettings, speaksVersion2: this.speaksVersion2 }, this.dependencies)

  get speaksVersion2(): boolean {
    return true
  }

  receive(...octets: readonly (number | string)[]): void {
    const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
    this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), peer)
  }

  /** The sent packets since the last call, in hexadecimal. */
  taken(): readonly string[] {
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  /** CONNECT with Clean Start and a session of one hour. */
  connected(flags = 0x09): void {
    this.receive(0x01, flags, 0xab, 0xcd, 2, 0, 60, 0, 0, 0, 0, 0x0e, 0x10, 'dev')
    this.acceptAll()
    assert.deepEqual(this.taken(), ['060200abcd00'])
  }

  get mqtt() {
    return this.connections.at(-1) ?? assert.fail('there is no connection')
  }

  deliver(topic: string, qos: QoS, packetId: number): void {
    const options = { qos, retain: false, dup: false }
    const packet = new PublishPacket(topics.internName(topic as TopicName), options, Buffer.from('x'))
    packet.packetId = packetId
    packet.frameEnd = 1
    this.mqtt.callbacks.handlePacket(packet)
  }

  acknowledge(type: 'puback' | 'pubrec' | 'pubcomp', packetId: number, reasonCode = 0): void {
    this.mqtt.callbacks.handlePacket({ type, packetId, reasonCode, properties: undefined } as never)
  }
}

describe('[2.0: 3.1] CONNECT', () => {
  test('is accepted by its protocol version, on the socket of 1.2', () => {
    const stage = new Stage()
    stage.receive(0x01, 0x09, 0xab, 0xcd, 2, 0, 60, 0, 0, 0, 0, 0x0e, 0x10, 'dev')
    const connect = stage.mqtt.packets[0]
    assert.ok(connect?.type === 'connect')
    assert.deepEqual(
      [
        connect.clientId,
        connect.cleanStart,
        connect.keepAliveSeconds,
        connect.properties?.sessionExpiryIntervalSeconds,
      ],
      ['dev', true, 60, 3_600],
    )
    assert.equal(connect.username, undefined)
  })

  test('is dropped if 2.0 is disabled', () => {
    class Old extends Stage {
      override get speaksVersion2(): boolean {
        return false
      }
    }
    const stage = new Old()
    stage.receive(0x01, 0x01, 0, 1, 2, 0, 60, 0, 0, 'dev')
    assert.deepEqual([stage.taken(), stage.connections.length], [[], 0])
    assert.equal(stage.dependencies.counters.dropped.malformed, 1)
  })

  test('has a will, a user name and a password, and its session ends with the connection without an expiry', () => {
    const stage = new Stage()
    // Flags: will, authentication. Will flags: retain, QoS 1, topic name.
    const will = [0, 2, 'wt', 0, 3, 'bye'] as const
    const credentials = [10, 'MQTT-BASIC', 0, 8, 0, 1, 'u', 0, 3, 'pwd'] as const
    stage.receive(0x01, 0x06, 0x17, 0, 1, 2, 0, 60, 0, 0, ...will, ...credentials, 'dev')
    const connect = stage.mqtt.packets[0]
    assert.ok(connect?.type === 'connect')
    assert.deepEqual([connect.username, connect.password?.toString()], ['u', 'pwd'])
    assert.deepEqual(
      [connect.will?.topic, connect.will?.payload.toString(), connect.will?.qos, connect.will?.retain],
      ['wt', 'bye', 1, true],
    )
    assert.equal(connect.properties?.sessionExpiryIntervalSeconds, 0)
  })

  test('without a client ID gets an assigned one, also when it is repeated', () => {
    const stage = new Stage()
    stage.receive(0x01, 0x01, 0, 1, 2, 0, 60, 0, 0)
    stage.acceptAll()
    const [response = ''] = stage.taken()
    const assigned = Buffer.from(response, 'hex').toString('utf8', 6)
    assert.match(assigned, /^[0-9a-f-]{36}$/)
    stage.receive(0x01, 0x01, 0, 1, 2, 0, 60, 0, 0)
    assert.deepEqual(stage.taken(), [response])
    assert.equal(stage.connections.length, 1)
  })

  for (const [name, octets, responses] of [
    ['an unknown authentication method', [0x05, 0, 1, 2, 0, 60, 0, 0, 1, 'X', 0, 0, 'dev'], ['06020000018c']],
    ['keep alive 0', [0x01, 0, 1, 2, 0, 0, 0, 0, 'dev'], ['060200000182']],
    ['a will to an unknown predefined topic', [0x03, 0x01, 0, 1, 2, 0, 60, 0, 0, 0, 9, 0, 0, 'd'], ['060200000190']],
    ['a reserved flag', [0x81, 0, 1, 2, 0, 60, 0, 0, 'dev'], []],
    ['a maximum packet size below 10', [0x01, 0, 1, 2, 0, 60, 0, 9, 'dev'], []],
    ['a will that is truncated', [0x03, 0x03, 0, 1, 2, 0, 60, 0, 0, 0, 9, 'wt'], []],
  ] as const) {
    test(`with ${name} is refused`, () => {
      const stage = new Stage()
      stage.receive(0x01, ...octets)
      assert.deepEqual([stage.taken(), stage.connections.length], [responses, 0])
    })
  }
})

describe('[2.0: 3.4, 3.6] topics and publications', () => {
  test('REGACK has a topic alias, or the predefined one', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x10, 0, 0, 1, 'a/b')
    stage.receive(0x10, 0, 0, 2, 'pre/defined')
    stage.receive(0x10, 0, 0, 3, 'a/#')
    stage.receive(0x10, 0, 0, 4, 'ab')
    assert.deepEqual(stage.taken(), ['0811040001000100', '081105000200051a', '061100000383', '0811040004000200'])
  })

  test('PUBLISH has an alias, a predefined alias or a name', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x10, 0, 0, 1, 'a/b')
    stage.taken()
    stage.receive(0x03, 0x00, 0, 1, 'zero')
    stage.receive(0x03, 0x20 | 0x01, 0, 9, 0, 5, 'one')
    stage.receive(0x03, 0x40 | 0x10 | 0x03, 0, 10, 0, 3, 'c/d', 'two')
    assert.deepEqual(
      stage.mqtt.published.map(({ topic, qos, retain, chunk }) => [topic.name, qos, retain, chunk.toString()]),
      [
        ['a/b', 0, false, 'zero'],
        ['pre/defined', 1, false, 'one'],
        ['c/d', 2, true, 'two'],
      ],
    )
    stage.acknowledge('puback', 9)
    stage.acknowledge('pubrec', 10)
    stage.acknowledge('pubcomp', 10)
    assert.deepEqual(stage.taken(), ['0504000900', '0505000a00', '0507000a00'])
  })

  test('a refused publication is acknowledged with the reason of the broker', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x03, 0x20, 0, 9, 0, 77, 'x')
    stage.receive(0x03, 0x40, 0, 10, 0, 77, 'x')
    stage.receive(0x03, 0x00, 0, 77, 'x')
    assert.deepEqual(stage.taken(), ['05040009f0', '0505000af0'])
    stage.receive(0x03, 0x23, 0, 11, 0, 1, 'a', 'x')
    stage.acknowledge('puback', 11, 0x87)
    assert.deepEqual(stage.taken(), ['0504000b87'])
  })

  test('a delivery registers its topic, waits for REGACK without an alias, and is acknowledged', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('ab', 1, 7)
    assert.deepEqual(stage.taken(), ['091001ffff00016162'])
    stage.receive(0x11, 0, 0xff, 0xff)
    assert.deepEqual(stage.taken(), ['0803200007000178'])
    stage.receive(0x04, 0, 7, 0xf0)
    assert.deepEqual(stage.taken(), ['091001fffe00016162'], 'the client does not know the alias any more')
    stage.receive(0x11, 0, 0xff, 0xfe, 0)
    assert.deepEqual(stage.taken(), ['0803a00007000178'])
    stage.receive(0x04, 0, 7)
    assert.deepEqual(stage.mqtt.acknowledged, [['puback', 7]])
    stage.deliver('ab', 0, 0)
    assert.deepEqual(stage.taken(), ['060300000178'])
  })

  test('a delivery that is larger than the maximum packet size is dropped', () => {
    const stage = new Stage()
    stage.receive(0x01, 0x01, 0, 1, 2, 0, 60, 0, 10, 'dev')
    stage.acceptAll()
    stage.taken()
    const options = { qos: 0, retain: false, dup: false } as const
    const packet = new PublishPacket(topics.internName('pre/defined' as TopicName), options, Buffer.from('too long'))
    packet.frameEnd = 8
    stage.mqtt.callbacks.handlePacket(packet)
    assert.deepEqual([stage.taken(), stage.dependencies.counters.dropped['too-large']], [[], 1])
  })

  test('[3.6.1] PUBWOS needs no connection and has no response', () => {
    const stage = new Stage()
    stage.receive(0x12, 0x03, 0, 1, 'a', 'x')
    stage.receive(0x12, 0x01, 0, 77, 'x')
    assert.deepEqual(stage.taken(), [])
    assert.equal(stage.connections.length, 1)
    stage.acceptAll()
    assert.deepEqual(
      stage.mqtt.published.map(({ topic, qos }) => [topic.name, qos]),
      [['a', 0]],
    )
  })
})

describe('[2.0: 3.7] subscriptions', () => {
  test('have the options of MQTT 5.0; SUBACK has an alias if there is one', () => {
    const stage = new Stage()
    stage.connected()
    // No local, QoS 1, retain as published, retain handling 2, filter.
    stage.receive(0x08, 0x80 | 0x20 | 0x10 | 0x08 | 0x03, 0, 20, 'a/b')
    stage.receive(0x08, 0x43, 0, 21, 'a/#')
    stage.receive(0x08, 0x01, 0, 22, 0, 5)
    stage.receive(0x08, 0x00, 0, 23, 0, 1)
    const subscribes = stage.mqtt.packets.flatMap((packet) => (packet.type === 'subscribe' ? packet.subscriptions : []))
    assert.deepEqual(subscribes, [
      { filter: 'a/b', qos: 1, noLocal: true, retainAsPublished: true, retainHandling: 2 },
      { filter: 'a/#', qos: 2, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      { filter: 'pre/defined', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 },
      { filter: 'a/b', qos: 0, noLocal: false, retainAsPublished: false, retainHandling: 0 },
    ])
    for (const [packetId, reasonCode] of [
      [20, 1],
      [21, 2],
      [22, 0],
      [23, 0x87],
    ] as const)
      stage.mqtt.callbacks.handlePacket({ type: 'suback', packetId, reasonCodes: [reasonCode], properties: undefined })
    assert.deepEqual(stage.taken(), ['0809040014000101', '060901001502', '060901001600', '060901001787'])
  })

  test('end with UNSUBSCRIBE; malformed packets are dropped', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0a, 0x03, 0, 30, 'a/#')
    const last = stage.mqtt.packets.at(-1)
    assert.ok(last?.type === 'unsubscribe')
    assert.deepEqual(last.filters, ['a/#'])
    stage.mqtt.callbacks.handlePacket({ type: 'unsuback', packetId: 30, reasonCodes: [0], properties: undefined })
    assert.deepEqual(stage.taken(), ['050b001e00'])
    for (const octets of [
      [0x08, 0x63, 0, 1, 'a'],
      [0x08, 0x0f, 0, 1, 'a'],
      [0x08, 0x02, 0, 1, 'a'],
      [0x08, 0x03, 0, 1],
    ])
      stage.receive(...octets)
    assert.equal(stage.dependencies.counters.dropped.malformed, 4)
    assert.deepEqual(stage.taken(), [])
  })
})

describe('[2.0: 3.11, 3.13, 3.15] pings, sleep and the end', () => {
  test('PINGRESP has the packet identifier of PINGREQ', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0c, 0x12, 0x34)
    assert.deepEqual(stage.taken(), ['040d1234'])
  })

  test('a client is lost after 1.5 times its keep alive', () => {
    const stage = new Stage()
    stage.connected()
    stage.nowMs += 89_999
    stage.gateway.tick()
    assert.equal(stage.gateway.clients, 1)
    stage.nowMs += 1
    stage.gateway.tick()
    assert.equal(stage.gateway.clients, 0)
  })

  test('a sleeping client gets its queued messages when it sends PINGREQ, and stays asleep', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x13, 1, 0, 40, 0, 1, 0, 0)
    assert.deepEqual(stage.taken(), ['061400002800'])
    stage.deliver('pre/defined', 1, 7)
    assert.deepEqual(stage.taken(), [])
    stage.receive(0x0c, 0, 41)
    assert.deepEqual(stage.taken(), ['0803210007000578'])
    stage.receive(0x04, 0, 7)
    stage.mqtt.callbacks.handlePacket({ type: 'pingresp' })
    assert.deepEqual(stage.taken(), ['040d0029'])
    stage.deliver('pre/defined', 0, 0)
    assert.deepEqual(stage.taken(), [])
    stage.nowMs += 65_536 * 1_500
    stage.gateway.tick()
    assert.equal(stage.gateway.clients, 0)
  })

  test('a sleeping client is known after a restart, with its version', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x13, 1, 0, 40, 0, 1, 0, 0)
    stage.gateway.close()
    const restarted = new Stage()
    restarted.gateway.restore(new Map(stage.stored))
    const [connect] = restarted.mqtt.packets
    assert.ok(connect?.type === 'connect')
    assert.deepEqual([connect.cleanStart, connect.properties?.sessionExpiryIntervalSeconds], [false, 3_600])
    restarted.acceptAll()
    restarted.receive(0x0c, 0, 41)
    restarted.mqtt.callbacks.handlePacket({ type: 'pingresp' })
    assert.deepEqual(restarted.taken(), ['040d0029'])
  })

  test('[3.15.2.1] aliases that are not retained are registered again after a sleep', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x10, 0, 0, 1, 'a/b')
    stage.receive(0x13, 0, 0, 40, 0, 0, 0, 60)
    stage.taken()
    stage.deliver('a/b', 0, 0)
    stage.receive(0x0c, 0, 41)
    assert.deepEqual(stage.taken(), ['0a1001ffff0001612f62'])
  })

  test('DISCONNECT has no response, and sets when the session ends', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0e, 0x06, 0, 0, 0, 0, 30)
    assert.deepEqual([stage.taken(), stage.gateway.clients], [[], 0])
    assert.deepEqual(stage.mqtt.goodbye, {
      type: 'disconnect',
      reasonCode: 0,
      properties: { sessionExpiryIntervalSeconds: 30 },
    })
  })

  test('DISCONNECT without flags, as of the clients of Paho, ends a connection, too', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x0e)
    assert.deepEqual([stage.taken(), stage.gateway.clients], [[], 0])
  })

  test('DISCONNECT of the broker has its reason, and so has the DISCONNECT for a client without a connection', () => {
    const stage = new Stage()
    stage.connected()
    stage.mqtt.callbacks.handlePacket({ type: 'disconnect', reasonCode: 0x8e, properties: undefined })
    assert.deepEqual(stage.taken(), ['040e048e'])
    stage.receive(0x0c, 0, 1)
    assert.deepEqual(stage.taken(), ['040e04f4'])
  })

  test('a client of 1.2 at the address of one of 2.0 replaces it', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x04, 0x04, 1, 0, 60, 'old')
    stage.acceptAll()
    assert.deepEqual(stage.taken(), ['030500'])
    stage.receive(0x16)
    assert.deepEqual(stage.taken(), ['0217'])
    stage.connected()
    assert.equal(stage.gateway.clients, 1)
  })
})
