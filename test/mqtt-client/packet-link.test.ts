import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStreamPair, PacketLink } from '../../src/mqtt-client/index.ts'
import { type PacketDecoder, TopicTable } from '../../src/protocol/index.ts'
import type { ByteStream } from '../../src/transports/index.ts'

const limits = { maxPacketBytes: 1_000, maxPropertyBytes: 1_000, maxTopicLevels: 8, maxTopicBytes: 100 }
const pingresp = Buffer.of(0xd0, 0)

class Stage {
  readonly later: (() => void)[] = []
  readonly received: string[] = []
  readonly spareDecoders: PacketDecoder[] = []
  readonly #topics = new TopicTable(16)
  readonly #links: PacketLink[] = []

  /** Returns the other end. */
  link(name: string): ByteStream {
    const later = (work: () => void): void => void this.later.push(work)
    const [localStream, remoteStream] = createStreamPair(later)
    const callbacks = {
      handlePacket: (_: PacketLink, packet: { readonly type: string }) =>
        void this.received.push(`${name} ${packet.type}`),
      handleMalformed: () => void this.received.push(`${name} malformed`),
      handleClosed: () => {},
    }
    const { spareDecoders } = this
    const decoder = { role: 'client' as const, version: 5 as const, topics: this.#topics, ...limits }
    this.#links.push(new PacketLink(callbacks, localStream, { decoder, later, ownsChunks: false, spareDecoders }))
    return remoteStream
  }

  give(stream: ByteStream, bytes: Buffer): void {
    stream.write(bytes, () => {})
    for (let work = this.later.shift(); work !== undefined; work = this.later.shift()) work()
  }
}

test('links without bytes share a decoder', () => {
  const stage = new Stage()
  const [one, other] = [stage.link('one'), stage.link('other')]
  for (const stream of [one, other, one]) stage.give(stream, pingresp)
  assert.deepEqual(stage.received, ['one pingresp', 'other pingresp', 'one pingresp'])
  assert.equal(stage.spareDecoders.length, 1)
})

test('a link with a partial packet keeps its decoder until the packet is complete', () => {
  const stage = new Stage()
  const [one, other] = [stage.link('one'), stage.link('other')]
  stage.give(one, pingresp.subarray(0, 1))
  assert.equal(stage.spareDecoders.length, 0)
  stage.give(other, pingresp)
  stage.give(one, pingresp.subarray(1))
  assert.deepEqual(stage.received, ['other pingresp', 'one pingresp'])
})

test('a decoder is not shared after invalid input', () => {
  const stage = new Stage()
  const [one, other] = [stage.link('one'), stage.link('other')]
  stage.give(one, Buffer.of(0xf1, 0))
  stage.give(other, pingresp)
  assert.deepEqual(stage.received, ['one malformed', 'other pingresp'])
})
