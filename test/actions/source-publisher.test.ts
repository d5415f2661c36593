// The client with which a source publishes at its own broker. The broker is the test.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { generate, type Packet, parser } from 'mqtt-packet'
import type { TopicName } from '../../src/protocol/index.ts'
import { SourcePublisher } from '../../src/actions/sources/source-publisher.ts'
import type { ByteStream } from '../../src/transports/index.ts'

const limits = { maxPacketBytes: 100_000, maxPropertyBytes: 1_000, maxTopicLevels: 8, maxTopicBytes: 100 }

/** Resolves with what the publisher sends, packet by packet. */
class Stage {
  readonly streams: ByteStream[] = []
  readonly publisher: SourcePublisher
  readonly #packets: Packet[] = []
  #wake: () => void = () => {}

  constructor() {
    this.publisher = new SourcePublisher({
      source: 'nats:orders',
      openConnection: (stream) => this.#accept(stream),
      readLimits: () => limits,
      runGuarded: (work) => work(),
      after: (delayMs, work) => {
        const timer = setTimeout(work, delayMs)
        return { cancel: () => clearTimeout(timer) }
      },
    })
  }

  #accept(stream: ByteStream): void {
    this.streams.push(stream)
    const received = parser({ protocolVersion: 5 })
    received.on('packet', (packet) => {
      this.#packets.push(packet)
      this.#wake()
    })
    stream.onData = (chunk) => void received.parse(chunk)
  }

  async next(cmd: Packet['cmd']): Promise<Packet> {
    while (this.#packets.length === 0) await new Promise<void>((resolve) => (this.#wake = resolve))
    const packet = this.#packets.shift()
    assert.equal(packet?.cmd, cmd)
    return packet
  }

  get unread(): number {
    return this.#packets.length
  }

  send(packet: Packet): void {
    this.streams.at(-1)?.write(generate(packet, { protocolVersion: 5 }), () => {})
  }

  publish(text: string): Promise<void> {
    return this.publisher.publish({
      topic: 'orders' as TopicName,
      payload: Buffer.from(text),
      properties: [['column', text]],
    })
  }
}

test('messages wait for CONNACK and for the Receive Maximum of the broker, and resolve with PUBACK', async () => {
  const stage = new Stage()
  const results = ['a', 'b'].map((text) => stage.publish(text))
  await stage.next('connect')
  assert.equal(stage.unread, 0)
  stage.send({ cmd: 'connack', sessionPresent: false, reasonCode: 0, properties: { receiveMaximum: 1 } })
  for (const [index, text] of ['a', 'b'].entries()) {
    const packet = await stage.next('publish')
    assert.ok(packet.cmd === 'publish')
    assert.deepEqual(
      [String(packet.payload), packet.qos, packet.properties?.userProperties?.['column']],
      [text, 1, text],
    )
    assert.equal(stage.unread, 0)
    stage.send({ cmd: 'puback', messageId: packet.messageId ?? 0, reasonCode: 0 })
    await results[index]
  }
  stage.publisher.close()
  await stage.next('disconnect')
})

test('a rejected message rejects with the reason, and the next one is sent', async () => {
  const stage = new Stage()
  const rejected = stage.publish('a')
  await stage.next('connect')
  stage.send({ cmd: 'connack', sessionPresent: false, reasonCode: 0 })
  const { messageId = 0 } = await stage.next('publish')
  stage.send({ cmd: 'puback', messageId, reasonCode: 0x97 })
  await assert.rejects(rejected, /this broker rejects the message: quota exceeded \(0x97\)/)
  const stopped = stage.publish('b')
  await stage.next('publish')
  stage.publisher.close()
  await assert.rejects(stopped, /the source is stopped/)
})

test('after its connection has ended, the next message opens another one', async () => {
  const stage = new Stage()
  const lost = stage.publish('a')
  await stage.next('connect')
  stage.send({ cmd: 'connack', sessionPresent: false, reasonCode: 0 })
  await stage.next('publish')
  stage.streams[0]?.destroy()
  await assert.rejects(lost, /this broker closed the connection/)
  const again = stage.publish('a')
  await stage.next('connect')
  assert.equal(stage.streams.length, 2)
  stage.publisher.close()
  await assert.rejects(again, /the source is stopped/)
})
