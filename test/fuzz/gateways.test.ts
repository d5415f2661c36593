// Mutated datagrams: no input ends the process, grows memory without bound or gets an answer that is more than three times as
// long [F8 of the gateway contract]. The same by the million: GODWIT_FUZZ_RUNS.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CoapGateway,
  Lwm2mGateway,
  type DatagramGateway,
  MqttSnGateway,
  ObjectDefinitions,
  PredefinedTopics,
  StompGateway,
} from '../../src/gateways/index.ts'
import { GatewayStage } from '../gateways/gateway-stage.ts'

const runs = Number(process.env['GODWIT_FUZZ_RUNS'] ?? 20_000)

const seeds = {
  mqttsn: [
    '0c04040100 3c6465766963',
    '060a00000001',
    '0d0a000000016162632f6465',
    '070c2000010001',
    '0b0c0200006162010203ff',
    '0512200001',
    '0912200007612f62',
    '0714210008 0005',
    '021600',
    '0416 6162',
    '041800ff',
    '0218',
    '0407 2061',
    '0309 01',
    '07fe01aabb0216',
    '0301 00',
    '070d0001000100',
    '070b0001ffff00',
    '01000e0c6000050000616263646566',
  ],
  coap: [
    '40010001bb2e77656c6c2d6b6e6f776e04636f7265',
    '44020002aabbccdd b2707301610162ff68656c6c6f',
    '41010003 aa 60 52 7073 01 61',
    '40030004b4 6d717474 0a 636f6e6e656374696f6e 4a 636c69656e7469643d61',
    '4400000500',
    '60000006',
    '70000007',
    '41010008aa6152707301614363 3d61',
    '40020009 b2 7073 01 62 d1 03 0a ff 00112233445566778899aabbccddeeff',
    '4102000a 01 b2 7073 01 62 d1 02 0e',
  ],
  lwm2m: [
    // POST /rd?ep=dev&lt=60 with </3/0>, then an update, a notification, an answer, and a DELETE.
    '41020001 01 b2 7264 46 65703d646576 05 6c743d3630 ff 3c2f332f303e',
    '41020002 01 b2 7264 46 65703d646577 04 623d5551 ff 3c2f3e3b72743d226f6d612e6c776d326d222c3c2f312f303e',
    '41020003 01 b2 7264 08 3030303030303030 45 6c743d3630',
    '48450004 0102030405060708 61 05 62 2d16 ff c1 09 64',
    '68450005 0102030405060708 c1 00 ff 39',
    '41040006 01 b2 7264 08 3030303030303030',
    '60000007',
    '70000008',
    '41010009 01 bb 2e77656c6c2d6b6e6f776e 04 636f7265',
  ],
} as const

function bytesOf(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex')
}

/** Xorshift: the same datagrams at every run. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

function mutate(seed: Buffer, random: (below: number) => number): Buffer {
  let bytes = Buffer.from(seed)
  for (let change = random(4); change >= 0; change--) {
    const at = random(Math.max(1, bytes.length))
    const kind = random(5)
    if (kind === 0 && bytes.length > 0) bytes[at] = random(256)
    else if (kind === 1 && bytes.length > 0) bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8))
    else if (kind === 2) bytes = bytes.subarray(0, at)
    else if (kind === 3) bytes = Buffer.concat([bytes.subarray(0, at), Buffer.of(random(256)), bytes.subarray(at)])
    else if (kind === 4 && bytes.length > 0 && random(2) === 0) bytes[0] = bytes.length
  }
  return bytes
}

const sn = {
  gatewayId: 1,
  allowsQosMinusOne: true,
  resumesTopics: false,
  predefined: new PredefinedTopics([{ id: 5, topic: 'pre/defined' }]),
  retryIntervalMs: 10_000,
  maxRetries: 3,
  idleTimeoutMs: 30_000,
  maxClients: 64,
  override: { clientId: undefined, username: undefined, password: undefined },
}

const coap = {
  heartbeatMs: 30_000,
  requiresConnection: false,
  notifyType: 'qos',
  subscribeQoS: undefined,
  publishQoS: undefined,
  maxBlockBytes: 1_024,
  maxBodyBytes: 65_536,
  idleTimeoutMs: 30_000,
  maxClients: 64,
  override: sn.override,
} as const

const translator = { topic: 'up', qos: 0 } as const
const lwm2m = {
  lifetimeMinSeconds: 15,
  lifetimeMaxSeconds: 60,
  queueModeWindowMs: 22_000,
  observesAll: true,
  publishesAllUpdates: true,
  mountpoint: '',
  translators: {
    command: { topic: 'dn/#', qos: 1 },
    response: translator,
    notify: translator,
    register: translator,
    update: translator,
  },
  objects: new ObjectDefinitions(),
  maxClients: 64,
  override: sn.override,
} as const

describe('mutated datagrams', () => {
  for (const [name, create] of [
    ['mqttsn', (stage: GatewayStage): DatagramGateway => new MqttSnGateway(sn, stage.dependencies)],
    ['coap', (stage: GatewayStage): DatagramGateway => new CoapGateway(coap, stage.dependencies)],
    ['lwm2m', (stage: GatewayStage): DatagramGateway => new Lwm2mGateway(lwm2m, stage.dependencies)],
  ] as const) {
    test(`of ${name} end nothing, and no stranger gets more than three times what it sent`, () => {
      const stage = new GatewayStage()
      const gateway = create(stage)
      const random = randomOf(20_261_124)
      for (let run = 0; run < runs; run++) {
        const seed = bytesOf(seeds[name][random(seeds[name].length)] ?? '')
        const datagram = mutate(seed, random)
        stage.sent.length = 0
        stage.connections.length = Math.min(stage.connections.length, 256)
        gateway.handleDatagram(datagram, { address: `192.0.2.${random(200)}`, port: 1_024 + random(8) })
        const answered = stage.sent.reduce((bytes, one) => bytes + one.bytes.length, 0)
        assert.ok(answered <= Math.max(64, datagram.length * 3), `${answered} octets to ${datagram.toString('hex')}`)
        if (run % 3 === 0) stage.acceptAll()
        stage.nowMs += random(100)
        if (run % 50 === 0) gateway.tick()
        assert.ok(gateway.clients <= 64)
      }
      assert.ok(stage.dependencies.counters.received === runs)
      assert.ok(stage.dependencies.counters.dropped.malformed > 0)
      gateway.close()
    })
  }
})

const stompSeeds = [
  'CONNECT\naccept-version:1.0,1.2\nhost:h\nheart-beat:1000,1000\n\n\0',
  'SEND\ndestination:a/b\nreceipt:1\ncontent-length:3\n\nx\0y\0\n',
  'SUBSCRIBE\nid:1\ndestination:a/#\nack:client\n\n\0',
  'BEGIN\ntransaction:t\n\n\0SEND\ndestination:a\ntransaction:t\nfoo:\\c\\n\n\n1\0COMMIT\ntransaction:t\n\n\0',
  'ACK\nid:1\n\n\0NACK\nid:2\ntransaction:t\n\n\0ABORT\ntransaction:t\n\n\0',
  'UNSUBSCRIBE\nid:1\n\n\0DISCONNECT\nreceipt:9\n\n\0',
]

test('mutated frames of stomp end nothing, whatever their chunks are', () => {
  const stage = new GatewayStage()
  const limits = { maxHeaders: 10, maxHeaderBytes: 1_024, maxBodyBytes: 65_536, idleTimeoutMs: 30_000 }
  const gateway = new StompGateway({ ...limits, override: sn.override }, stage.dependencies)
  const random = randomOf(20_261_124)
  let errors = 0
  let receipts = 0
  for (let run = 0; run < runs / 10; run++) {
    let isEnded = false
    const write = (bytes: Buffer): void => {
      assert.ok(!isEnded, 'nothing is written after the end')
      if (bytes.toString().startsWith('ERROR')) errors++
      if (bytes.toString().startsWith('RECEIPT')) receipts++
    }
    const peer = { address: '192.0.2.7', port: 4_000 }
    const end = (): void => void (isEnded = true)
    const device = gateway.accept({ peer, write, unsentBytes: 0, pause: () => {}, resume: () => {}, end })
    device.handleBytes(Buffer.from(stompSeeds[0] ?? ''))
    stage.connections.splice(0, stage.connections.length - 1)
    stage.acceptAll()
    for (let frame = 0; frame < 6; frame++) {
      const seed = Buffer.from(stompSeeds[random(stompSeeds.length)] ?? '')
      const bytes = frame % 2 === 0 ? seed : mutate(seed, random)
      const cut = random(bytes.length + 1)
      device.handleBytes(bytes.subarray(0, cut))
      device.handleBytes(bytes.subarray(cut))
      stage.acceptAll()
      for (const { packetId, qos } of stage.connections.at(-1)?.published.splice(0) ?? []) {
        const answer = { packetId, reasonCode: 0, properties: undefined } as const
        if (qos === 1) stage.connections.at(-1)?.callbacks.handlePacket({ type: 'puback', ...answer })
      }
      stage.nowMs += random(100)
      gateway.tick()
    }
    device.handleClosed()
    assert.equal(gateway.clients, 0)
  }
  assert.ok(errors > runs / 100 && receipts > runs / 100, `${errors} errors, ${receipts} receipts`)
})
