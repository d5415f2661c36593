// Clients of MQTT-SN outside loopback that use QoS 0 only and ignore REGISTER, such as emcute of RIOT: they prove their address by PINGRESP
// [MQTT-SN 1.2 6.11]. In memory, with a simulated clock. By section F8 of the gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway } from '../../src/gateways/index.ts'
import type { PeerAddress } from '../../src/transports/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { Random } from '../protocol/fuzz/random.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
const device: PeerAddress = { address: '198.51.100.9', port: 9_999 }
const types = { publish: 0x0c, pingreq: 0x16, pingresp: 0x17 }
const stepMs = 100
const minute = 60_000

class Stage extends GatewayStage {
  readonly gateway = new MqttSnGateway(snSettings, this.dependencies)
  readonly received: string[] = []
  sentBytes = 0
  receivedBytes = 0
  pings = 0
  /** Datagrams of the device in transit. */
  #inTransit: { readonly atMs: number; readonly bytes: Buffer }[] = []

  constructor() {
    super()
    this.send(0x04, 0x04, 1, 0xff, 0xff, 'd')
    this.acceptAll()
    // A short topic name, with QoS 0.
    this.send(0x12, 0x02, 0, 1, 'ab')
    this.acceptAll()
  }

  send(...octets: readonly (number | string)[]): void {
    const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
    this.receivedBytes += body.length + 1
    this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), device)
  }

  deliver(text: string): void {
    const payload = Buffer.from(text)
    const packet = new PublishPacket(
      topics.internName('ab' as TopicName),
      { qos: 0, retain: false, dup: false },
      payload,
    )
    packet.frameEnd = payload.length
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  /** `answer`: the delays of the PINGRESP packets for the PINGREQ with this number. */
  pass(ms: number, answer: (ping: number) => readonly number[]): void {
    for (const end = this.nowMs + ms; this.nowMs < end; this.nowMs += stepMs) {
      this.gateway.tick()
      for (const { bytes } of this.sent.splice(0)) {
        this.sentBytes += bytes.length
        if (bytes[1] === types.publish) this.received.push(bytes.subarray(7).toString())
        if (bytes[1] !== types.pingreq) continue
        for (const delayMs of answer(this.pings++))
          this.#inTransit.push({ atMs: this.nowMs + delayMs, bytes: Buffer.of(2, types.pingresp) })
      }
      const arrived = this.#inTransit.filter(({ atMs }) => atMs <= this.nowMs)
      this.#inTransit = this.#inTransit.filter(({ atMs }) => atMs > this.nowMs)
      for (const { bytes } of arrived) {
        this.receivedBytes += bytes.length
        this.gateway.handleDatagram(bytes, device)
      }
    }
  }
}

const texts = Array.from({ length: 40 }, (_, number) => `${number} ${'x'.repeat(200)}`)

const attackBytes = 1_000
const attackMessages = 900

function stageWithMessages(): Stage {
  const stage = new Stage()
  for (const text of texts) stage.deliver(text)
  return stage
}

describe('[F8] a client of MQTT-SN that ignores REGISTER and uses QoS 0', () => {
  test('gets all messages in order after it has answered PINGREQ', () => {
    const stage = stageWithMessages()
    stage.pass(minute, () => [100])
    assert.deepEqual(stage.received, texts)
    assert.equal(stage.pings, 8)
    assert.ok(stage.dependencies.counters.dropped.unproven > 0, 'the metric says why messages wait')
    stage.deliver('later')
    stage.pass(stepMs, () => [])
    assert.equal(stage.received.at(-1), 'later')
  })

  const networks: readonly (readonly [string, (ping: number) => readonly number[]])[] = [
    ['with a round trip of five seconds', () => [5_000]],
    ['that loses one of 20 packets', (ping) => (ping === 3 ? [] : [200])],
    ['that repeats a packet', (ping) => (ping === 2 ? [100, 3_000] : [100])],
    ['whose delay varies', (ping) => [100 + ((ping * 700) % 1_900)]],
  ]
  for (const [title, answer] of networks) {
    test(`gets all messages over a network ${title}`, () => {
      const stage = stageWithMessages()
      // A client with a keep alive sends PINGREQ.
      for (let minutes = 0; minutes < 10; minutes++) {
        stage.send(types.pingreq)
        stage.pass(minute, answer)
      }
      assert.deepEqual(stage.received, texts)
    })
  }

  test('gets no PINGREQ if it answers REGISTER', () => {
    const stage = stageWithMessages()
    const register = stage.sent.map(({ bytes }) => bytes).find((bytes) => bytes[1] === 0x0a) ?? assert.fail()
    stage.send(0x0b, ...register.subarray(2, 6), 0)
    stage.pass(5 * minute, () => [])
    assert.deepEqual(stage.received, texts)
    assert.equal(stage.pings, 0)
  })
})

describe('[F8] PINGRESP packets of a sender that does not get the PINGREQ packets', () => {
  const attacks: readonly (readonly [string, (random: Random) => number])[] = [
    ['as many as possible', () => stepMs],
    ['one in each slot', () => 2_000],
    ['one in every second slot', () => 4_000],
    ['at random times', (random) => stepMs * (1 + (random.uint32() % 80))],
  ]
  for (const [title, nextMs] of attacks) {
    test(`do not prove an address: ${title}`, () => {
      const random = new Random(7)
      const stage = new Stage()
      for (let count = 0; count < attackMessages; count++) stage.deliver('x'.repeat(attackBytes))
      for (const end = stage.nowMs + 60 * minute; stage.nowMs < end;) {
        stage.pass(nextMs(random), () => [])
        stage.send(types.pingresp)
      }
      assert.ok(stage.sentBytes <= 3 * stage.receivedBytes, `${stage.sentBytes} bytes for ${stage.receivedBytes}`)
    })
  }
})
