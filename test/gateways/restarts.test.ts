// State of gateways across restarts, in memory: a second gateway gets the state of the first one. By section F1 of the
// gateway requirements.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { MqttSnGateway, PredefinedTopics } from '../../src/gateways/index.ts'
import { PublishPacket, type TopicName, TopicTable } from '../../src/protocol/index.ts'
import { snSettings } from './gateway-settings.ts'
import { GatewayStage } from './gateway-stage.ts'

const topics = new TopicTable(16)
/** The addresses of the loopback have proven themselves: see amplification.test.ts for others. */
const peer = { address: '127.0.0.7', port: 4_000 }

class Stage extends GatewayStage {
  readonly gateway = new MqttSnGateway({ ...snSettings, predefined: new PredefinedTopics([]) }, this.dependencies)

  receive(...octets: readonly (number | string)[]): void {
    const body = Buffer.concat(octets.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.of(part))))
    this.gateway.handleDatagram(Buffer.concat([Buffer.of(body.length + 1), body]), peer)
  }

  taken(): readonly string[] {
    return this.sent.splice(0).map(({ bytes }) => bytes.toString('hex'))
  }

  /** CONNECT with a session and a will, and one topic id. */
  connected(): void {
    this.receive(0x04, 0x08, 1, 0, 60, 'dev')
    this.receive(0x07, 0x20, 'will/topic')
    this.receive(0x09, 'gone')
    this.acceptAll()
    this.receive(0x0a, 0, 0, 0, 1, 'a/long/name')
    assert.deepEqual(this.taken(), ['0206', '0208', '030500', '070b0001000100'])
  }

  /** A gateway after a restart, at this time. */
  next(nowMs = this.nowMs): Stage {
    const stage = new Stage()
    stage.nowMs = nowMs
    for (const [name, value] of this.stored) stage.stored.set(name, value)
    stage.gateway.restore(new Map(this.stored))
    return stage
  }

  /** A message of QoS 0. */
  deliver(topic: string, text: string): void {
    const options = { qos: 0, retain: false, dup: false } as const
    const packet = new PublishPacket(topics.internName(topic as TopicName), options, Buffer.from(text))
    packet.frameEnd = text.length
    this.connections.at(-1)?.callbacks.handlePacket(packet)
  }

  wait(ms: number): void {
    this.nowMs += ms
    this.gateway.tick()
  }
}

describe('[F1] MQTT-SN', () => {
  test('topic ids of a session are stored until a clean session begins', () => {
    const first = new Stage()
    first.connected()
    first.receive(0x18)
    const second = first.next()
    second.receive(0x04, 0, 1, 0, 60, 'dev')
    second.acceptAll()
    second.taken()
    second.receive(0x0c, 0x20, 0, 1, 0, 9, 'x')
    assert.equal(second.connections.at(-1)?.published[0]?.topic.name, 'a/long/name')
    second.receive(0x18)
    second.receive(0x04, 0x04, 1, 0, 60, 'dev')
    second.acceptAll()
    assert.deepEqual([...second.stored], [])
  })

  test('topic ids end with a clean session at the same address, too', () => {
    const stage = new Stage()
    stage.connected()
    stage.receive(0x04, 0x04, 1, 0, 60, 'dev')
    stage.acceptAll()
    assert.deepEqual([...stage.stored.keys()], [])
  })

  test('messages of QoS 0 for a sleeping client are sent after the restart, in order and once', () => {
    const stage = new Stage()
    stage.connected()
    stage.deliver('aa', 'awake')
    stage.receive(0x18, 0, 60)
    for (const text of ['one', 'two', 'three']) stage.deliver('aa', text)
    const second = stage.next()
    second.acceptAll()
    second.deliver('aa', 'four')
    const third = second.next()
    third.acceptAll()
    third.receive(0x16, 'dev')
    assert.deepEqual(
      third.taken().map((hex) => Buffer.from(hex, 'hex').toString('utf8', 7)),
      ['one', 'two', 'three', 'four'],
    )
    assert.deepEqual(
      [...third.stored.keys()].filter((name) => name.includes('\0q')),
      [],
    )
  })

  test('messages of QoS 0 are deleted when their client starts a clean session, disconnects or is lost', () => {
    for (const end of [
      (stage: Stage) => stage.receive(0x04, 0x04, 1, 0, 60, 'dev'),
      (stage: Stage) => stage.receive(0x18),
      (stage: Stage) => stage.wait(100_000),
    ]) {
      const stage = new Stage()
      stage.connected()
      stage.receive(0x18, 0, 60)
      stage.deliver('aa', 'one')
      assert.equal([...stage.stored.keys()].filter((name) => name.includes('\0q')).length, 1)
      end(stage)
      assert.deepEqual(
        [...stage.stored.keys()].filter((name) => name.includes('\0q')),
        [],
      )
    }
  })

  test('a clean session is not stored', () => {
    const stage = new Stage()
    stage.receive(0x04, 0x04, 1, 0, 60, 'dev')
    stage.acceptAll()
    stage.receive(0x0a, 0, 0, 0, 1, 'a/long/name')
    stage.receive(0x18, 0, 60)
    assert.deepEqual([...stage.stored], [])
  })

  test('a sleeping client has its connection again, with its session and its will', () => {
    const first = new Stage()
    first.connected()
    first.receive(0x18, 0, 60)
    const second = first.next()
    const [connect] = second.connections[0]?.packets ?? []
    assert.ok(connect?.type === 'connect')
    assert.deepEqual(
      [connect.clientId, connect.cleanStart, connect.will?.topic, connect.will?.payload.toString()],
      ['dev', false, 'will/topic', 'gone'],
    )
    second.acceptAll()
    assert.deepEqual(second.taken(), [], 'the device gets no packet')
    second.receive(0x16, 'dev')
    assert.deepEqual(
      second.connections[0]?.packets.map(({ type }) => type),
      ['pingreq'],
    )
  })

  test('a client whose sleep has ended meanwhile is lost: its will is published once', () => {
    const first = new Stage()
    first.connected()
    first.receive(0x18, 0, 60)
    const second = first.next(first.nowMs + 91_000)
    second.acceptAll()
    second.wait(0)
    const [will] = second.connections[0]?.published ?? []
    assert.deepEqual([will?.topic.name, will?.chunk.toString()], ['will/topic', 'gone'])
    assert.equal(second.gateway.clients, 0)
    assert.ok(
      [...second.stored.keys()].every((name) => !name.endsWith('\0s')),
      'it does not sleep any more',
    )
  })

  test('a client that woke up or disconnected is not asleep after a restart', () => {
    for (const wake of [
      (stage: Stage) => stage.receive(0x04, 0x08, 1, 0, 60, 'dev'),
      (stage: Stage) => stage.receive(0x18),
    ]) {
      const stage = new Stage()
      stage.connected()
      stage.receive(0x18, 0, 60)
      wake(stage)
      assert.equal(stage.next().connections.length, 0)
    }
  })

  test('a client that goes to sleep gets DISCONNECT when its sleep is durable', () => {
    const stage = new Stage()
    stage.connected()
    const waiting: (() => void)[] = []
    stage.dependencies.runWhenDurable = (done) => void waiting.push(done)
    stage.receive(0x18, 0, 60)
    assert.deepEqual(stage.taken(), [])
    for (const done of waiting) done()
    assert.deepEqual(stage.taken(), ['0218'])
  })
})
