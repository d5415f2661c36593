// The CoAP gateway, statement by statement of section F4 of the gateway requirements, in memory.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CoapGateway, type CoapSettings } from '../../src/gateways/index.ts'
import { PublishPacket, type ReasonCode, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice } from './coap-device.ts'
import { coapSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const [get, post, put, remove] = [1, 2, 3, 4]
const topics = new TopicTable(16)
const settings: CoapSettings = { ...coapSettings, maxBodyBytes: 64, maxClients: 100 }

class Stage extends GatewayStage {
  readonly gateway: CoapGateway

  constructor(more: Partial<CoapSettings> = {}) {
    super()
    this.gateway = new CoapGateway({ ...settings, ...more }, this.dependencies)
  }

  /** Sends a datagram, in hexadecimal, and returns the responses in the same form. */
  raw(hex: string): readonly string[] {
    this.gateway.handleDatagram(Buffer.from(hex.replaceAll(' ', ''), 'hex'), { address: '192.0.2.7', port: 5_000 })
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  device(port = 5_000): CoapDevice {
    return new CoapDevice(
      (bytes) => this.gateway.handleDatagram(bytes, { address: '127.0.0.1', port }),
      () => this.sent.splice(0).flatMap(({ bytes, peer }) => (peer.port === port ? [bytes] : [])),
    )
  }

  /** Accepts every client and every publication. */
  accept(reasonCode: ReasonCode = 0): void {
    for (const connection of this.connections) {
      const { packets, published, callbacks } = connection
      for (const packet of packets.splice(0)) {
        if (packet.type === 'connect')
          callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode, properties: undefined })
        else if (packet.type === 'subscribe' || packet.type === 'unsubscribe') {
          const type = packet.type === 'subscribe' ? 'suback' : 'unsuback'
          callbacks.handlePacket({ type, packetId: packet.packetId, reasonCodes: [reasonCode], properties: undefined })
        } else if (packet.type === 'pingreq') callbacks.handlePacket({ type: 'pingresp' })
      }
      for (const { packetId, qos } of published)
        if (qos > 0) callbacks.handlePacket({ type: 'puback', packetId, reasonCode, properties: undefined })
    }
  }

  /** The code of the response to a request. */
  codeFor(device: CoapDevice, method: number, path: string, { query = '', body = '' } = {}): string | undefined {
    device.request(method, path, query, body)
    this.accept()
    this.accept()
    return device.takeLast()?.code
  }

  token(device: CoapDevice, clientId: string): string {
    device.request(post, 'mqtt/connection', `clientid=${clientId}`, '')
    this.accept()
    const response = device.takeLast()
    assert.equal(response?.code, '2.01')
    assert.match(response.payload.toString(), /^\d+$/)
    return response.payload.toString()
  }

  /** A message for the last client, with its first subscription. */
  deliver(topic: string, text: string, { qos = 0, retain = false }: { qos?: 0 | 1; retain?: boolean } = {}): void {
    const packet = new PublishPacket(
      topics.internName(topic as TopicName),
      { qos, retain, dup: false },
      Buffer.from(text),
    )
    packet.packetId = qos
    packet.frameEnd = text.length
    packet.properties = { subscriptionIdentifiers: [1] }
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }
}

describe('[F4] messages', () => {
  for (const [what, hex, responses] of [
    ['of another version are dropped', '80010001', []],
    ['with a token of 9 octets: CON is reset', '49010002', ['70000002']],
    ['with a token of 9 octets: NON is dropped', '59010003', []],
    ['with code class 1 are reset', '40200004', ['70000004']],
    ['with code class 6 are reset', '40c00005', ['70000005']],
    ['with code class 7 are reset', '40e00006', ['70000006']],
    ['with a marker and no payload are reset', '40010007ff', ['70000007']],
    ['with a delta of 15 are reset', '40010008f100', ['70000008']],
    ['with a length of 15 are reset', '400100091f00', ['70000009']],
    ['with a truncated option are reset', '4001000ab561', ['7000000a']],
    ['that are empty and confirmable are reset', '4000000b', ['7000000b']],
    ['that acknowledge nothing are ignored', '6000000c', []],
    ['that reset nothing are ignored', '7000000d', []],
    ['with an unknown critical option are 4.02', '4001000e 91 61', ['6082000e']],
    ['with an unknown critical option and not confirmable are dropped', '5001000f 91 61', []],
    ['with Proxy-Uri are 5.05', '40010010 d1 16 61', ['60a50010']],
    ['to an unknown path are 4.04', '40010011 b1 61', ['60840011']],
    ['with an unknown method are 4.05', '40050012 b2 7073 01 61', ['60850012']],
    ['to /.well-known/core list links', '40010013 bb 2e77656c6c2d6b6e6f776e 04 636f7265', undefined],
  ] as const) {
    test(what, () => {
      const stage = new Stage()
      const received = stage.raw(hex)
      if (responses !== undefined) return assert.deepEqual(received, responses)
      assert.match(received[0] ?? '', /^60450013c128ff/)
    })
  }

  test('that are sent again get the same response, and are executed once', () => {
    const stage = new Stage()
    const publish = '42030020 aabb b2 7073 01 61 ff 31'
    assert.deepEqual(stage.raw(publish), [])
    stage.accept()
    stage.accept()
    const [response] = stage.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
    assert.equal(response, '62440020aabb')
    assert.deepEqual(stage.raw(publish), [response])
    assert.equal(stage.connections[0]?.published.length, 1)
    stage.nowMs += 247_000
    assert.deepEqual(stage.raw(publish), [])
    assert.equal(stage.connections.flatMap(({ published }) => published).length, 2)
  })
})

describe('[F4] /mqtt/connection', () => {
  for (const query of ['', 'clientid=', 'username=u'])
    test(`POST with ${query === '' ? 'nothing' : query} is 4.00`, () => {
      const stage = new Stage()
      assert.equal(stage.codeFor(stage.device(), post, 'mqtt/connection', { query }), '4.00')
    })

  for (const [reasonCode, code] of [
    [0x86, '4.01'],
    [0x87, '4.01'],
    [0x8a, '4.03'],
    [0x88, '5.03'],
  ] as const)
    test(`POST that the broker refuses with ${reasonCode} gets ${code}`, () => {
      const stage = new Stage()
      const device = stage.device()
      device.request(post, 'mqtt/connection', 'clientid=c&username=u&password=p', '')
      const [connect] = stage.connections[0]?.packets ?? []
      assert.ok(connect?.type === 'connect')
      assert.deepEqual([connect.clientId, connect.username, connect.password?.toString()], ['c', 'u', 'p'])
      stage.accept(reasonCode)
      assert.equal(device.takeLast()?.code, code)
    })

  test('PUT is a heartbeat and DELETE disconnects, with the token, from any port', () => {
    const stage = new Stage()
    const [device, moved] = [stage.device(), stage.device(5_001)]
    const token = stage.token(device, 'c')
    for (const method of [put, remove])
      for (const query of ['clientid=c', 'clientid=c&token=1', `clientid=d&token=${token}`])
        assert.equal(stage.codeFor(device, method, 'mqtt/connection', { query }), '4.01', query)
    assert.equal(stage.codeFor(moved, put, 'mqtt/connection', { query: `clientid=c&token=${token}` }), '2.04')
    assert.equal(stage.codeFor(moved, get, 'mqtt/connection', { query: `clientid=c&token=${token}` }), '4.05')
    assert.equal(stage.codeFor(device, remove, 'mqtt/connection', { query: `c=c&t=${token}` }), '2.02')
    assert.equal(stage.gateway.clients, 0)
  })

  test('without a heartbeat ends after 1.5 times its interval', () => {
    const stage = new Stage()
    stage.token(stage.device(), 'c')
    stage.nowMs += 44_999
    stage.gateway.tick()
    assert.equal(stage.gateway.clients, 1)
    stage.nowMs += 1
    stage.gateway.tick()
    assert.equal(stage.gateway.clients, 0)
  })
})

describe('[F4] /ps', () => {
  for (const [what, method, path, query, code] of [
    ['POST publishes', post, 'ps/a/b', '', '2.04'],
    ['PUT publishes', put, 'ps/a/b', 'qos=2', '2.04'],
    ['PUT to /mqtt publishes, with short names', put, 'mqtt/a/b', 'c=x&u=u&p=p&q=1', '2.04'],
    ['qos 3 is bad', put, 'ps/a', 'qos=3', '4.00'],
    ['qos that is not a number is bad', put, 'ps/a', 'qos=x', '4.00'],
    ['no topic is bad', put, 'ps', '', '4.00'],
    ['a wildcard is bad', put, 'ps/a/+', '', '4.00'],
    ['an expiry that is not a number is bad', put, 'ps/a', 'expiry=x', '4.00'],
    ['DELETE is not allowed', remove, 'ps/a', '', '4.05'],
    ['an unknown token is refused', put, 'ps/a', 'clientid=c&token=1', '4.01'],
  ] as const) {
    test(`${what}: ${code}`, () => {
      const stage = new Stage()
      const device = stage.device()
      device.request(method, path, query, 'v')
      stage.accept()
      for (const { published, callbacks } of stage.connections)
        for (const { packetId, qos } of published) {
          if (qos === 2) callbacks.handlePacket({ type: 'pubcomp', packetId, reasonCode: 0, properties: undefined })
          else if (qos === 1) callbacks.handlePacket({ type: 'puback', packetId, reasonCode: 0, properties: undefined })
        }
      assert.equal(device.takeLast()?.code, code)
    })
  }

  test('retain and expiry are those of the message; a path is decoded once', () => {
    const stage = new Stage()
    const device = stage.device()
    assert.equal(stage.codeFor(device, put, 'ps/a%2523/b', { query: 'retain=true&expiry=60', body: 'v' }), '2.04')
    const [message] = stage.connections[0]?.published ?? []
    assert.deepEqual(
      [message?.topic.name, message?.retain, message?.messageExpiryIntervalSeconds],
      ['a%23/b', true, 60],
    )
  })

  test('if a connection is required, a request without client ID and token gets 4.01', () => {
    const stage = new Stage({ requiresConnection: true })
    const device = stage.device()
    assert.equal(stage.codeFor(device, put, 'ps/a', { body: 'v' }), '4.01')
    assert.equal(stage.codeFor(device, put, 'ps/a', { query: 'clientid=c', body: 'v' }), '4.01')
    const token = stage.token(device, 'c')
    assert.equal(stage.codeFor(device, put, 'ps/a', { query: `clientid=c&token=${token}`, body: 'v' }), '2.04')
    assert.equal(stage.connections.length, 1)
  })

  test('GET without Observe is the retained message, or 4.04', () => {
    const stage = new Stage()
    const device = stage.device()
    device.request(get, 'ps/a', 'clientid=c', '')
    stage.accept()
    stage.accept()
    stage.deliver('a', 'kept', { retain: true })
    const response = device.takeLast()
    assert.deepEqual([response?.code, response?.payload.toString()], ['2.05', 'kept'])
    stage.accept()
    device.request(get, 'ps/b', 'clientid=c', '')
    stage.accept()
    assert.equal(device.takeLast(), undefined, 'the message may still arrive')
    stage.accept()
    assert.equal(device.takeLast()?.code, '4.04')
    assert.equal(stage.codeFor(device, get, 'ps/a/+', { query: 'clientid=c' }), '4.00')
  })

  test('a retained message that the broker does not send in time gives 5.03, as when the client is disconnected', () => {
    const stage = new Stage({ heartbeatMs: 18_000 })
    const device = stage.device()
    device.request(get, 'ps/a', 'clientid=c', '')
    stage.accept()
    stage.nowMs += 9_000
    stage.gateway.tick()
    stage.accept()
    assert.equal(device.takeLast(), undefined, 'the PINGREQ with a PINGRESP is older than the subscription')
    const connection = stage.connections[0] ?? assert.fail()
    connection.packets.length = 0
    stage.nowMs += 1_000
    stage.gateway.tick()
    assert.equal(device.takeLast()?.code, '5.03')
    device.request(get, 'ps/b', 'clientid=c', '')
    stage.accept()
    connection.callbacks.handlePacket({ type: 'disconnect', reasonCode: 0x89, properties: undefined })
    assert.equal(device.takeLast()?.code, '5.03')
  })

  test('Observe 0 subscribes and gets 2.05, notification numbers rise, and Observe 1 unsubscribes with 2.07', () => {
    const stage = new Stage()
    const device = stage.device()
    device.get('ps/a/#', 'clientid=c', { token: 7, observe: 0 })
    stage.accept()
    stage.accept()
    const begun = device.takeLast()
    assert.deepEqual([begun?.code, begun?.type, begun?.token], ['2.05', 'ack', '07'])
    stage.deliver('a/b', 'one')
    const first = device.takeLast()
    assert.deepEqual([first?.type, first?.code, first?.token, first?.payload.toString()], ['non', '2.05', '07', 'one'])
    stage.deliver('a/b', 'two', { qos: 1 })
    const second = device.takeLast()
    assert.ok(second !== undefined)
    assert.equal(second.type, 'con')
    assert.ok((begun?.observe ?? 9) < (first?.observe ?? 0) && (first?.observe ?? 9) < (second.observe ?? 0))
    device.acknowledge(second)
    device.get('ps/a/#', 'clientid=c', { token: 7, observe: 1 })
    stage.accept()
    assert.equal(device.takeLast()?.code, '2.07')
    stage.deliver('a/b', 'three')
    assert.equal(device.takeLast(), undefined)
  })

  test('a notification that gets a reset ends its observation', () => {
    const stage = new Stage()
    const device = stage.device()
    device.get('ps/a', 'clientid=c', { token: 7, observe: 0 })
    stage.accept()
    stage.accept()
    device.takeLast()
    stage.deliver('a', 'one')
    const notification = device.takeLast()
    assert.ok(notification !== undefined)
    device.reset(notification)
    stage.deliver('a', 'two')
    assert.equal(device.takeLast(), undefined)
  })

  test('a client without a client ID is identified by its address', () => {
    const stage = new Stage()
    stage.codeFor(stage.device(), put, 'ps/a', { body: 'v' })
    stage.codeFor(stage.device(5_001), put, 'ps/a', { body: 'v' })
    assert.equal(stage.gateway.clients, 2)
  })
})

describe('[F4] block-wise', () => {
  test('a body is published with its last block; a gap is 4.08, and beyond max_body it is 4.13 with Size1', () => {
    const stage = new Stage()
    const received = (): string | undefined => stage.sent.splice(0).at(-1)?.bytes.toString('hex')
    const give = (id: string, octet: string, payload: string): string | undefined => {
      const bytes = Buffer.from(payload).toString('hex')
      const datagram = `4003${id}b270730161d103${octet}ff${bytes}`
      stage.gateway.handleDatagram(Buffer.from(datagram, 'hex'), { address: '127.0.0.1', port: 5_000 })
      stage.accept()
      stage.accept()
      return received()
    }
    assert.equal(give('0001', '08', 'a'.repeat(16)), '605f0001d10e08')
    assert.equal(give('0002', '28', 'c'.repeat(16)), '60880002')
    assert.equal(give('0003', '08', 'a'.repeat(16)), '605f0003d10e08')
    assert.equal(give('0004', '10', 'b'), '60440004d10e10')
    assert.equal(stage.connections[0]?.published[0]?.chunk.toString(), `${'a'.repeat(16)}b`)
    assert.equal(give('0005', '0f', 'a'.repeat(16)), '60800005', 'SZX 7')
    assert.equal(give('0006', '0a', 'a'.repeat(64)), '605f0006d10e0a')
    assert.equal(give('0007', '1a', 'a'.repeat(64)), '608d0007d12f40')
  })
})
