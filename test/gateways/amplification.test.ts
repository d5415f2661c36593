// Datagrams with a forged address: its owner gets at most three times the bytes that came from it, and responses of at most 64 bytes, whatever the
// broker delivers, and however often the gateway repeats itself. By section F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CoapGateway,
  type DatagramGateway,
  Lwm2mGateway,
  MqttSnGateway,
  ObjectDefinitions,
} from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice } from './coap-device.ts'
import { coapSettings, snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
const victim: PeerAddress = { address: '198.51.100.9', port: 9_999 }
const minResponseBytes = 64
const factor = 3
const retained = 40
const hour = 3_600_000

/** The broker accepts everything, and has many large messages for each subscription. */
class Stage extends GatewayStage {
  readonly gateway: DatagramGateway
  receivedBytes = 0
  datagrams = 0

  constructor(create: (stage: GatewayStage) => DatagramGateway) {
    super()
    this.gateway = create(this)
  }

  receive(bytes: Buffer, from: PeerAddress): void {
    if (from === victim) {
      this.receivedBytes += bytes.length
      this.datagrams++
    }
    this.gateway.handleDatagram(bytes, from)
    this.acceptAll()
  }

  /** Delivers to each connection, as the broker does after SUBSCRIBE, and when messages arrive. */
  deliver(): void {
    this.acceptAll()
    for (const { callbacks } of this.connections) {
      for (let count = 1; count <= retained; count++) {
        const qos = (count % 2) as 0 | 1
        const payload = Buffer.from(
          JSON.stringify({ reqID: count, msgType: 'read', data: { path: '/3/0/0', more: 'x'.repeat(600) } }),
        )
        const topic = topics.internName((count % 3 === 0 ? 'ab' : `topic/${count}`) as TopicName)
        const packet = new PublishPacket(topic, { qos, retain: true, dup: false }, payload)
        packet.frameEnd = payload.length
        packet.packetId = qos === 0 ? 0 : count
        packet.properties = { subscriptionIdentifiers: [1] }
        callbacks.handlePacket(packet)
      }
    }
  }

  /** Lets all repetitions happen. */
  wait(): void {
    for (const end = this.nowMs + hour; this.nowMs < end; this.nowMs += 5_000) this.gateway.tick()
  }

  get sentBytes(): number {
    return this.sent.reduce((sum, { bytes, peer }) => (peer.port === victim.port ? sum + bytes.length : sum), 0)
  }

  get largest(): number {
    return Math.max(0, ...this.sent.map(({ bytes, peer }) => (peer.port === victim.port ? bytes.length : 0)))
  }

  check(title: string): void {
    const limit = Math.max(factor * this.receivedBytes, minResponseBytes * this.datagrams)
    assert.ok(this.sentBytes <= limit, `${title}: ${this.sentBytes} bytes for ${this.receivedBytes}`)
  }
}

function sn(...octets: readonly (number | string)[]): Buffer {
  const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
  return Buffer.concat([Buffer.of(body.length + 1), body])
}

/** A request of CoAP with another message ID. Packets of MQTT-SN are unchanged. */
function withOtherId(bytes: Buffer): Buffer {
  const isCoap = (bytes[0] ?? 0) >> 4 === 4 && bytes.length > 4
  return isCoap ? Buffer.concat([bytes.subarray(0, 3), Buffer.of(77), bytes.subarray(4)]) : bytes
}

const wrapped = (bytes: Buffer): Buffer => Buffer.concat([Buffer.of(5, 0xfe, 0, 1, 2), bytes])

/** A datagram by its name, from any address. */
type Datagrams = Readonly<Record<string, Buffer>>

const snDatagrams: Datagrams = {
  searchgw: sn(0x01, 0),
  connect: sn(0x04, 0x04, 1, 0xff, 0xff, 'v'),
  'connect with a session': sn(0x04, 0, 1, 0, 60, 'v'),
  'connect with a will': sn(0x04, 0x08, 1, 0, 60, 'v'),
  'will topic': sn(0x07, 0, 'a'),
  'will message': sn(0x09, 'x'),
  'subscribe to all': sn(0x12, 0x20, 0, 1, '#'),
  'subscribe to a name': sn(0x12, 0x20, 0, 1, 'topic/1'),
  'subscribe to a short name': sn(0x12, 0x02, 0, 1, 'ab'),
  register: sn(0x0a, 0, 0, 0, 1, 'a/long/name'),
  publish: sn(0x0c, 0x60, 0, 1, 0, 1, 'x'),
  'publish without a connection': sn(0x0c, 0x61, 0, 5, 0, 0, 'x'),
  'puback that is guessed': sn(0x0d, 0, 1, 0, 1, 0),
  'regack that is guessed': sn(0x0b, 0, 1, 0xff, 0xff, 0),
  pingreq: sn(0x16),
  'pingreq with an id': sn(0x16, 'v'),
  'pingresp that is guessed': sn(0x17),
  sleep: sn(0x18, 0xff, 0xff),
  disconnect: sn(0x18),
  unsubscribe: sn(0x14, 0, 0, 1, 'ab'),
  malformed: Buffer.of(3, 0x55, 1),
}

function coapDatagrams(send: (device: CoapDevice) => void): Buffer {
  const sent: Buffer[] = []
  send(
    new CoapDevice(
      (bytes) => void sent.push(bytes),
      () => [],
    ),
  )
  return sent[0] ?? assert.fail('nothing was sent')
}

const [get, post, put] = [1, 2, 3]
const coap: Datagrams = {
  observe: coapDatagrams((device) => device.get('ps/#', 'c=v', { token: 1, observe: 0 })),
  'observe a topic': coapDatagrams((device) => device.get('ps/topic/1', 'c=v', { token: 2, observe: 0 })),
  read: coapDatagrams((device) => device.request(get, 'ps/topic/1', 'c=v', '')),
  'read a later block': coapDatagrams((device) => device.get('ps/topic/1', 'c=v', { token: 1, block2: [1, false, 6] })),
  connect: coapDatagrams((device) => device.request(post, 'mqtt/connection', 'c=w', '')),
  publish: coapDatagrams((device) => device.request(put, 'ps/a', 'c=v', 'x')),
  core: coapDatagrams((device) => device.request(get, '.well-known/core', '', '')),
  'an unknown path': coapDatagrams((device) => device.request(get, 'x', '', '')),
  ping: Buffer.of(0x40, 0, 0, 9),
  'an acknowledgement that is guessed': Buffer.of(0x60, 0, 0x12, 0x34),
  malformed: Buffer.of(0x4f, 1, 0, 9),
}

const lwm2m: Datagrams = {
  register: coapDatagrams((device) => device.request(post, 'rd', 'ep=v&lt=86400', '</1/0>,</3/0>')),
  'register in queue mode': coapDatagrams((device) => device.request(post, 'rd', 'ep=v&lt=86400&b=UQ', '</3/0>')),
  'update of an unknown location': coapDatagrams((device) => device.request(post, 'rd/0011', '', '')),
  core: coap['core'] ?? Buffer.alloc(0),
  'an acknowledgement that is guessed': Buffer.of(0x60, 0, 0x12, 0x34),
}

const translator = { topic: 'up', qos: 0 } as const
const gateways: readonly (readonly [string, Datagrams, (stage: GatewayStage) => DatagramGateway])[] = [
  ['MQTT-SN', snDatagrams, (stage) => new MqttSnGateway(snSettings, stage.dependencies)],
  [
    'MQTT-SN behind a forwarder',
    Object.fromEntries(Object.entries(snDatagrams).map(([name, bytes]) => [name, wrapped(bytes)])),
    (stage) => new MqttSnGateway(snSettings, stage.dependencies),
  ],
  ['CoAP', coap, (stage) => new CoapGateway(coapSettings, stage.dependencies)],
  [
    'CoAP with confirmable notifications',
    coap,
    (stage) => new CoapGateway({ ...coapSettings, notifyType: 'con' }, stage.dependencies),
  ],
  [
    'LwM2M',
    lwm2m,
    (stage) =>
      new Lwm2mGateway(
        {
          lifetimeMinSeconds: 15,
          lifetimeMaxSeconds: 86_400,
          queueModeWindowMs: 22_000,
          observesAll: true,
          publishesAllUpdates: false,
          mountpoint: '',
          translators: {
            command: translator,
            response: translator,
            notify: translator,
            register: translator,
            update: translator,
          },
          objects: new ObjectDefinitions(),
          maxClients: 16,
          override: { clientId: undefined, username: undefined, password: undefined },
        },
        stage.dependencies,
      ),
  ],
]

describe('[F8] a forged address', () => {
  for (const [name, datagrams, create] of gateways) {
    test(`gets at most three times the bytes of one or two datagrams: ${name}`, () => {
      for (const [first, firstBytes] of Object.entries(datagrams)) {
        for (const [second, secondBytes] of [['nothing', undefined], ...Object.entries(datagrams)] as const) {
          const stage = new Stage(create)
          stage.receive(firstBytes, victim)
          stage.deliver()
          if (secondBytes !== undefined) stage.receive(withOtherId(secondBytes), victim)
          stage.deliver()
          stage.wait()
          stage.check(`${first}, then ${second}`)
        }
      }
    })
  }

  test('gets at most three times the bytes of the request that moves an observation to it', () => {
    const stage = new Stage((one) => new CoapGateway(coapSettings, one.dependencies))
    const own: PeerAddress = { address: '192.0.2.1', port: 4_000 }
    const device = new CoapDevice(
      (bytes) => stage.receive(bytes, own),
      () => stage.sent.splice(0).map(({ bytes }) => bytes),
    )
    device.request(post, 'mqtt/connection', 'c=v', '')
    stage.acceptAll()
    const token = device.takeLast()?.payload.toString()
    device.get('ps/#', `c=v&t=${token}`, { token: 1, observe: 0 })
    stage.acceptAll()
    for (const message of device.all()) if (message.type === 'con') device.acknowledge(message)
    stage.receive(
      coapDatagrams((one) => one.request(put, 'mqtt/connection', `c=v&t=${token}`, '')),
      victim,
    )
    for (let count = 0; count < 20; count++) stage.deliver()
    stage.wait()
    stage.check('moved')
  })
})

test('[F8] a client of MQTT-SN gets everything after REGACK with the message ID that it received', () => {
  const stage = new Stage((one) => new MqttSnGateway(snSettings, one.dependencies))
  stage.receive(snDatagrams['connect'] ?? assert.fail(), victim)
  stage.receive(snDatagrams['subscribe to a short name'] ?? assert.fail(), victim)
  stage.deliver()
  const challenge =
    stage.sent.map(({ bytes }) => bytes).find((bytes) => bytes[1] === 0x0a) ?? assert.fail('no REGISTER')
  const before = stage.sentBytes
  stage.receive(sn(0x0b, ...challenge.subarray(2, 6), 0), victim)
  assert.ok(stage.sentBytes > before + 600, `${stage.sentBytes - before} bytes`)
})

test('[F8] a CoAP client gets large notifications after its response to an empty message', () => {
  const stage = new Stage((one) => new CoapGateway({ ...coapSettings, notifyType: 'con' }, one.dependencies))
  stage.receive(coap['observe'] ?? assert.fail(), victim)
  stage.deliver()
  for (let seconds = 0; seconds < 60; seconds++) {
    stage.nowMs += 1_000
    stage.gateway.tick()
  }
  const ping =
    stage.sent.map(({ bytes }) => bytes).find((bytes) => bytes[0] === 0x40 && bytes[1] === 0) ?? assert.fail('no ping')
  stage.receive(Buffer.of(0x70, 0, ...ping.subarray(2)), victim)
  const whole = stage.sent.at(-1)?.bytes ?? assert.fail()
  assert.equal((whole[0] ?? 0) >> 4, 4, 'the notification is sent again')
  // The messages that waited are small.
  for (let count = 0; count < 2 * retained; count++)
    stage.receive(Buffer.of(0x60, 0, ...(stage.sent.at(-1)?.bytes.subarray(2, 4) ?? [])), victim)
  stage.deliver()
  assert.ok((stage.sent.at(-1)?.bytes.length ?? 0) > 64, 'later ones are whole')
})
