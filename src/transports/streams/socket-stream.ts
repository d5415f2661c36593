// A Node socket as a byte stream, with or without TLS.

import type { Socket } from 'node:net'
import type { ByteStream, ClientAddress, PeerEndReceiver, StreamCredentials } from './byte-stream.ts'
import { drainInput } from './drain-input.ts'
import { isAnswer, type SharedSocket, type UnansweredConnection } from './unanswered-socket.ts'

/** Number of checks after which a peer must have closed a connection that the broker ended. */
const lingerChecks = 5
/**
 * Maximum number of checks for which a paused reader may leave the end of its stream unread. The socket is closed and does not
 * count as a connection any more, so without a limit, paused clients that disconnect would use memory without bound.
 */
const unreadEndChecks = 30
const lingerCheckMs = 1_000

const ignore = (): void => {}

/** Its creator passes chunks to `onData`, and calls `handleError` and `noteClosed`. */
export class SocketStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  peerEndReceiver: PeerEndReceiver | undefined
  readonly #socket: Socket
  /** Until the client is answered. */
  #share: UnansweredConnection | undefined
  #error: Error | undefined
  /** `gone`: the socket is closed, and the owner was not told yet. */
  #state: 'open' | 'ending' | 'gone'
  /** The peer has ended its direction, and `peerEndReceiver` was not told yet, because reading is paused. */
  #hasUnreportedEnd: boolean

  constructor(socket: Socket, client: ClientAddress, credentials: StreamCredentials | undefined) {
    this.remoteAddress = client.address
    this.remotePort = client.port
    this.credentials = credentials
    this.onData = ignore
    this.onClose = ignore
    this.peerEndReceiver = undefined
    this.#socket = socket
    this.#share = (socket as SharedSocket).share
    this.#error = undefined
    this.#state = 'open'
    this.#hasUnreportedEnd = false
  }

  /** Creates the stream of a socket without listeners. */
  static create(socket: Socket, client: ClientAddress, credentials: StreamCredentials | undefined): SocketStream {
    const stream = new SocketStream(socket, client, credentials)
    const streamSocket = socket as StreamSocket
    streamSocket.byteStream = stream
    socket.allowHalfOpen = true
    socket.on('data', passData)
    socket.on('end', passEnd)
    socket.on('error', passError)
    socket.on('close', passClose)
    return stream
  }

  write(buffer: Buffer, done: () => void): void {
    // The stream has ended. `done` is still called later, never within the call.
    if (this.#state !== 'open') return process.nextTick(done)
    if (this.#share !== undefined && isAnswer(buffer)) {
      this.#share.end()
      this.#share = undefined
    }
    this.#socket.write(buffer, done)
  }

  pause(): void {
    if (this.#state === 'open') this.#socket.pause()
  }

  resume(): void {
    if (this.#state !== 'open') return this.#reportIfClosed()
    this.#socket.resume()
    if (this.#hasUnreportedEnd) setImmediate(() => this.#reportPeerEnd())
  }

  waitUntilDrained(done: () => void): void {
    drainInput(this.#socket, done)
  }

  end(): void {
    if (this.#state !== 'open') return this.#reportIfClosed()
    this.#state = 'ending'
    this.onData = ignore
    // Unread data would turn the close into a reset, which would overtake the last bytes sent. So reading continues
    // until the peer has closed its side.
    this.#socket.resume()
    this.#socket.end()
    linger(this, lingerChecks)
  }

  destroy(): void {
    this.#reportIfClosed()
    this.#state = 'ending'
    this.onData = ignore
    this.#socket.destroy()
  }

  handleError(error: Error): void {
    this.#error = error
  }

  /** The peer has ended its direction of the connection. It may still read, so the owner answers and then ends the stream. */
  handleEnd(): void {
    if (this.#state !== 'open') return
    if (this.peerEndReceiver === undefined) return void this.#socket.end()
    this.#hasUnreportedEnd = true
    // The owner may never resume, so the time is limited. A socket whose peer has ended needs no keep-alive to be detected.
    if (this.#socket.isPaused()) linger(this, unreadEndChecks)
    else this.#reportPeerEnd()
  }

  #reportPeerEnd(): void {
    if (!this.#hasUnreportedEnd || this.#state !== 'open' || this.#socket.isPaused()) return
    this.#hasUnreportedEnd = false
    removeLingering(this)
    this.peerEndReceiver?.handlePeerEnd()
  }

  /**
   * A paused reader may have unread data before the end, so it is told after it resumed. Node reports the end at once
   * if all bytes were delivered.
   */
  handleClosed(): void {
    const mayHaveMore = this.#state === 'open' && this.#error === undefined && this.#socket.isPaused()
    this.#state = mayHaveMore ? 'gone' : 'ending'
    removeLingering(this)
    if (mayHaveMore) linger(this, unreadEndChecks)
    else this.onClose(this.#error)
  }

  /** Later, never within the call that resumes reading. */
  #reportIfClosed(): void {
    if (this.#state !== 'gone') return
    this.#state = 'ending'
    this.onData = ignore
    removeLingering(this)
    setImmediate(() => this.onClose(undefined))
  }
}

/**
 * Streams that were ended and whose peers have not closed, and those whose end was not reported, with their remaining
 * checks. They share one timer, which runs only while there are any.
 */
const lingering = new Map<SocketStream, number>()
let lingerTimer: NodeJS.Timeout | undefined

function linger(stream: SocketStream, checks: number): void {
  lingering.set(stream, checks)
  lingerTimer ??= setInterval(destroyLingering, lingerCheckMs).unref()
}

function destroyLingering(): void {
  for (const [stream, checksLeft] of lingering) {
    if (checksLeft === 0) stream.destroy()
    else lingering.set(stream, checksLeft - 1)
  }
}

function removeLingering(stream: SocketStream): void {
  if (!lingering.delete(stream) || lingering.size > 0) return
  clearInterval(lingerTimer)
  lingerTimer = undefined
}

interface StreamSocket extends Socket {
  byteStream: SocketStream
}

function passData(this: Socket, chunk: Buffer): void {
  const { byteStream } = this as StreamSocket
  byteStream.onData(chunk)
}

function passEnd(this: Socket): void {
  const { byteStream } = this as StreamSocket
  byteStream.handleEnd()
}

function passError(this: Socket, error: Error): void {
  const { byteStream } = this as StreamSocket
  byteStream.handleError(error)
}

function passClose(this: Socket): void {
  const { byteStream } = this as StreamSocket
  byteStream.handleClosed()
}
