// A QUIC listener on its own port, and the client of the library.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { connectQuicAsync, type QuicClientSession, type QuicConnectOptions, type QuicStream } from '@currentspace/http3'
import { type ByteStream, type Listener, listenQuic, type QuicListenOptions } from '../../src/transports/index.ts'
import { Authority } from './certificates.ts'
import { EventQueue } from './event-queue.ts'

export interface QuicStage {
  readonly listener: Listener
  readonly streams: EventQueue<ByteStream>
  readonly refusals: EventQueue<string>
  client(options?: QuicConnectOptions): Promise<QuicClient>
  /** The broker end of the next connection, and its received chunks. */
  next(): Promise<{ stream: ByteStream; chunks: EventQueue<string> }>
  /** A client that has sent CONNECT on its first stream, and the broker end of it. */
  pair(): Promise<{ client: QuicClient; control: QuicClientStream; stream: ByteStream; chunks: EventQueue<string> }>
}

export const authority = new Authority('plant')
export const broker = authority.issue('broker', { hostNames: ['localhost'] })

export async function openQuicStage(t: TestContext, options: Partial<QuicListenOptions> = {}): Promise<QuicStage> {
  const streams = new EventQueue<ByteStream>()
  const chunksOf = new WeakMap<ByteStream, EventQueue<string>>()
  const refusals = new EventQueue<string>()
  const clients: QuicClient[] = []
  const listener = await listenQuic({
    host: '127.0.0.1',
    port: 0,
    credentials: {
      key: broker.key,
      certificate: broker.certificate,
      authorities: undefined,
      requiresCertificate: false,
    },
    idleTimeoutMs: 30_000,
    keepAliveMs: 0,
    checksAddresses: true,
    streamTimeoutMs: 5_000,
    maxDataStreams: 4,
    maxPacketBytes: 1_048_576,
    onStream: (stream) => {
      chunksOf.set(stream, receivedText(stream))
      streams.add(stream)
    },
    onRefused: (reason, why) => refusals.add(why ?? reason),
    ...options,
  })
  t.after(async () => {
    await Promise.all(clients.map((client) => client.session.close()))
    await listener.close()
  })
  const client: QuicStage['client'] = async (settings) => {
    const made = new QuicClient(
      await connectQuicAsync(`127.0.0.1:${listener.port}`, {
        alpn: ['mqtt'],
        ca: authority.certificate,
        servername: 'localhost',
        runtimeMode: 'portable',
        ...settings,
      }),
    )
    clients.push(made)
    return made
  }
  const next: QuicStage['next'] = async () => {
    const stream = await streams.next()
    const chunks = chunksOf.get(stream)
    assert.ok(chunks !== undefined)
    return { stream, chunks }
  }
  const pair: QuicStage['pair'] = async () => {
    const made = await client()
    const control = made.open()
    control.send(connectPacket)
    const { stream, chunks } = await next()
    await gathered(chunks, connectPacket)
    return { client: made, control, stream, chunks }
  }
  return { listener, streams, refusals, client, next, pair }
}

export class QuicClient {
  readonly session: QuicClientSession
  readonly ended: Promise<void>

  constructor(session: QuicClientSession) {
    this.session = session
    session.on('error', () => {})
    this.ended = new Promise((resolve) => session.on('close', () => resolve()))
  }

  open(): QuicClientStream {
    return new QuicClientStream(this.session.openStream())
  }
}

export class QuicClientStream {
  readonly stream: QuicStream
  readonly chunks = new EventQueue<string>()
  readonly ended: Promise<void>

  constructor(stream: QuicStream) {
    this.stream = stream
    stream.on('error', () => {})
    stream.on('data', (chunk: Buffer) => this.chunks.add(chunk.toString('latin1')))
    this.ended = new Promise((resolve) => stream.on('end', () => resolve()))
  }

  /** Each character is one byte. */
  send(bytes: string): void {
    this.stream.write(Buffer.from(bytes, 'latin1'))
  }
}

/** Packets as text; each character is one byte. */
export function packet(first: number, body: string): string {
  const { length } = body
  assert.ok(length < 16_384)
  const size = length < 128 ? [length] : [(length % 128) | 128, length >> 7]
  return String.fromCharCode(first, ...size) + body
}

export const connectPacket = packet(0x10, 'whatever CONNECT says')

function receivedText(stream: ByteStream): EventQueue<string> {
  const chunks = new EventQueue<string>()
  stream.onData = (chunk) => chunks.add(chunk.toString('latin1'))
  return chunks
}

/** Waits until a stream has received exactly this text. */
export async function gathered(chunks: EventQueue<string>, expected: string): Promise<void> {
  let all = ''
  while (all.length < expected.length) all += await chunks.next()
  assert.equal(all, expected)
}
