// A device names another device. Over DTLS its identity decides; over UDP the token, the location or the address. A peer that is not known as the
// device opens a connection of its own to the broker, which decides about the client ID as for MQTT clients. By sections F1, F4 and F5.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CoapGateway, type CoapSettings, MqttSnGateway } from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { CoapDevice } from './coap-device.ts'
import { coapSettings, snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'
import { Lwm2mStage } from './lwm2m-stage.ts'

const [get, post, put, remove] = [1, 2, 3, 4]
const refused = 0x85

function secure(id: string, identity: string | undefined, address = '192.0.2.1', port = 4_000): PeerAddress {
  const credentials = { certificate: undefined, pskIdentity: identity }
  return { address, port, secure: { id, identity, credentials } }
}

function inSession(id: string, sessionId: string, port: number): PeerAddress {
  const peer = secure(id, 'psk a', '192.0.2.1', port)
  return { ...peer, secure: { ...(peer.secure ?? assert.fail('no association')), sessionId } }
}

class CoapStage extends GatewayStage {
  readonly gateway: CoapGateway

  constructor(more: Partial<CoapSettings> = {}) {
    super()
    this.gateway = new CoapGateway({ ...coapSettings, ...more }, this.dependencies)
  }

  device(peer: PeerAddress): CoapDevice {
    return new CoapDevice(
      (bytes) => this.gateway.handleDatagram(bytes, peer),
      () => this.sent.splice(0).flatMap((one) => (one.peer === peer ? [one.bytes] : [])),
    )
  }

  /** What the broker got from the n-th connection. */
  connection(at: number) {
    return this.connections[at] ?? assert.fail(`there is no connection ${at}`)
  }

  refuseLast(): void {
    this.connections
      .at(-1)
      ?.callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode: refused, properties: undefined })
  }
}

test('[F4] CoAP over DTLS: a request that is repeated in a resumed session is published once, and in another session again', () => {
  const cases: readonly (readonly [title: string, peer: PeerAddress, isRepeated: boolean])[] = [
    ['resumed at the same address', inSession('2', 'one', 4_000), true],
    ['resumed at another port', inSession('3', 'one', 5_000), true],
    ['another session of the same device', inSession('4', 'two', 4_000), false],
    ['another session that cannot be resumed', inSession('5', '', 4_000), false],
  ]
  for (const [title, other, isRepeated] of cases) {
    const stage = new CoapStage()
    const publish = (device: CoapDevice): void => device.request(put, 'ps/a', 'c=dev-a&qos=0', 'x')
    publish(stage.device(inSession('1', 'one', 4_000)))
    stage.acceptAll()
    stage.acceptAll()
    const published = (): number => stage.connections.flatMap((one) => one.published).length
    assert.equal(published(), 1, title)
    // The device gets no response. Its next device object begins with the same message ID.
    const device = stage.device(other)
    publish(device)
    stage.acceptAll()
    stage.acceptAll()
    assert.equal(published(), isRepeated ? 1 : 2, title)
    assert.equal(device.takeLast()?.code, '2.04', title)
  }
})

describe('[F4] CoAP: a request that names the client of another device', () => {
  /** Each as another device than the one that opened the client `dev-a`. */
  const others: readonly (readonly [title: string, own: PeerAddress, other: PeerAddress])[] = [
    ['with another identity at another address', secure('1', 'psk a'), secure('2', 'psk b', '192.0.2.2')],
    ['with another identity at the same address and port', secure('1', 'psk a'), secure('2', 'psk b')],
    ['without an identity', secure('1', 'psk a'), secure('2', undefined)],
    ['with a certificate instead of the key', secure('1', 'psk a'), secure('2', 'certificate a')],
    ['over UDP from another address', { address: '192.0.2.1', port: 1 }, { address: '192.0.2.2', port: 1 }],
  ]
  const requests: readonly (readonly [title: string, send: (device: CoapDevice) => void])[] = [
    ['publishes', (device) => device.request(post, 'ps/a', 'c=dev-a', 'x')],
    ['reads', (device) => device.request(get, 'ps/a', 'c=dev-a', '')],
    ['observes', (device) => device.get('ps/a', 'c=dev-a', { token: 9, observe: 0 })],
    ['ends an observation', (device) => device.get('ps/a', 'c=dev-a', { token: 1, observe: 1 })],
  ]
  for (const [who, own, other] of others) {
    test(`${who} does not use its connection`, () => {
      for (const [what, send] of requests) {
        const stage = new CoapStage()
        const device = stage.device(own)
        device.get('ps/a', 'c=dev-a', { token: 1, observe: 0 })
        stage.acceptAll()
        stage.acceptAll()
        device.all()
        const before = stage.connection(0).packets.length + stage.connection(0).published.length
        const second = stage.device(other)
        send(second)
        assert.equal(stage.connections.length, 2, `${who} ${what}: the broker decides about a second connection`)
        stage.refuseLast()
        assert.equal(second.takeLast()?.code, '4.00', `${who} ${what}`)
        const after = stage.connection(0).packets.length + stage.connection(0).published.length
        assert.equal(after, before, `${who} ${what} with the connection of the other device`)
        // The device goes on.
        device.request(post, 'ps/b', 'c=dev-a', 'own')
        assert.equal(stage.connection(0).published.length, 1)
      }
    })
  }

  test('with its token, and another identity, is refused', () => {
    for (const [, own, other] of others.slice(0, 4)) {
      const stage = new CoapStage()
      const device = stage.device(own)
      device.request(post, 'mqtt/connection', 'c=dev-a', '')
      stage.acceptAll()
      const token = device.takeLast()?.payload.toString()
      const second = stage.device(other)
      const query = `c=dev-a&t=${token}`
      for (const [method, path] of [
        [put, 'mqtt/connection'],
        [remove, 'mqtt/connection'],
        [post, 'ps/a'],
        [get, 'ps/a'],
      ] as const) {
        second.request(method, path, query, '')
        assert.equal(second.takeLast()?.code, '4.01')
      }
      assert.equal(stage.connections.length, 1)
      assert.equal(stage.connection(0).published.length, 0)
    }
  })

  test('of the same identity over another association, and from another address, uses its connection', () => {
    const stage = new CoapStage()
    const device = stage.device(secure('1', 'psk a'))
    device.request(post, 'ps/a', 'c=dev-a', 'one')
    stage.acceptAll()
    stage.device(secure('2', 'psk a', '192.0.2.2')).request(post, 'ps/a', 'c=dev-a', 'two')
    assert.equal(stage.connections.length, 1)
    assert.equal(stage.connection(0).published.length, 2)
    assert.ok(stage.connection(0).changes > 0, 'the broker learns the new address')
  })

  test('is looked up by the client ID that the broker knows', () => {
    const stage = new CoapStage({
      override: { clientId: 'coap-${clientid}', username: undefined, password: undefined },
    })
    const device = stage.device({ address: '192.0.2.1', port: 1 })
    for (let count = 0; count < 2; count++) {
      device.request(post, 'ps/a', 'c=dev', 'x')
      stage.acceptAll()
    }
    assert.equal(stage.connections.length, 1)
  })

  test('waits for one connection to the broker, however many requests follow each other', () => {
    const stage = new CoapStage()
    stage.device({ address: '192.0.2.1', port: 1 }).request(post, 'ps/a', 'c=dev', 'x')
    stage.acceptAll()
    const moved = stage.device({ address: '192.0.2.2', port: 1 })
    for (let count = 0; count < 3; count++) moved.request(post, 'ps/a', 'c=dev', `${count}`)
    assert.equal(stage.connections.length, 2)
    stage.acceptAll()
    assert.equal(stage.connection(1).published.length, 3)
  })
})

describe('[F5] LwM2M: a device that names the endpoint of another', () => {
  class Stage extends Lwm2mStage {
    at(peer: PeerAddress): CoapDevice {
      return new CoapDevice(
        (bytes) => this.gateway.handleDatagram(bytes, peer),
        () => this.sent.splice(0).flatMap((one) => (one.peer.secure?.id === peer.secure?.id ? [one.bytes] : [])),
      )
    }

    refuseLast(): void {
      this.connections
        .at(-1)
        ?.callbacks.handlePacket({ type: 'connack', sessionPresent: false, reasonCode: refused, properties: undefined })
    }
  }
  const own = secure('1', 'psk a')
  const other = secure('2', 'psk b', '192.0.2.2')

  test('does not end its registration, and gets no waiting command, unless the broker accepts it with the client ID', () => {
    const stage = new Stage()
    const device = stage.at(own)
    const location = stage.registered(device, 'ep=dev&lt=300&b=UQ')
    stage.wait(30_000)
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/0' } }, 0, undefined, 0)
    const second = stage.at(other)
    second.request(post, 'rd', 'ep=dev&lt=300', '</3/0>')
    stage.refuseLast()
    assert.deepEqual(
      second.all().map(({ code }) => code),
      ['4.00'],
    )
    device.request(post, `rd/${location}`, '', '')
    assert.deepEqual(
      device.all().map(({ code, path }) => `${code} ${path}`),
      ['2.04 /', '0.01 /3/0/0'],
    )
  })

  test('with a client ID of its own is refused', () => {
    const stage = new Stage()
    const device = stage.at(own)
    const location = stage.registered(device, 'ep=dev&lt=300')
    const second = stage.at(other)
    second.request(post, 'rd', 'ep=dev&lt=300&device_id=dev-b', '</3/0>')
    assert.equal(second.takeLast()?.code, '4.03')
    assert.equal(stage.connections.length, 1)
    device.request(post, `rd/${location}`, '', '')
    assert.equal(device.takeLast()?.code, '2.04')
  })

  test('cannot update or remove its registration', () => {
    const stage = new Stage()
    const location = stage.registered(stage.at(own), 'ep=dev&lt=300')
    const second = stage.at(other)
    for (const method of [post, put, remove]) {
      second.request(method, `rd/${location}`, 'lt=20', '')
      assert.equal(second.takeLast()?.code, '4.04')
    }
  })

  test('cannot respond to its commands', () => {
    const stage = new Stage()
    const device = stage.at(own)
    stage.registered(device, 'ep=dev&lt=300')
    stage.published()
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/0' } })
    const request = device.takeLast() ?? assert.fail()
    device.acknowledge(request)
    stage.at(other).respondLater(request, '2.05', { format: 0, payload: 'forged' })
    assert.equal(JSON.stringify(stage.published()).includes('forged'), false)
    stage.at(secure('3', 'psk a', '192.0.2.3')).respondLater(request, '2.05', { format: 0, payload: 'own' })
    assert.equal(JSON.stringify(stage.published()).includes('own'), true)
  })

  test('does not end its observation; the device itself may notify over another association', () => {
    const stage = new Stage()
    const device = stage.at(own)
    stage.registered(device, 'ep=dev&lt=300')
    stage.command({ reqID: 1, msgType: 'observe', data: { path: '/3/0/9' } })
    const request = device.takeLast() ?? assert.fail()
    device.respond(request, '2.05', { format: 0, observe: 1, payload: '90' })
    stage.published()
    stage.at(other).respondLater(request, '2.05', { format: 0, observe: 2, payload: '1' })
    assert.deepEqual(stage.published(), [])
    stage.at(secure('3', 'psk a')).respondLater(request, '2.05', { format: 0, observe: 2, payload: '89' })
    assert.equal(stage.published().length, 1)
  })
})

describe('[F1] a banned address', () => {
  test('gets 4.03 for each request over CoAP, also if its client is known', () => {
    const stage = new CoapStage()
    const device = stage.device({ address: '192.0.2.1', port: 1 })
    device.request(post, 'ps/a', 'c=dev', 'x')
    stage.acceptAll()
    device.all()
    stage.banned.add('192.0.2.1')
    device.request(post, 'ps/a', 'c=dev', 'y')
    assert.equal(device.takeLast()?.code, '4.03')
    assert.equal(stage.connection(0).published.length, 1)
    assert.equal(stage.dependencies.counters.dropped.banned, 1)
  })

  test('gets 4.03 for an update over LwM2M, and its responses are ignored', () => {
    const stage = new Lwm2mStage()
    const device = stage.device()
    const location = stage.registered(device)
    stage.published()
    stage.command({ reqID: 1, msgType: 'read', data: { path: '/3/0/0' } })
    const request = device.takeLast() ?? assert.fail()
    stage.banned.add('192.0.2.7')
    device.request(post, `rd/${location}`, '', '')
    assert.equal(device.takeLast()?.code, '4.03')
    device.respond(request, '2.05', { format: 0, payload: 'x' })
    assert.deepEqual(stage.published(), [])
  })
})

describe('[F3] MQTT-SN: a packet that names the client of another device', () => {
  class SnStage extends GatewayStage {
    readonly gateway = new MqttSnGateway(snSettings, this.dependencies)

    receive(peer: PeerAddress, node: number | undefined, ...octets: readonly (number | string)[]): void {
      const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
      const packet = Buffer.concat([Buffer.of(body.length + 1), body])
      this.gateway.handleDatagram(
        node === undefined ? packet : Buffer.concat([Buffer.of(4, 0xfe, 0, node), packet]),
        peer,
      )
      this.acceptAll()
    }
  }

  const others: readonly (readonly [string, PeerAddress, number | undefined, PeerAddress, number | undefined])[] = [
    ['with another identity', secure('1', 'psk a'), undefined, secure('2', 'psk b'), undefined],
    ['without an identity', secure('1', 'psk a'), undefined, secure('2', undefined), undefined],
    ['behind the same forwarder', { address: '192.0.2.1', port: 1 }, 1, { address: '192.0.2.1', port: 1 }, 2],
    ['at another address', { address: '192.0.2.1', port: 1 }, undefined, { address: '192.0.2.2', port: 1 }, undefined],
  ]
  for (const [who, own, ownNode, other, otherNode] of others) {
    test(`${who} does not wake it, and its CONNECT is decided by the broker`, () => {
      const stage = new SnStage()
      stage.receive(own, ownNode, 0x04, 0, 1, 0, 60, 'dev')
      stage.receive(own, ownNode, 0x18, 0, 60)
      const before = stage.stored.size
      stage.receive(other, otherNode, 0x16, 'dev')
      stage.receive(other, otherNode, 0x1a, 0, 'will/topic')
      assert.equal(stage.connections.length, 1)
      assert.equal(stage.connections[0]?.packets.length, 0, 'nothing is delivered')
      stage.receive(other, otherNode, 0x04, 0, 1, 0, 60, 'dev')
      assert.equal(stage.connections.length, 2)
      assert.equal(stage.stored.size, before)
    })
  }

  test('a message of QoS -1 over DTLS is published with the credentials of its own identity', () => {
    const stage = new SnStage()
    const peers = [secure('1', 'psk a'), secure('2', 'psk b'), { address: '192.0.2.9', port: 1 }]
    for (const peer of [...peers, ...peers]) stage.receive(peer, undefined, 0x0c, 0x61, 0, 5, 0, 0, 'x')
    assert.deepEqual(
      stage.connections.map(({ published }) => published.length),
      [2, 2, 2],
    )
  })

  test('packets from a banned address are ignored, except CONNECT, to which the broker responds', () => {
    const stage = new SnStage()
    const peer = { address: '192.0.2.1', port: 1 }
    stage.receive(peer, undefined, 0x04, 0x04, 1, 0, 60, 'dev')
    stage.banned.add(peer.address)
    stage.receive(peer, undefined, 0x0c, 0x62, 0x61, 0x62, 0, 1, 'x')
    stage.receive(peer, undefined, 0x0c, 0x61, 0, 5, 0, 0, 'x')
    assert.equal(stage.connections.flatMap(({ published }) => published).length, 0)
    stage.receive(peer, undefined, 0x04, 0x04, 1, 0, 60, 'dev-2')
    assert.equal(stage.connections.length, 2)
  })
})
