// Mutated datagrams for gateways in memory: no input ends the process, grows memory without bound or gets a response that is more
// than three times as long [F8 of the gateway requirements].

import assert from 'node:assert/strict'
import {
  CoapGateway,
  type DatagramGateway,
  Lwm2mGateway,
  MqttSnGateway,
  ObjectDefinitions,
} from '../../src/gateways/index.ts'
import { AckPacket, reasonCodes } from '../../src/protocol/index.ts'
import { smallCoapSettings, snSettings } from '../gateways/gateway-settings.ts'
import { GatewayStage } from '../gateways/gateway-stage.ts'

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
  'mqttsn-2': [
    '0d 01 01 0001 02 003c 0000 646576',
    '11 01 09 0001 02 003c 0000 0000000a 646576',
    '1a 01 02 13 0001 02 003c 0000 0002 7774 0003 627965 646576 6464',
    '21 01 04 0001 02 003c 0000 0a 4d5154542d4241534943 0008 0001 75 0003 707764 61',
    '08 10 00 0001 612f62',
    '05 11 00 ffff',
    '06 03 00 0001 78',
    '08 03 20 0007 0001 78',
    '0b 03 63 0008 0003 612f62 78',
    '04 04 0007',
    '05 05 0007 80',
    '04 06 0007',
    '04 07 0007',
    '08 08 e3 0009 612f62',
    '07 08 01 000a 0005',
    '08 0a 03 000b 612f62',
    '04 0c 000c',
    '09 13 01 000d 0000003c',
    '08 0e 06 04 0000003c',
    '08 12 13 0001 61 78',
    '02 17',
    '0c 04 04 01 003c 646576696365',
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
    // POST /rd?ep=dev&lt=60 with </3/0>, then an update, a notification, a response, and a DELETE.
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

/** Xorshift: the same datagrams in every run. */
export function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
}

export function mutate(seed: Buffer, random: (below: number) => number): Buffer {
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

export const sn = { ...snSettings, maxClients: 64 }

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

const gateways = {
  mqttsn: (stage: GatewayStage): DatagramGateway => new MqttSnGateway(sn, stage.dependencies),
  'mqttsn-2': (stage: GatewayStage): DatagramGateway =>
    new MqttSnGateway({ ...sn, speaksVersion2: true }, stage.dependencies),
  coap: (stage: GatewayStage): DatagramGateway => new CoapGateway(smallCoapSettings, stage.dependencies),
  lwm2m: (stage: GatewayStage): DatagramGateway => new Lwm2mGateway(lwm2m, stage.dependencies),
} as const

export type FuzzedProtocol = keyof typeof gateways
export const fuzzedProtocols = Object.keys(gateways) as FuzzedProtocol[]

/** Maximum time for one datagram. */
const maxHandlingMs = 10
const microsPerMs = 1_000

/** Responses up to this size may be any multiple of the datagram [F8]. */
const maxShortResponseBytes = 64

/** Largest ratios of responses to their datagrams. */
export class Amplification {
  short = 0
  long = 0

  note(responseBytes: number, datagramBytes: number): void {
    const ratio = responseBytes / Math.max(1, datagramBytes)
    if (responseBytes > maxShortResponseBytes) this.long = Math.max(this.long, ratio)
    else this.short = Math.max(this.short, ratio)
  }

  toString(): string {
    return `largest response ${this.short.toFixed(2)} times its datagram up to 64 bytes, ${this.long.toFixed(2)} times beyond`
  }
}

/** Otherwise most datagrams would be refused by their first byte: the length of MQTT-SN, the version of CoAP. */
function repairHead(name: FuzzedProtocol, datagram: Buffer): void {
  const [first] = datagram
  if (first === undefined) return
  datagram[0] = name.startsWith('mqttsn') ? datagram.length & 255 : (first & 0x3f) | 0x40
}

export interface FuzzedGateway {
  readonly malformed: number
  readonly responses: number
  /** Largest ratio of a response to its datagram: of short responses, and of those of more than 64 bytes. */
  readonly amplification: Amplification
  readonly maxMs: number
  /** Datagrams that took too long, including pauses of the garbage collector. */
  readonly slow: number
}

/**
 * Acknowledges as a broker does: a client keeps up to 256 unacknowledged publications with their datagrams. The recordings of the test are
 * removed, because they would be counted as memory of the gateway.
 */
function acknowledgePublications({ connections }: GatewayStage): void {
  for (const { published, acknowledged, callbacks } of connections) {
    acknowledged.length = 0
    for (const { qos, packetId } of published.splice(0))
      if (qos === 1) callbacks.handlePacket(new AckPacket('puback', packetId, reasonCodes.success, undefined))
  }
}

/** Throws if a response is too long or a limit is exceeded. The same seed gives the same datagrams. */
export function fuzzGateway(
  name: FuzzedProtocol,
  { count, seed, report }: { readonly count: number; readonly seed: number; readonly report?: (done: number) => void },
): FuzzedGateway {
  const stage = new GatewayStage()
  const gateway = gateways[name](stage)
  const random = randomOf(seed)
  const amplification = new Amplification()
  let responses = 0
  let maxMs = 0
  let slow = 0
  for (let run = 0; run < count; run++) {
    const datagram = mutate(bytesOf(seeds[name][random(seeds[name].length)] ?? ''), random)
    if (random(2) === 0) repairHead(name, datagram)
    stage.sent.length = 0
    stage.connections.length = Math.min(stage.connections.length, 256)
    const peer = { address: `192.0.2.${random(200)}`, port: 1_024 + random(8) }
    // Processor time, because elapsed time depends on other work of the machine.
    const start = process.threadCpuUsage()
    gateway.handleDatagram(datagram, peer)
    const { user, system } = process.threadCpuUsage(start)
    const tookMs = (user + system) / microsPerMs
    maxMs = Math.max(maxMs, tookMs)
    if (tookMs > maxHandlingMs) slow++
    const bytes = stage.sent.reduce((sum, one) => sum + one.bytes.length, 0)
    if (bytes > 0) responses++
    amplification.note(bytes, datagram.length)
    assert.ok(bytes <= Math.max(64, datagram.length * 3), `${bytes} octets to ${datagram.toString('hex')}`)
    if (run % 3 === 0) stage.acceptAll()
    stage.nowMs += random(100)
    if (run % 50 === 0) {
      gateway.tick()
      acknowledgePublications(stage)
    }
    assert.ok(gateway.clients <= 64)
    if (run % 100_000 === 0) report?.(run)
  }
  const { received, dropped } = stage.dependencies.counters
  assert.equal(received, count)
  gateway.close()
  return { malformed: dropped.malformed, responses, amplification, maxMs, slow }
}
