// The STOMP gateway in memory, with a simulated clock. By section F6 of the gateway requirements and the chapters of STOMP 1.2.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  type GatewayStream,
  type GatewayStreamCallbacks,
  StompGateway,
  type StompSettings,
} from '../../src/gateways/index.ts'
import { PublishPacket, type QoS, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)

const settings: StompSettings = {
  maxHeaders: 10,
  maxHeaderBytes: 1_024,
  maxBodyBytes: 65_536,
  idleTimeoutMs: 30_000,
  override: { clientId: undefined, username: undefined, password: undefined },
}

class Device {
  readonly written: Buffer[] = []
  isPaused = false
  isEnded = false
  unsentBytes = 0
  readonly #callbacks: GatewayStreamCallbacks

  constructor(gateway: StompGateway) {
    const stream: GatewayStream = {
      peer: { address: '192.0.2.7', port: 4_000 },
      write: (bytes) => void this.written.push(bytes),
      unsentBytes: 0,
      pause: () => (this.isPaused = true),
      resume: () => (this.isPaused = false),
      end: () => (this.isEnded = true),
    }
    Object.defineProperty(stream, 'unsentBytes', { get: () => this.unsentBytes })
    this.#callbacks = gateway.accept(stream)
  }

  /** Sends lines with `^` for NUL. */
  send(text: string): void {
    this.sendBytes(Buffer.from(text.replaceAll('^', '\0')))
  }

  sendBytes(bytes: Buffer): void {
    this.#callbacks.handleBytes(bytes)
  }

  handleWritten(): void {
    this.#callbacks.handleWritten()
  }

  closed(): void {
    this.#callbacks.handleClosed()
  }

  /** The sent frames since the last call, with `^` for NUL. */
  taken(): string {
    return Buffer.concat(this.written.splice(0)).toString().replaceAll('\0', '^')
  }
}

class Stage extends GatewayStage {
  readonly gateway: StompGateway

  constructor(more: Partial<StompSettings> = {}) {
    super()
    this.gateway = new StompGateway({ ...settings, ...more }, this.dependencies)
  }

  device(): Device {
    return new Device(this.gateway)
  }

  connected(version = '1.2', more = ''): Device {
    const device = this.device()
    device.send(`CONNECT\naccept-version:${version}\nhost:h\n${more}\n^`)
    this.acceptAll()
    assert.match(device.taken(), /^CONNECTED\nversion:/)
    return device
  }

  get mqtt() {
    return this.connections.at(-1) ?? assert.fail('there is no connection to the broker')
  }

  acknowledge(type: 'puback' | 'pubrec' | 'pubcomp', packetId: number, reasonCode: 0 | 0x87 = 0): void {
    this.mqtt.callbacks.handlePacket({ type, packetId, reasonCode, properties: undefined })
  }

  deliver(topic: string, identifier: number, { qos = 0, packetId = 0, payload = 'x' } = {}): void {
    const packet = new PublishPacket(
      topics.internName(topic as TopicName),
      { qos: qos as QoS, retain: false, dup: false },
      Buffer.from(payload),
    )
    packet.packetId = packetId
    packet.frameEnd = Buffer.byteLength(payload)
    packet.properties = { subscriptionIdentifiers: [identifier] }
    this.mqtt.callbacks.handlePacket(packet)
  }

  wait(ms: number): void {
    this.nowMs += ms
    this.gateway.tick()
  }
}

describe('[F6] CONNECT', () => {
  for (const [offered, agreed] of [
    ['1.2', '1.2'],
    ['1.0,1.1,2.0', '1.1'],
    ['1.0', '1.0'],
  ] as const) {
    test(`that accepts ${offered} gets ${agreed}`, () => {
      const stage = new Stage()
      const device = stage.device()
      device.send(`CONNECT\naccept-version:${offered}\nhost:h\n\n^`)
      stage.acceptAll()
      assert.equal(device.taken(), `CONNECTED\nversion:${agreed}\nserver:Godwit\nheart-beat:0,0\n\n^`)
      assert.equal(stage.gateway.clients, 1)
    })
  }

  test('without a version is 1.0, with an unknown one it gets ERROR, and STOMP is the same', () => {
    const stage = new Stage()
    const device = stage.device()
    device.send('STOMP\nlogin:u\n\n^')
    stage.acceptAll()
    assert.match(device.taken(), /^CONNECTED\nversion:1\.0\n/)
    const other = stage.device()
    other.send('CONNECT\naccept-version:3.0\n\n^')
    assert.match(other.taken(), /^ERROR\nmessage:the supported versions are 1\.0, 1\.1 and 1\.2\n/)
    assert.ok(other.isEnded)
  })

  test('passes user name, password and client ID to the broker', () => {
    const stage = new Stage()
    stage.device().send('CONNECT\naccept-version:1.2\nhost:h\nlogin:u\npasscode:p\nclient-id:c\n\n^')
    const [connect] = stage.mqtt.packets
    assert.ok(connect?.type === 'connect')
    assert.deepEqual([connect.clientId, connect.username, connect.password?.toString()], ['c', 'u', 'p'])
  })

  test('uses the configured values in place of them', () => {
    const override = { clientId: 'x-${ConnInfo.clientid}', username: '${Packet.headers.login}!', password: undefined }
    const stage = new Stage({ override })
    stage.device().send('CONNECT\naccept-version:1.2\nhost:h\nlogin:u\nclient-id:c\n\n^')
    const [connect] = stage.mqtt.packets
    assert.ok(connect?.type === 'connect')
    assert.deepEqual([connect.clientId, connect.username], ['x-c', 'u!'])
  })

  test('that the broker refuses gets ERROR', () => {
    const stage = new Stage()
    const device = stage.device()
    device.send('CONNECT\naccept-version:1.2\nhost:h\n\n^')
    const refused = { type: 'connack', sessionPresent: false, reasonCode: 0x86, properties: undefined } as const
    stage.mqtt.callbacks.handlePacket(refused)
    assert.match(device.taken(), /^ERROR\nmessage:the login was refused\n/)
    assert.ok(device.isEnded)
    assert.equal(stage.gateway.clients, 0)
  })

  test('that does not arrive within idle_timeout, twice, or after other frames ends the connection', () => {
    const stage = new Stage()
    const silent = stage.device()
    stage.wait(30_000)
    assert.match(silent.taken(), /^ERROR\nmessage:no CONNECT has come\n/)
    const twice = stage.connected()
    twice.send('CONNECT\naccept-version:1.2\nhost:h\n\n^')
    assert.match(twice.taken(), /^ERROR\nmessage:CONNECT has come before\n/)
    const early = stage.device()
    early.send('SEND\ndestination:a\n\nx^')
    assert.match(early.taken(), /^ERROR\nmessage:SEND before CONNECTED\n/)
  })
})

describe('[F6] heart-beats', () => {
  test('are sent as promised, and a client without them is lost after twice the time', () => {
    const stage = new Stage()
    const device = stage.device()
    device.send('CONNECT\naccept-version:1.2\nhost:h\nheart-beat:4000,2000\n\n^')
    stage.acceptAll()
    assert.match(device.taken(), /\nheart-beat:2000,4000\n/)
    stage.wait(2_000)
    assert.equal(device.taken(), '\n')
    device.send('\n')
    stage.wait(7_999)
    assert.equal(stage.gateway.clients, 1)
    device.taken()
    stage.wait(1)
    assert.match(device.taken(), /ERROR\nmessage:no heart-beat has come\n/)
    assert.ok(device.isEnded)
  })

  test('of less than a second are not offered', () => {
    const stage = new Stage()
    const device = stage.device()
    device.send('CONNECT\naccept-version:1.2\nhost:h\nheart-beat:1,1\n\n^')
    stage.acceptAll()
    assert.match(device.taken(), /\nheart-beat:1000,1000\n/)
  })
})

describe('[F6] SEND', () => {
  test('publishes at QoS 0; with a receipt at QoS 1, and RECEIPT waits for the broker', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SEND\ndestination:a/b\n\nhello^')
    device.send('SEND\ndestination:a/b\nreceipt:r1\n\nhello^')
    assert.deepEqual(
      stage.mqtt.published.map(({ topic, qos, chunk }) => [topic.name, qos, chunk.toString()]),
      [
        ['a/b', 0, 'hello'],
        ['a/b', 1, 'hello'],
      ],
    )
    assert.equal(device.taken(), '')
    stage.acknowledge('puback', 1)
    assert.equal(device.taken(), 'RECEIPT\nreceipt-id:r1\n\n^')
  })

  test('uses qos, retain, expiry, content-type, and passes other headers on', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SEND\ndestination:a\nqos:2\nretain:true\nexpiry:60\ncontent-type:text/plain\nfoo:b\\cr\n\nx^')
    const [fields] = stage.mqtt.published
    assert.deepEqual(
      [fields?.qos, fields?.retain, fields?.messageExpiryIntervalSeconds, fields?.properties],
      [2, true, 60, { contentType: 'text/plain', userProperties: [['foo', 'b:r']] }],
    )
  })

  test('has a body with NUL if content-length is set, in chunks of any size', () => {
    const bytes = Buffer.from('SEND\r\ndestination:a\r\ncontent-length:3\r\n\r\n\0\n\0\0\n')
    for (const size of [1, 2, 7, bytes.length]) {
      const stage = new Stage()
      const device = stage.connected()
      for (let at = 0; at < bytes.length; at += size) device.sendBytes(bytes.subarray(at, at + size))
      assert.deepEqual(
        stage.mqtt.published.map(({ chunk }) => chunk.toString('hex')),
        ['000a00'],
      )
    }
  })

  test('that the broker refuses ends the connection with ERROR and the receipt-id', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SEND\ndestination:secret\nreceipt:r1\n\nx^')
    stage.acknowledge('puback', 1, 0x87)
    assert.match(device.taken(), /^ERROR\nmessage:not authorized to publish to secret\n.*receipt-id:r1\n/s)
    assert.ok(device.isEnded)
  })

  for (const [frame, problem] of [
    ['SEND\n\nx^', /SEND without destination/],
    ['SEND\ndestination:a/#\n\nx^', /not a topic that messages can be published to/],
    ['SEND\ndestination:a\nqos:3\n\nx^', /qos: 3 is not 0, 1 or 2/],
    ['SEND\ndestination:a\ncontent-length:1\n\nxy^', /a body is longer than its content-length/],
    ['SEND\ndestination:a\ncontent-length:65537\n\n', /a body is longer than 65536 octets/],
    [`SEND\ndestination:a\n\n${'x'.repeat(65_537)}^`, /a body is longer than 65536 octets/],
    [`SEND\nfoo:${'x'.repeat(1_100)}\n\n^`, /a header is longer than 1024 octets/],
    [`SEND\n${'a:b\n'.repeat(11)}\n^`, /a frame has more than 10 headers/],
    ['SEND\nfoo\n\n^', /a header without a colon/],
    ['SEND\nfoo:\\t\n\n^', /an undefined escape sequence/],
    ['X'.repeat(100), /a command is longer than 32 octets/],
    ['HELLO\n\n^', /the command "HELLO" is unknown/],
  ] as const) {
    test(`${JSON.stringify(frame.slice(0, 40))} gets ERROR and ends the connection`, () => {
      const stage = new Stage()
      const device = stage.connected()
      device.send(frame)
      const written = device.taken().replaceAll('\\c', ':')
      assert.match(written, /^ERROR\n/)
      assert.match(written, problem)
      assert.ok(device.isEnded)
      assert.equal(stage.mqtt.published.length, 0)
    })
  }
})

describe('[F6] transactions', () => {
  test('are published when they are committed, in order, and RECEIPT of COMMIT waits for all', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('BEGIN\ntransaction:t\n\n^SEND\ndestination:a\ntransaction:t\nqos:1\n\n1^')
    device.send('SEND\ndestination:b\ntransaction:t\nqos:1\n\n2^')
    assert.equal(stage.mqtt.published.length, 0)
    device.send('COMMIT\ntransaction:t\nreceipt:r\n\n^')
    assert.deepEqual(
      stage.mqtt.published.map(({ topic }) => topic.name),
      ['a', 'b'],
    )
    stage.acknowledge('puback', 1)
    assert.equal(device.taken(), '')
    stage.acknowledge('puback', 2)
    assert.equal(device.taken(), 'RECEIPT\nreceipt-id:r\n\n^')
  })

  test('that are aborted publish no message; unknown ones are an error', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('BEGIN\ntransaction:t\n\n^SEND\ndestination:a\ntransaction:t\n\n1^ABORT\ntransaction:t\n\n^')
    assert.equal(device.taken(), '')
    device.send('COMMIT\ntransaction:t\n\n^')
    assert.match(device.taken(), /^ERROR\nmessage:there is no transaction t\n/)
    assert.equal(stage.mqtt.published.length, 0)
  })

  test('have at most 4 MiB', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('BEGIN\ntransaction:t\n\n^')
    const frame = `SEND\ndestination:a\ntransaction:t\n\n${'x'.repeat(65_536)}^`
    for (let count = 0; count < 64; count++) device.send(frame)
    assert.equal(device.taken(), '')
    device.send(frame)
    assert.match(device.taken(), /^ERROR\nmessage:transactions have more than/)
  })
})

describe('[F6] SUBSCRIBE', () => {
  test('with ack auto subscribes with QoS 0, else with QoS 1, and RECEIPT waits for SUBACK', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SUBSCRIBE\nid:1\ndestination:a/#\n\n^SUBSCRIBE\nid:2\ndestination:b\nack:client\nreceipt:r\n\n^')
    const subscriptions = stage.mqtt.packets.flatMap((packet) =>
      packet.type === 'subscribe' ? packet.subscriptions : [],
    )
    assert.deepEqual(
      subscriptions.map(({ filter, qos }) => [filter, qos]),
      [
        ['a/#', 0],
        ['b', 1],
      ],
    )
    assert.equal(device.taken(), '')
    stage.acceptAll()
    assert.equal(device.taken(), 'RECEIPT\nreceipt-id:r\n\n^')
  })

  test('sends MESSAGE with escaped headers', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SUBSCRIBE\nid:s1\ndestination:#\n\n^')
    stage.acceptAll()
    stage.deliver('a:b', 1, { payload: 'hi' })
    assert.equal(device.taken(), 'MESSAGE\ndestination:a\\cb\nmessage-id:1\nsubscription:s1\ncontent-length:2\n\nhi^')
  })

  test('client: ACK applies to all messages up to this one; client-individual: to one', () => {
    const stage = new Stage()
    const acknowledged: number[] = []
    const device = stage.connected()
    stage.onAcknowledge = (_, packetId) => void acknowledged.push(packetId)
    device.send(
      'SUBSCRIBE\nid:1\ndestination:a\nack:client\n\n^SUBSCRIBE\nid:2\ndestination:b\nack:client-individual\n\n^',
    )
    stage.acceptAll()
    stage.deliver('a', 1, { qos: 1, packetId: 11 })
    stage.deliver('b', 2, { qos: 1, packetId: 12 })
    stage.deliver('a', 1, { qos: 1, packetId: 13 })
    stage.deliver('b', 2, { qos: 1, packetId: 14 })
    assert.match(device.taken(), /\nack:1\n/)
    device.send('ACK\nid:3\n\n^')
    assert.deepEqual(acknowledged, [11, 13])
    device.send('NACK\nid:4\n\n^')
    assert.deepEqual(acknowledged, [11, 13, 14])
    device.send('ACK\nid:4\n\n^')
    assert.match(device.taken(), /^ERROR\nmessage:ACK of 4, which waits for none\n/)
  })

  test('in 1.1 is acknowledged by message-id', () => {
    const stage = new Stage()
    const acknowledged: number[] = []
    const device = stage.connected('1.1')
    stage.onAcknowledge = (_, packetId) => void acknowledged.push(packetId)
    device.send('SUBSCRIBE\nid:1\ndestination:a\nack:client\n\n^')
    stage.acceptAll()
    stage.deliver('a', 1, { qos: 1, packetId: 11 })
    assert.doesNotMatch(device.taken(), /\nack:/)
    device.send('ACK\nmessage-id:1\nsubscription:1\n\n^')
    assert.deepEqual(acknowledged, [11])
  })

  for (const [frame, problem] of [
    ['SUBSCRIBE\ndestination:a\n\n^', /SUBSCRIBE without id/],
    ['SUBSCRIBE\nid:1\ndestination:a/#/b\n\n^', /is not a topic filter/],
    ['SUBSCRIBE\nid:1\ndestination:a\nack:maybe\n\n^', /ack: maybe is unknown/],
    ['SUBSCRIBE\nid:1\ndestination:a\n\n^SUBSCRIBE\nid:2\ndestination:a\n\n^', /a is subscribed to already/],
    ['SUBSCRIBE\nid:1\ndestination:a\n\n^SUBSCRIBE\nid:1\ndestination:b\n\n^', /the subscription 1 exists already/],
    ['UNSUBSCRIBE\nid:1\n\n^', /there is no subscription 1/],
  ] as const) {
    test(`${JSON.stringify(frame)} gets ERROR`, () => {
      const stage = new Stage()
      const device = stage.connected()
      device.send(frame)
      assert.match(device.taken().replaceAll('\\c', ':'), problem)
      assert.ok(device.isEnded)
    })
  }

  test('to $queue/filter ends with UNSUBSCRIBE of the same destination, without an id in 1.0', () => {
    const stage = new Stage()
    const device = stage.connected('1.0')
    device.send('SUBSCRIBE\ndestination:$queue/a\n\n^')
    stage.acceptAll()
    device.send('UNSUBSCRIBE\ndestination:$queue/a\n\n^')
    assert.equal(device.taken(), '')
    assert.deepEqual(
      stage.mqtt.packets.flatMap((packet) => (packet.type === 'unsubscribe' ? packet.filters : [])),
      ['$share/$queue/a'],
    )
  })

  test('ends with UNSUBSCRIBE', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SUBSCRIBE\nid:1\ndestination:a\n\n^')
    stage.acceptAll()
    device.send('UNSUBSCRIBE\nid:1\n\n^')
    assert.deepEqual(
      stage.mqtt.packets.flatMap((packet) => (packet.type === 'unsubscribe' ? packet.filters : [])),
      ['a'],
    )
    stage.deliver('a', 1)
    assert.equal(device.taken(), '')
  })
})

describe('[F6] a client', () => {
  test('that sends DISCONNECT gets its receipt and is disconnected', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('DISCONNECT\nreceipt:77\n\n^')
    assert.equal(device.taken(), 'RECEIPT\nreceipt-id:77\n\n^')
    assert.ok(device.isEnded)
    assert.equal(stage.gateway.clients, 0)
  })

  test('whose client ID is taken over gets ERROR', () => {
    const stage = new Stage()
    const device = stage.connected()
    stage.mqtt.callbacks.handlePacket({ type: 'disconnect', reasonCode: 0x8e, properties: undefined })
    assert.match(device.taken(), /^ERROR\nmessage:another client has connected with this client-id\n/)
  })

  test('is not read while the broker does not read, and is not lost meanwhile', () => {
    const stage = new Stage()
    const device = stage.connected('1.2', 'heart-beat:1000,0\n')
    stage.unsentBytes = 1_048_577
    device.send('SEND\ndestination:a\n\nx^')
    assert.ok(device.isPaused)
    stage.wait(60_000)
    assert.equal(stage.gateway.clients, 1)
    stage.unsentBytes = 0
    stage.mqtt.callbacks.handleWritten?.()
    assert.ok(!device.isPaused)
  })

  test('that does not read is not sent more than 1 MiB by the broker', () => {
    const stage = new Stage()
    const device = stage.connected()
    device.send('SUBSCRIBE\nid:1\ndestination:#\n\n^')
    stage.acceptAll()
    device.unsentBytes = 1_048_577
    stage.deliver('a', 1)
    assert.ok(stage.mqtt.isPaused)
    device.unsentBytes = 0
    device.handleWritten()
    assert.ok(!stage.mqtt.isPaused)
  })
})
