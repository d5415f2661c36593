// A socket of Node as a byte stream, in the clear or behind TLS: both are driven alike.

import type { Socket } from 'node:net'
import type { ByteStream, ClientAddress, StreamCredentials } from './byte-stream.ts'

/** How long a peer may take to let go of a connection that we have ended: so many checks. */
const lingerChecks = 5
/**
 * Maximum number of checks for which a paused reader may leave the end of its stream unread. The socket is closed and does not
 * count as a connection any more, so without a limit, paused clients that disconnect would use memory without bound.
 */
const unreadEndChecks = 30
const lingerCheckMs = 1_000

const ignore = (): void => {}

/** Its creator passes chunks to `onData`, and calls `noteError` and `noteClosed`. */
export class SocketStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  readonly #socket: Socket
  #error: Error | undefined
  /** `gone`: the socket is closed, and the owner was not told yet. */
  #state: 'open' | 'ending' | 'gone'

  constructor(socket: Socket, client: ClientAddress, credentials: StreamCredentials | undefined) {
    this.remoteAddress = client.address
    this.remotePort = client.port
    this.credentials = credentials
    this.onData = ignore
    this.onClose = ignore
    this.#socket = socket
    this.#error = undefined
    this.#state = 'open'
  }

  /** The stream of a socket without listeners. */
  static over(socket: Socket, client: ClientAddress, credentials: StreamCredentials | undefined): SocketStream {
    const stream = new SocketStream(socket, client, credentials)
    const streamSocket = socket as StreamSocket
    streamSocket.byteStream = stream
    socket.on('data', passData)
    socket.on('error', passError)
    socket.on('close', passClose)
    return stream
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
    if (this.#state !== 'open') process.nextTick(done)
    else this.#socket.write(buffer, done)
  }

  pause(): void {
    if (this.#state === 'open') this.#socket.pause()
  }

  resume(): void {
    if (this.#state === 'open') this.#socket.resume()
    else this.#reportIfClosed()
  }

  end(): void {
    if (this.#state !== 'open') return this.#reportIfClosed()
    this.#state = 'ending'
    this.onData = ignore
    // Unread data would turn our close into a reset, and the reset would overtake the last bytes that we
    // sent. So we go on reading until the peer has closed its side.
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

  noteError(error: Error): void {
    this.#error = error
  }

  /**
   * A reader that stands still may have what came before the end, not looked at: it hears of the end when it goes on. Node tells of it
   * at once where all bytes have been handed over.
   */
  noteClosed(): void {
    const mayHaveMore = this.#state === 'open' && this.#error === undefined && this.#socket.isPaused()
    this.#state = mayHaveMore ? 'gone' : 'ending'
    removeLingering(this)
    if (mayHaveMore) linger(this, unreadEndChecks)
    else this.onClose(this.#error)
  }

  /** Later, and never from within the call that lets the reader go on. */
  #reportIfClosed(): void {
    if (this.#state !== 'gone') return
    this.#state = 'ending'
    this.onData = ignore
    removeLingering(this)
    setImmediate(() => this.onClose(undefined))
  }
}

/**
 * Streams that were ended and whose peers still hold on, and those whose end was not reported, with the checks that are
 * left to them. One timer for all of them, and none while there are none.
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

function passError(this: Socket, error: Error): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteError(error)
}

function passClose(this: Socket): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteClosed()
}
