// A WebSocket listener on its own port.

import { once } from 'node:events'
import { createServer, type AddressInfo, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { type ByteStream, WebSocketAcceptor, type WebSocketOptions } from '../../src/transports/index.ts'
import { EventQueue } from './event-queue.ts'
import { upgradeRequest, WebSocketPeer } from './websocket-peer.ts'

export interface WebSocketStage {
  readonly port: number
  readonly streams: EventQueue<ByteStream>
  readonly refusals: EventQueue<string>
  /** The sockets of the broker for all connections, also before the upgrade. */
  readonly sockets: EventQueue<Socket>
  peer(): Promise<WebSocketPeer>
  /** Connects a client. Returns it and its stream at the broker. */
  pair(headers?: Record<string, string | undefined>): Promise<{ peer: WebSocketPeer; stream: ByteStream }>
}

export const path = '/mqtt'

export async function openWebSocketStage(
  t: TestContext,
  options: Partial<WebSocketOptions> = {},
): Promise<WebSocketStage> {
  const streams = new EventQueue<ByteStream>()
  const refusals = new EventQueue<string>()
  const sockets = new EventQueue<Socket>()
  const opened: Socket[] = []
  const closes: Promise<void>[] = []
  const open = (socket: Socket): void => {
    opened.push(socket)
    closes.push(new Promise((resolve) => socket.once('close', () => resolve())))
  }
  const acceptor = new WebSocketAcceptor({
    path,
    allowedOrigins: [],
    isLoopback: true,
    failsWithoutSubprotocol: true,
    addressHeader: undefined,
    maxMessageBytes: 1_048_576,
    upgradeTimeoutMs: 5_000,
    onStream: (stream) => streams.add(stream),
    onRefused: (_, reason) => refusals.add(reason.replace('127.0.0.1: ', '')),
    ...options,
  })
  const server = createServer({ noDelay: true }, (socket) => {
    open(socket)
    sockets.add(socket)
    const { remoteAddress = '', remotePort = 0 } = socket
    acceptor.handleSocket({ socket, address: remoteAddress, port: remotePort, credentials: undefined })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.after(async () => {
    server.close()
    // A library clears a timer when its socket has closed. The next test may have replaced the timers of the process, and the mock
    // then removes one of its own: two seeds of the simulator failed behind the tests of WebSocket.
    for (const socket of opened) socket.destroy()
    await Promise.all(closes)
  })
  const peer = async (): Promise<WebSocketPeer> => {
    const made = await WebSocketPeer.connect(port)
    open(made.socket)
    return made
  }
  const pair: WebSocketStage['pair'] = async (headers) => {
    const made = await peer()
    await made.request(upgradeRequest(path, headers))
    return { peer: made, stream: await streams.next() }
  }
  return { port, streams, refusals, sockets, peer, pair }
}

/** Returns the queue of the chunks that the stream receives, as text. */
export function received(stream: ByteStream): EventQueue<string> {
  const chunks = new EventQueue<string>()
  stream.onData = (chunk) => chunks.add(chunk.toString())
  return chunks
}

/** Resolves with all received bytes when at least `count` bytes have arrived. */
export function receivedBytes(stream: ByteStream, count: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  return new Promise((resolve) => {
    stream.onData = (chunk) => {
      chunks.push(chunk)
      const all = Buffer.concat(chunks)
      if (all.length >= count) resolve(all)
    }
  })
}

export const closed = (stream: ByteStream): Promise<Error | undefined> =>
  new Promise((resolve) => {
    stream.onClose = resolve
  })

export const written = (stream: ByteStream, bytes: string | Buffer): Promise<void> =>
  new Promise((resolve) => stream.write(Buffer.from(bytes), resolve))
