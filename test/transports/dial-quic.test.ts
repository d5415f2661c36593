// Outgoing QUIC connections: one stream, several streams, and verification of certificates.

import assert from 'node:assert/strict'
import { createSocket } from 'node:dgram'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { DialedQuicConnection } from '../../src/transports/quic/dialed-quic-connection.ts'
import { type ByteStream, listenQuic, type QuicCredentials } from '../../src/transports/index.ts'
import { Authority } from './certificates.ts'
import { dialled, problemOf, target, textOf, writtenTo } from './dial-stage.ts'
import { EventQueue } from './event-queue.ts'
import { fc } from '../properties.ts'

const authority = new Authority('plant')
const broker = authority.issue('broker', { hostNames: ['localhost', '127.0.0.1'] })
const connect = Buffer.from('100c00044d5154540402003c0000', 'hex')

function publish(topic: string, payload: string, identifier: number): Buffer {
  const body = Buffer.concat([
    Buffer.of(0, topic.length),
    Buffer.from(topic),
    Buffer.of(identifier >> 8, identifier & 0xff),
    Buffer.from(payload),
  ])
  return Buffer.concat([Buffer.of(0x32, body.length), body])
}

async function listen(t: TestContext, credentials: Partial<QuicCredentials> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'godwit-dial-'))
  const streams = new EventQueue<{ stream: ByteStream; arrived: EventQueue<Buffer> }>()
  const listener = await listenQuic({
    host: '127.0.0.1',
    port: 0,
    credentials: {
      key: broker.key,
      certificate: broker.certificate,
      authorities: undefined,
      requiresCertificate: false,
      ...credentials,
    },
    idleTimeoutMs: 30_000,
    keepAliveMs: 0,
    checksAddresses: true,
    streamTimeoutMs: 5_000,
    maxDataStreams: 8,
    maxPacketBytes: 1_048_576,
    onStream: (stream) => {
      const arrived = new EventQueue<Buffer>()
      stream.onData = (chunk) => arrived.add(chunk)
      streams.add({ stream, arrived })
    },
  })
  t.after(async () => {
    await listener.close()
    rmSync(folder, { recursive: true })
  })
  const file = (name: string, content: string): string => {
    writeFileSync(join(folder, name), content)
    return join(folder, name)
  }
  return { port: listener.port, streams, file, caFile: file('ca.pem', authority.certificate) }
}

test('bytes are sent in both directions over QUIC, and its end is reported', async (t) => {
  const { port, streams, caFile } = await listen(t)
  const { stream, chunks, closed } = await dialled(t, target('quic', port, 'localhost'), { tls: { caFile } })
  void writtenTo(stream, connect)
  const { stream: remote, arrived } = await streams.next()
  assert.deepEqual(await arrived.next(), connect)
  await writtenTo(remote, 'and back')
  assert.equal(await textOf(chunks, 8), 'and back')
  remote.end()
  await closed
})

test('a certificate is accepted for its name, with the configured authority only', async (t) => {
  const { port, caFile, file } = await listen(t)
  await dialled(t, target('quic', port, 'localhost'), { tls: { caFile } })
  const unknownAuthority = file('stranger.pem', new Authority('Unknown authority').certificate)
  for (const tls of [{ caFile: unknownAuthority }, {}]) {
    const problem = await problemOf(target('quic', port, 'localhost'), { tls })
    assert.equal(problem.reason, 'tls', problem.message)
  }
  await dialled(t, target('quic', port, 'localhost'), { tls: { verifyPeer: false } })
})

test('a certificate for another name is refused', async (t) => {
  const other = authority.issue('other', { hostNames: ['other.example'] })
  const { port, caFile } = await listen(t, { certificate: other.certificate, key: other.key })
  for (const host of ['localhost', '127.0.0.1']) {
    const problem = await problemOf(target('quic', port, host), { tls: { caFile } })
    assert.equal(problem.reason, 'tls', problem.message)
  }
})

test('the client certificate is sent', async (t) => {
  const wants = { authorities: authority.certificate, requiresCertificate: true }
  const { port, streams, caFile, file } = await listen(t, wants)
  const bridge = authority.issue('bridge-1')
  const certFile = file('cert.pem', bridge.certificate)
  const tls = { caFile, certFile, keyFile: file('key.pem', bridge.key) }
  const { stream } = await dialled(t, target('quic', port, 'localhost'), { tls })
  void writtenTo(stream, connect)
  assert.equal((await streams.next()).stream.credentials?.certificate?.commonName, 'bridge-1')
})

test('without a response, the attempt ends with a timeout', async (t) => {
  const socket = createSocket('udp4')
  await new Promise<void>((resolve) => {
    socket.bind(0, '127.0.0.1', resolve)
  })
  t.after(() => socket.close())
  const problem = await problemOf(target('quic', socket.address().port), { connectTimeoutMs: 100 })
  assert.equal(problem.reason, 'too-slow')
})

test('with several streams, topics keep their order, and acknowledgements arrive from each', async (t) => {
  const { port, streams, caFile } = await listen(t)
  const settings = { tls: { caFile }, quic: { dataStreams: 4 } }
  const { stream, chunks } = await dialled(t, target('quic', port, 'localhost'), settings)
  void writtenTo(stream, connect)
  const { stream: remote, arrived } = await streams.next()
  const topics = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
  const packets = Array.from({ length: 400 }, (_, index) =>
    publish(topics[index % 8] ?? '', String(index).padStart(4, '0'), index + 1),
  )
  void writtenTo(stream, Buffer.concat(packets))
  const packetBytes = publish('a', '0000', 1).length
  let bytes = Buffer.alloc(0)
  while (bytes.length < connect.length + packets.length * packetBytes)
    bytes = Buffer.concat([bytes, await arrived.next()])
  const latest = new Map<string, number>()
  const identifiers: Buffer[] = []
  for (let at = connect.length; at < bytes.length; at += packetBytes) {
    const topic = bytes.toString('latin1', at + 4, at + 5)
    const number = Number(bytes.toString('latin1', at + 7, at + 11))
    assert.ok(number > (latest.get(topic) ?? -1), `${topic}: ${number} after ${latest.get(topic)}`)
    latest.set(topic, number)
    identifiers.push(Buffer.concat([Buffer.of(0x40, 2), bytes.subarray(at + 5, at + 7)]))
  }
  assert.equal(identifiers.length, packets.length)
  await writtenTo(remote, Buffer.concat(identifiers))
  const received = await textOf(chunks, identifiers.length * 4)
  const missing = new Set(identifiers.map((each) => each.toString('latin1')))
  for (let at = 0; at < received.length; at += 4) missing.delete(received.slice(at, at + 4))
  assert.equal(missing.size, 0)
})

test('whole packets are distributed over streams, by topic and in order, wherever the bytes after their topics are cut', async () => {
  const anyPacket = fc.record({ topic: fc.integer({ min: 0, max: 20 }), size: fc.integer({ min: 0, max: 100 }) })
  await fc.assert(
    fc.asyncProperty(fc.array(anyPacket, { minLength: 1, maxLength: 30 }), fc.nat(), async (shapes, cut) => {
      const written: Buffer[][] = []
      const session = {
        openStream: () => {
          const stream = new PassThrough()
          const chunks: Buffer[] = []
          written.push(chunks)
          stream.write = ((chunk: Buffer, done: () => void) => {
            chunks.push(Buffer.from(chunk))
            process.nextTick(done)
            return true
          }) as typeof stream.write
          return stream
        },
        close: () => Promise.resolve(),
      }
      const address = { address: '127.0.0.1', port: 1 }
      const connection = new DialedQuicConnection(session, { address, dataStreams: 3, maxPacketBytes: 1_000 })
      const packets = shapes.map(({ topic, size }, index) => publish(`topic-${topic}`, 'x'.repeat(size), index + 1))
      const cutPacket = cut % packets.length
      const last = packets[cutPacket] ?? Buffer.alloc(0)
      const headBytes = Math.min(last.length, 12)
      const begin = Buffer.concat([...packets.slice(0, cutPacket), last.subarray(0, headBytes)])
      const rest = Buffer.concat([last.subarray(headBytes), ...packets.slice(cutPacket + 1)])
      await new Promise<void>((resolve) => connection.write(begin, resolve))
      await new Promise<void>((resolve) => connection.write(rest, resolve))
      const found = new Map<string, number[]>()
      let count = 0
      for (const bytes of written.map((chunks) => Buffer.concat(chunks))) {
        for (let at = 0; at < bytes.length; at += 2 + (bytes[at + 1] ?? 0)) {
          const topicEnd = at + 4 + bytes.readUInt16BE(at + 2)
          const topic = bytes.toString('latin1', at + 4, topicEnd)
          found.set(topic, [...(found.get(topic) ?? []), bytes.readUInt16BE(topicEnd)])
          count += 1
        }
      }
      assert.equal(count, packets.length)
      for (const identifiers of found.values()) {
        assert.deepEqual(
          identifiers,
          identifiers.toSorted((one, other) => one - other),
        )
      }
    }),
    { numRuns: 60 },
  )
})
