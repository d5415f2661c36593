// A WebSocket as a byte stream, whichever side has opened it. As with TCP, listeners are shared functions that find the
// stream through a field.

import type { Duplex } from 'node:stream'
import type { ByteStream, ClientAddress, StreamCredentials } from './byte-stream.ts'
import { FrameMeter } from './frame-meter.ts'
import { beginsWithConnack, maxUnauthenticatedBytes } from './unauthenticated-limits.ts'
import type { RawData, WebSocket } from './websocket-library.ts'

const normalClosure = 1_000
const unsupportedData = 1_003
const policyViolation = 1_008

/** Frames that bring no bytes of MQTT: pings, pongs, empty ones. So many at once, and so many a second in the long run. */
const maxBareFrames = 64
const bareFramesPerSecond = 8
/** Of a message that is not whole, while the peer may still answer our goodbye: the answer stands behind all of it. */
const maxLingeringBytes = 65_536
/** One that broke the rules has less time: it must be closed [MQTT-6.0.0-1], whether it answers or not. */
const faultTimeoutMs = 1_000

const frameOptions = { binary: true, compress: false, fin: true }
const ignore = (): void => {}

interface StreamSocket extends WebSocket {
  byteStream: WebSocketStream
}

/** The peer. */
interface WebSocketPeer extends ClientAddress {
  readonly credentials: StreamCredentials | undefined
}

/**
 * The stream of a WebSocket that is open. Its `onData` and `onClose` have to be set before anything else happens. `socket`:
 * below it, of an unauthenticated client; what is gathered of messages is counted there.
 */
export function streamOverWebSocket(webSocket: WebSocket, peer: WebSocketPeer, socket?: Duplex): ByteStream {
  const stream = new WebSocketStream(webSocket, peer)
  if (socket !== undefined) stream.watch(socket)
  const streamSocket = webSocket as StreamSocket
  streamSocket.byteStream = stream
  webSocket.on('message', passMessage)
  webSocket.on('ping', passPing)
  webSocket.on('pong', passPong)
  webSocket.on('error', passError)
  webSocket.on('close', passClose)
  return stream
}

class WebSocketStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  onBuffered: () => void
  readonly #webSocket: WebSocket
  #error: Error | undefined
  #isEnding: boolean
  #isPaused: boolean
  /** The WebSocket is closed, and the owner was not told yet. */
  #isClosed: boolean
  #isAnsweringPing: boolean
  /** What the latest ping carried, while the answer to an earlier one is on its way. */
  #nextPong: Buffer | undefined
  #bareFrames: number
  #bareFramesAtMs: number
  /** Of messages; undefined: not counted. */
  #meter: FrameMeter | undefined
  /** Has come and is not let in yet. */
  #isUnauthenticated: boolean

  constructor(webSocket: WebSocket, peer: WebSocketPeer) {
    this.remoteAddress = peer.address
    this.remotePort = peer.port
    this.credentials = peer.credentials
    this.onData = ignore
    this.onClose = ignore
    this.onBuffered = ignore
    this.#webSocket = webSocket
    this.#error = undefined
    this.#isEnding = false
    this.#isPaused = false
    this.#isClosed = false
    this.#isAnsweringPing = false
    this.#nextPong = undefined
    this.#bareFrames = 0
    this.#bareFramesAtMs = 0
    this.#meter = undefined
    this.#isUnauthenticated = false
  }

  /** With its frames around it. What is held behind our goodbye is little, and soon gone. */
  get bufferedBytes(): number {
    return this.#meter === undefined || this.#isEnding ? 0 : this.#meter.heldBytes
  }

  watch(socket: Duplex): void {
    const meter = new FrameMeter()
    this.#meter = meter
    this.#isUnauthenticated = true
    // Before the library has it: a message that it brings to its end is not held any more when that is passed on.
    socket.prependListener('data', (chunk: Buffer) => this.#measure(meter, chunk))
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
    if (this.#isEnding) return process.nextTick(done)
    if (this.#isUnauthenticated) this.#isUnauthenticated = !beginsWithConnack(buffer)
    this.#webSocket.send(buffer, frameOptions, done)
  }

  pause(): void {
    this.#isPaused = !this.#isEnding
    if (!this.#isEnding) this.#webSocket.pause()
  }

  resume(): void {
    if (!this.#isEnding) this.#webSocket.resume()
    this.#continueReading()
  }

  end(): void {
    this.#endWith(normalClosure)
  }

  destroy(): void {
    this.#isEnding = true
    this.onData = ignore
    this.#webSocket.terminate()
    this.onBuffered()
    this.#continueReading()
  }

  noteMessage(bytes: Buffer, isBinary: boolean): void {
    // [MQTT-6.0.0-1] Anything but binary frames ends the connection.
    if (!isBinary) this.#closeWithError(unsupportedData, 'a text frame: MQTT comes in binary frames')
    else if (bytes.length > 0) this.onData(bytes)
    else this.noteBareFrame()
  }

  /** RFC 6455 5.5.3: of several pings only the latest needs an answer, so no more than one is ever on its way. */
  notePing(payload: Buffer): void {
    this.noteBareFrame()
    if (this.#isEnding) return
    if (this.#isAnsweringPing) this.#nextPong = Buffer.from(payload)
    else this.#answerPing(Buffer.from(payload))
  }

  /** Counts a frame without data, which costs work. Clients need few of them. */
  noteBareFrame(): void {
    const nowMs = performance.now()
    const forgotten = ((nowMs - this.#bareFramesAtMs) / 1_000) * bareFramesPerSecond
    this.#bareFrames = Math.max(0, this.#bareFrames - forgotten) + 1
    this.#bareFramesAtMs = nowMs
    if (this.#bareFrames > maxBareFrames) this.#closeWithError(policyViolation, 'a flood of pings or empty frames')
  }

  noteError(error: Error): void {
    this.#isEnding = true
    this.#error ??= error
    this.onBuffered()
  }

  /** A reader that stands still may have what came before the close frame, not looked at: it hears of the end when it goes on. */
  noteClosed(): void {
    this.#isEnding = true
    this.onData = ignore
    this.onBuffered()
    this.#isClosed = this.#isPaused && this.#error === undefined
    if (!this.#isClosed) this.onClose(this.#error)
  }

  /** Later, and never from within the call that lets the reader go on. */
  #continueReading(): void {
    this.#isPaused = false
    if (!this.#isClosed) return
    this.#isClosed = false
    setImmediate(() => this.onClose(undefined))
  }

  #measure(meter: FrameMeter, chunk: Buffer): void {
    const before = meter.heldBytes
    meter.note(chunk)
    if (meter.heldBytes + before === 0) return
    if (this.#isEnding) return this.#lingerBriefly()
    // Without goodbyes: until it had answered, its message would go on growing.
    if (this.#isUnauthenticated && meter.heldBytes > maxUnauthenticatedBytes) return this.#destroyUnauthenticated()
    this.onBuffered()
  }

  #destroyUnauthenticated(): void {
    this.#error = new Error('a message that is too large for an unauthenticated client')
    this.destroy()
  }

  /** Our last words are with the system by now. */
  #lingerBriefly(): void {
    if (this.#meter !== undefined && this.#meter.heldBytes > maxLingeringBytes) this.#webSocket.terminate()
  }

  #answerPing(payload: Buffer): void {
    this.#isAnsweringPing = true
    // RFC 6455 5.1: a client masks what it sends and a server does not; left open, the library knows which we are.
    this.#webSocket.pong(payload, undefined, () => {
      this.#isAnsweringPing = false
      const next = this.#nextPong
      this.#nextPong = undefined
      if (next !== undefined && !this.#isEnding) this.#answerPing(next)
    })
  }

  #closeWithError(code: number, why: string): void {
    if (this.#isEnding) return
    this.#error = new Error(why)
    this.#endWith(code)
    setTimeout(() => this.#webSocket.terminate(), faultTimeoutMs).unref()
  }

  #endWith(code: number): void {
    this.#continueReading()
    if (this.#isEnding) return
    this.#isEnding = true
    this.onData = ignore
    // The answer to our close frame stands behind what has not been read yet.
    this.#webSocket.resume()
    this.#webSocket.close(code)
    this.onBuffered()
    if (this.#meter !== undefined) setImmediate(() => this.#lingerBriefly())
  }
}

function passMessage(this: WebSocket, bytes: RawData, isBinary: boolean): void {
  const { byteStream } = this as StreamSocket
  // `binaryType` is left as it is, so messages are Buffers.
  byteStream.noteMessage(bytes as Buffer, isBinary)
}

function passPing(this: WebSocket, payload: Buffer): void {
  const { byteStream } = this as StreamSocket
  byteStream.notePing(payload)
}

function passPong(this: WebSocket): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteBareFrame()
}

function passError(this: WebSocket, error: Error): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteError(error)
}

function passClose(this: WebSocket): void {
  const { byteStream } = this as StreamSocket
  byteStream.noteClosed()
}
