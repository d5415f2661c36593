// Messages that the CoAP gateway sends by itself, and partial bodies, in memory. By section F4 of the gateway requirements.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CoapGateway, type CoapSettings } from '../../src/gateways/index.ts'
import { PublishPacket, type QoS, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { CoapDevice, type CoapMessage } from './coap-device.ts'
import { coapSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
const dayMs = 86_400_000
const [post, put] = [2, 3]

class Stage extends GatewayStage {
  readonly gateway: CoapGateway
  readonly device: CoapDevice

  constructor(settings: Partial<CoapSettings> = {}) {
    super()
    this.gateway = new CoapGateway({ ...coapSettings, heartbeatMs: 10 * dayMs, ...settings }, this.dependencies)
    this.device = new CoapDevice(
      (bytes) => this.gateway.handleDatagram(bytes, { address: '127.0.0.1', port: 4_000 }),
      () => this.sent.splice(0).map(({ bytes }) => bytes),
    )
  }

  observed(): this {
    this.device.get('ps/a', 'c=dev', { token: 7, observe: 0 })
    this.acceptAll()
    this.acceptAll()
    assert.equal(this.device.takeLast()?.code, '2.05')
    return this
  }

  deliver(payload: string, qos: QoS = 0): void {
    const packet = new PublishPacket(
      topics.internName('a' as TopicName),
      { qos, retain: false, dup: false },
      Buffer.from(payload),
    )
    packet.packetId = qos
    packet.frameEnd = payload.length
    packet.properties = { subscriptionIdentifiers: [1] }
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  wait(ms: number): readonly CoapMessage[] {
    this.nowMs += ms
    this.gateway.tick()
    return this.device.all()
  }
}

test('[F4] a confirmable message is sent again after 2 to 3 s, doubled, four times; then its observation ends', () => {
  const stage = new Stage().observed()
  stage.deliver('one', 1)
  const [first] = stage.device.all()
  assert.equal(first?.type, 'con')
  assert.deepEqual(stage.wait(1_999), [])
  const repeated: number[] = []
  let waitedMs = 1_999
  while (waitedMs < 100_000) {
    waitedMs += 100
    for (const { messageId } of stage.wait(100)) {
      assert.equal(messageId, first.messageId)
      repeated.push(waitedMs)
    }
  }
  assert.equal(repeated.length, 4)
  const [base = 0] = repeated
  assert.ok(base >= 2_000 && base <= 3_100, `${base} ms`)
  for (const [index, atMs] of repeated.entries()) {
    const expectedMs = base * (2 ** (index + 1) - 1)
    assert.ok(Math.abs(atMs - expectedMs) <= 100 * 2 ** (index + 1), `${atMs} ms, not ${expectedMs}`)
  }
  stage.deliver('two')
  assert.deepEqual(stage.device.all(), [])
})

test('[F4] one confirmable message is in flight for each peer: the next waits for its acknowledgement', () => {
  const stage = new Stage().observed()
  stage.deliver('one', 1)
  stage.deliver('two', 1)
  const [first, ...others] = stage.device.all()
  assert.deepEqual([first?.payload.toString(), others], ['one', []])
  if (first !== undefined) stage.device.acknowledge(first)
  assert.equal(stage.device.takeLast()?.payload.toString(), 'two')
})

test('[F4] notify_type sets the type of notifications, and one each 24 h is confirmable', () => {
  const con = new Stage({ notifyType: 'con' }).observed()
  con.deliver('QoS 0')
  assert.equal(con.device.takeLast()?.type, 'con')
  const non = new Stage({ notifyType: 'non' }).observed()
  non.deliver('QoS 1', 1)
  assert.equal(non.device.takeLast()?.type, 'non')
  non.wait(dayMs)
  non.deliver('a day later')
  const daily = non.device.takeLast()
  assert.equal(daily?.type, 'con')
  if (daily !== undefined) non.device.acknowledge(daily)
  non.deliver('after that')
  assert.equal(non.device.takeLast()?.type, 'non')
})

test('[F2] publish_qos and subscribe_qos apply to requests without a QoS', () => {
  const stage = new Stage({ publishQoS: 2, subscribeQoS: 1 })
  const publish = (query: string): QoS | undefined => {
    stage.device.request(put, 'ps/a', query, 'x')
    stage.acceptAll()
    return stage.connections.at(-1)?.published.at(-1)?.qos
  }
  assert.deepEqual([publish('c=dev'), publish('c=dev&qos=0')], [2, 0])
  stage.device.get('ps/b', 'c=dev', { token: 9, observe: 0 })
  const subscribe = stage.connections.at(-1)?.packets.at(-1)
  assert.ok(subscribe?.type === 'subscribe')
  assert.deepEqual(
    subscribe.subscriptions.map(({ qos }) => qos),
    [1],
  )
})

test('[F4] a peer may have four partial bodies; the fifth is refused with 4.08, and the others continue', () => {
  const stage = new Stage({ publishQoS: 0 })
  const give = (path: string, number: number, hasMore: boolean): string | undefined => {
    const head = Buffer.of(0x40, put, 0, ++messages, 0xb2, ...Buffer.from('ps'), path.length, ...Buffer.from(path))
    const block = Buffer.of(0xd1, 3, (number << 4) | (hasMore ? 8 : 0))
    const bytes = Buffer.concat([head, block, Buffer.of(0xff), Buffer.alloc(16, 'x')])
    stage.gateway.handleDatagram(bytes, { address: '127.0.0.1', port: 4_000 })
    stage.acceptAll()
    return stage.device.takeLast()?.code
  }
  let messages = 0
  for (const path of ['a', 'b', 'c', 'd']) assert.equal(give(path, 0, true), '2.31')
  assert.equal(give('e', 0, true), '4.08')
  assert.equal(give('a', 1, false), '2.04')
  assert.equal(give('e', 0, true), '2.31')
})

test('[F8] tokens have at least 53 random bits, and no two connections have the same', () => {
  const stage = new Stage()
  const tokens = Array.from({ length: 64 }, (_, client) => {
    stage.device.request(post, 'mqtt/connection', `clientid=dev-${client}`, '')
    stage.acceptAll()
    return BigInt(stage.device.takeLast()?.payload.toString() ?? '0')
  })
  assert.equal(new Set(tokens).size, tokens.length)
  // Each of the 53 bits is 1 in one of them and 0 in another: one of 10^17 runs fails by chance.
  for (let bit = 0n; bit < 53n; bit++)
    assert.equal(new Set(tokens.map((token) => (token >> bit) & 1n)).size, 2, `bit ${bit}`)
})
