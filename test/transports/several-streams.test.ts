// Merges packets of several streams, and distributes the acknowledgements: however the bytes are cut, no packet is lost, doubled or mixed.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { test } from 'node:test'
import { AckStreams } from '../../src/transports/quic/ack-streams.ts'
import { PacketReassembler } from '../../src/transports/quic/packet-reassembly.ts'
import { QuicConnection, type QuicPeer } from '../../src/transports/quic/quic-connection.ts'
import { fc } from '../properties.ts'

function packet(first: number, body: Uint8Array): Buffer {
  const size = body.length < 128 ? [body.length] : [(body.length % 128) | 128, body.length >> 7]
  return Buffer.concat([Buffer.of(first, ...size), body])
}

const puback = (identifier: number): Buffer => packet(0x40, Buffer.of(identifier >> 8, identifier & 0xff))
const publish1 = (identifier: number): Buffer => packet(0x32, Buffer.of(0, 1, 0x74, identifier >> 8, identifier & 0xff))

const anyPacket = fc
  .tuple(fc.integer({ min: 0x10, max: 0xff }), fc.uint8Array({ maxLength: 400 }))
  .map(([first, body]) => packet(first, body))
const anyCuts = fc.array(fc.integer({ min: 1, max: 60 }), { minLength: 1, maxLength: 40 })

/** Splits `bytes` into pieces with these sizes, repeatedly. */
function cut(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const pieces: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const size = sizes[pieces.length % sizes.length] ?? 1
    pieces.push(bytes.subarray(at, at + size))
    at += size
  }
  return pieces
}

test('packets are reassembled completely and in order, however they are cut, and nothing stays buffered', () => {
  fc.assert(
    fc.property(fc.array(anyPacket, { maxLength: 20 }), anyCuts, (packets, sizes) => {
      const ends = new Set<number>([0])
      let total = 0
      for (const { length } of packets) ends.add((total += length))
      const gatherer = new PacketReassembler(1_000)
      const passed: Buffer[] = []
      let passedBytes = 0
      for (const piece of cut(Buffer.concat(packets), sizes)) {
        gatherer.addChunk(piece, (whole) => {
          passed.push(Buffer.from(whole))
          passedBytes += whole.length
          assert.ok(ends.has(passedBytes), 'a packet was passed on in parts')
        })
      }
      assert.deepEqual(Buffer.concat(passed), Buffer.concat(packets))
      assert.equal(gatherer.heldBytes, 0)
    }),
  )
})

test('bytes that cannot become a packet are passed on at once', () => {
  for (const bytes of [Buffer.of(0x30, 0xff, 0xff, 0xff, 0xff, 1), Buffer.of(0x30, 0x80, 0x80, 0x01, 0)]) {
    const gatherer = new PacketReassembler(1_000)
    const passed: Buffer[] = []
    gatherer.addChunk(bytes, (whole) => passed.push(whole))
    gatherer.addChunk(Buffer.of(1, 2, 3), (whole) => passed.push(whole))
    assert.deepEqual(Buffer.concat(passed), Buffer.concat([bytes, Buffer.of(1, 2, 3)]))
    assert.equal(gatherer.heldBytes, 0)
  }
})

test('each acknowledgement goes once to the stream of its packet, wherever the bytes after its header are cut', () => {
  const identifiers = fc.uniqueArray(fc.integer({ min: 1, max: 65_535 }), { maxLength: 30 })
  fc.assert(
    fc.property(identifiers, fc.array(fc.integer({ min: 0, max: 2 }), { minLength: 1 }), (packetIds, choices) => {
      const routes = new AckStreams<number>()
      const expected = ['', '', '']
      for (const [index, identifier] of packetIds.entries()) {
        const stream = choices[index % choices.length] ?? 0
        if (stream > 0) assert.ok(routes.recordStreams(publish1(identifier), stream))
        expected[stream] += puback(identifier).toString('hex')
      }
      const dealt = ['', '', '']
      // Each write but the last ends within a long message, as with a full buffer.
      const long = packet(0x30, Buffer.alloc(300))
      for (const identifier of packetIds) {
        const bytes = Buffer.concat([puback(identifier), long])
        for (const part of [bytes.subarray(0, 100), bytes.subarray(100)]) {
          routes.distribute(part, (piece, stream) => {
            dealt[stream ?? 0] += piece.toString('hex')
          })
        }
      }
      assert.ok(routes.isIdle)
      const withoutMessages = (dealt[0] ?? '').replaceAll(long.toString('hex'), '')
      assert.deepEqual([withoutMessages, dealt[1], dealt[2]], expected)
    }),
  )
})

test('a malformed packet is left to the decoder', () => {
  const routes = new AckStreams<number>()
  for (const bytes of [packet(0x32, Buffer.of(0)), packet(0x32, Buffer.of(0, 9, 1)), packet(0x82, Buffer.of(1))]) {
    assert.ok(routes.recordStreams(bytes, 1))
  }
  assert.ok(routes.isIdle)
})

const limits = { maxPacketBytes: 1_000, maxDataStreams: 1, maxHeldBytes: 1_000 }

function peer(close: () => void = () => {}): QuicPeer {
  return {
    remoteAddress: '127.0.0.1',
    remotePort: 1,
    credentials: { certificate: undefined, pskIdentity: undefined },
    close,
  }
}

test('buffered bytes are counted for all connections together, and not for closed ones', async () => {
  const total = { bytes: 0, limit: 1_500 }
  const ended: number[] = []
  const hold = async (number: number): Promise<QuicConnection> => {
    const connection = new QuicConnection(peer(), limits, total)
    connection.onClose = () => ended.push(number)
    const control = Object.assign(new PassThrough(), { id: 0 })
    connection.addStream(control, () => {})
    connection.pause()
    control.write(packet(0x10, new Uint8Array(797)))
    // Until the stream has passed it on.
    await new Promise((resolve) => setImmediate(resolve))
    return connection
  }
  const first = await hold(0)
  assert.equal(total.bytes, 800)
  const second = await hold(1)
  assert.equal(total.bytes, 800, 'the second would exceed the limit and is not buffered')
  second.handleClosed()
  first.end()
  first.handleClosed()
  assert.equal(total.bytes, 0)
  const third = await hold(2)
  assert.equal(total.bytes, 800)
  assert.deepEqual(ended, [1, 0])
  third.handleClosed()
})

test('a closed connection is not closed again: its number may belong to another one', async () => {
  let closes = 0
  const connection = new QuicConnection(
    peer(() => (closes += 1)),
    limits,
    { bytes: 0, limit: 1_000 },
  )
  const control = Object.assign(new PassThrough(), { id: 0 })
  connection.addStream(control, () => {})
  connection.handleClosed()
  control.destroy()
  await once(control, 'close')
  connection.end()
  connection.destroy()
  assert.equal(closes, 0)
})

/** Resolves when the stream has passed the bytes on. */
async function arrive(stream: PassThrough, bytes: Uint8Array): Promise<void> {
  stream.write(bytes)
  await new Promise((resolve) => setImmediate(resolve))
}

test('the bytes of partial packets are reported, and removed when the connection ends', async () => {
  const connection = new QuicConnection(peer(), { ...limits, maxPacketBytes: 1_000 }, { bytes: 0, limit: 1_000 })
  const reported: number[] = []
  connection.onBuffered = () => reported.push(connection.bufferedBytes)
  const control = Object.assign(new PassThrough(), { id: 0 })
  const other = Object.assign(new PassThrough(), { id: 4 })
  connection.addStream(control, () => {})
  connection.addStream(other, () => {})
  const whole = packet(0x10, new Uint8Array(497))
  await arrive(control, whole.subarray(0, 300))
  await arrive(control, whole.subarray(300))
  await arrive(control, whole)
  await arrive(control, whole.subarray(0, 100))
  await arrive(other, packet(0x30, new Uint8Array(497)).subarray(0, 200))
  connection.end()
  await arrive(control, whole.subarray(100, 200))
  assert.deepEqual(reported, [300, 0, 100, 300, 0])
  connection.handleClosed()
})
