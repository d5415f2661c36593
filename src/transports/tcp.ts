// TCP: sockets of node:net as byte streams.
//
// An idle connection is mostly what Node keeps for it; here it gets one object more and no function of its own: the
// socket's listeners are shared and find the stream through a field of the socket.

import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { ByteStream, DoorRefusal, Listener } from './byte-stream.ts'

export interface TcpListenOptions {
  readonly host: string
  /** 0: the system chooses one. */
  readonly port: number
  /** Several listeners of this machine take the same port and the kernel deals out the connections. */
  readonly reusePort?: boolean
  /** Connections at one time; one more is accepted and closed at once. Undefined: no limit. */
  readonly maxConnections?: number | undefined
  /** What all listeners of this thread may hold together. Without it: no limit. */
  readonly budget?: ConnectionBudget
  /** Called for each connection. Sets `onData` and `onClose` of the stream before it returns. */
  onStream(stream: ByteStream): void
  /** A client was turned away. */
  onRefused?(reason: DoorRefusal): void
  /** The system could not accept a connection. The listener goes on. */
  onFault?(error: Error): void
}

/** Connections that several listeners may hold together: the open-file limit and `limits.max_connections` are such. */
export class ConnectionBudget {
  readonly limit: number
  taken: number

  constructor(limit: number) {
    this.limit = limit
    this.taken = 0
  }

  get isSpent(): boolean {
    return this.taken >= this.limit
  }
}

/** How long a peer may take to let go of a connection that we have ended: so many checks. */
const lingerChecks = 5
const lingerCheckMs = 1_000
/** Clients that the kernel holds for us during one turn; it takes less where its own limit is lower. */
const backlog = 4_096

const ignore = (): void => {}

interface StreamSocket extends Socket {
  byteStream: TcpStream
}

class TcpStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  readonly #socket: Socket
  readonly #budget: ConnectionBudget
  #error: Error | undefined
  #isEnding: boolean

  constructor(socket: Socket, budget: ConnectionBudget) {
    this.remoteAddress = plainAddress(socket.remoteAddress)
    this.remotePort = socket.remotePort ?? 0
    this.onData = ignore
    this.onClose = ignore
    this.#socket = socket
    this.#budget = budget
    this.#error = undefined
    this.#isEnding = false
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
    if (this.#isEnding) process.nextTick(done)
    else this.#socket.write(buffer, done)
  }

  pause(): void {
    if (!this.#isEnding) this.#socket.pause()
  }

  resume(): void {
    if (!this.#isEnding) this.#socket.resume()
  }

  end(): void {
    if (this.#isEnding) return
    this.#isEnding = true
    this.onData = ignore
    // Data that nobody reads would turn our close into a reset, and the reset would overtake the last bytes that we
    // sent. So we go on reading until the peer has closed its side.
    this.#socket.resume()
    this.#socket.end()
    waitForPeerToLetGo(this)
  }

  destroy(): void {
    this.#isEnding = true
    this.onData = ignore
    this.#socket.destroy()
  }

  noteError(error: Error): void {
    this.#error = error
  }

  noteClosed(): void {
    this.#isEnding = true
    forgetLingering(this)
    this.#budget.taken -= 1
    this.onClose(this.#error)
  }
}

/** Starts to listen. Rejects with the system's error (`EADDRINUSE`, `EACCES`, `EADDRNOTAVAIL`) where it cannot. */
export function listenTcp(options: TcpListenOptions): Promise<Listener> {
  const budget = options.budget ?? new ConnectionBudget(Number.POSITIVE_INFINITY)
  const server = createServer({ noDelay: true }, (socket) => {
    welcome(socket as StreamSocket, budget, options)
  })
  if (options.maxConnections !== undefined) server.maxConnections = options.maxConnections
  server.on('drop', () => options.onRefused?.('listener-full'))
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    const { host, port, reusePort = false } = options
    server.listen({ host, port, reusePort, exclusive: true, backlog }, () => {
      server.off('error', reject)
      server.on('error', (error) => options.onFault?.(error))
      resolve(listenerOf(server))
    })
  })
}

function welcome(socket: StreamSocket, budget: ConnectionBudget, options: TcpListenOptions): void {
  // The last descriptors belong to the database and the log: a client that would take one is let in and out again,
  // so that it does not wait in the kernel's queue for ever.
  if (budget.isSpent) {
    socket.on('error', ignore)
    socket.destroy()
    options.onRefused?.('no-room')
    return
  }
  budget.taken += 1
  const stream = new TcpStream(socket, budget)
  socket.byteStream = stream
  socket.on('data', passData)
  socket.on('error', passError)
  socket.on('close', passClose)
  options.onStream(stream)
}

function passData(this: Socket, chunk: Buffer): void {
  const { byteStream } = this as StreamSocket
  byteStream.onData(chunk)
}

function passError(this: Socket, error: Error): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteError(error)
}

function passClose(this: Socket): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteClosed()
}

function listenerOf(server: Server): Listener {
  const { address, port } = server.address() as AddressInfo
  return {
    host: address,
    port,
    close(): Promise<void> {
      // Node reports the end of a server only when its last connection is gone; accepting stops at once.
      server.close()
      return Promise.resolve()
    },
  }
}

/**
 * Streams that were ended and whose peers still hold on, with the checks that are left to them. One timer for all of
 * them, and none while there are none.
 */
const lingering = new Map<TcpStream, number>()
let lingerTimer: NodeJS.Timeout | undefined

function waitForPeerToLetGo(stream: TcpStream): void {
  lingering.set(stream, lingerChecks)
  lingerTimer ??= setInterval(cutOffLingering, lingerCheckMs).unref()
}

function cutOffLingering(): void {
  for (const [stream, checksLeft] of lingering) {
    if (checksLeft === 0) stream.destroy()
    else lingering.set(stream, checksLeft - 1)
  }
}

function forgetLingering(stream: TcpStream): void {
  if (!lingering.delete(stream) || lingering.size > 0) return
  clearInterval(lingerTimer)
  lingerTimer = undefined
}

/** An IPv4 client that reached an IPv6 socket is shown with the address that its owner knows. */
function plainAddress(address: string | undefined): string {
  if (address === undefined) return ''
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice('::ffff:'.length) : address
}
