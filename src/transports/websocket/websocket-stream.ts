// A WebSocket as a byte stream, for both directions. As for TCP, the event listeners are functions that all streams share:
// they find the stream in a field of the WebSocket.

import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import type { ByteStream, ClientAddress, PeerEndReceiver, StreamCredentials } from '../streams/byte-stream.ts'
import { drainInput } from '../streams/drain-input.ts'
import { FrameMeter } from './frame-meter.ts'
import type { SharedSocket } from '../streams/unanswered-socket.ts'
import { beginsWithConnack, maxUnauthenticatedBytes } from '../limits/unauthenticated-limits.ts'
import { AcceptedWebSocket, type RawData, type WebSocket } from './websocket-library.ts'

const normalClosure = 1_000
const unsupportedData = 1_003
const policyViolation = 1_008

/** Maximum number of frames without MQTT bytes (ping, pong, empty) in one burst, and per second on average. */
const maxBareFrames = 64
const bareFramesPerSecond = 8
/** Maximum size of an incomplete message after the close frame was sent. The peer's close frame can only follow the whole message. */
const maxBytesAfterClose = 65_536
/** A peer that violated the protocol has less time: the connection must be closed [MQTT-6.0.0-1] in any case. */
const violationTimeoutMs = 1_000

const frameOptions = { binary: true, compress: false, fin: true }
const ignore = (): void => {}

interface StreamSocket extends WebSocket {
  byteStream: WebSocketStream
}

/** The address of the peer, and its credentials from the TLS handshake. */
interface WebSocketPeer extends ClientAddress {
  readonly credentials: StreamCredentials | undefined
}

/**
 * Creates the stream of an open WebSocket. Set its `onData` and `onClose` in the same turn. `socket`: the socket of the WebSocket, if
 * the client is unauthenticated; the bytes of incomplete messages are counted there.
 */
export function createWebSocketStream(webSocket: WebSocket, peer: WebSocketPeer, socket?: Socket): ByteStream {
  const stream = new WebSocketStream(webSocket, peer, socket)
  if (socket !== undefined) stream.countOn(socket)
  if (webSocket instanceof AcceptedWebSocket) webSocket.closeDelay = stream
  if (socket !== undefined) replaceEndListener(socket, stream)
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
  peerEndReceiver: PeerEndReceiver | undefined
  readonly #webSocket: WebSocket
  /** Undefined if the peer is a server that this process has dialed. */
  readonly #socket: SharedSocket | undefined
  /** The peer has sent its close frame, or ended its direction without one: its data before that is answered first. */
  #hasPeerEnded: boolean
  #hasSocketEnded: boolean
  #error: Error | undefined
  #isEnding: boolean
  #isPaused: boolean
  /** The WebSocket is closed, and `onClose` is to be called after reading resumes. */
  #isCloseDeferred: boolean
  #isSendingPong: boolean
  /** Content of the latest ping, for the pong to be sent when the pong for an earlier one has been sent. */
  #nextPong: Buffer | undefined
  #bareFrames: number
  #bareFramesAtMs: number
  /** Counts incomplete messages; undefined: not counted. */
  #meter: FrameMeter | undefined
  /** The stream has not sent a CONNACK yet. */
  #isUnauthenticated: boolean

  constructor(webSocket: WebSocket, peer: WebSocketPeer, socket: Socket | undefined) {
    this.remoteAddress = peer.address
    this.remotePort = peer.port
    this.credentials = peer.credentials
    this.onData = ignore
    this.onClose = ignore
    this.onBuffered = ignore
    this.peerEndReceiver = undefined
    this.#webSocket = webSocket
    this.#socket = socket
    this.#hasPeerEnded = false
    this.#hasSocketEnded = false
    this.#error = undefined
    this.#isEnding = false
    this.#isPaused = false
    this.#isCloseDeferred = false
    this.#isSendingPong = false
    this.#nextPong = undefined
    this.#bareFrames = 0
    this.#bareFramesAtMs = 0
    this.#meter = undefined
    this.#isUnauthenticated = false
  }

  /** Bytes of incomplete messages, with frame headers. They are not counted after the close frame, when they are limited. */
  get bufferedBytes(): number {
    return this.#meter === undefined || this.#isEnding ? 0 : this.#meter.heldBytes
  }

  /** Counts the bytes of incomplete messages on `socket`. */
  countOn(socket: Socket): void {
    const meter = new FrameMeter()
    this.#meter = meter
    this.#isUnauthenticated = true
    // Count before the library handles the chunk: the bytes of a message that it completes must not count when `onData` is called.
    socket.prependListener('data', (chunk: Buffer) => this.#measure(meter, chunk))
  }

  write(buffer: Buffer, done: () => void): void {
    // The stream has ended. `done` is still called later, never within the call.
    if (this.#isEnding) return process.nextTick(done)
    if (this.#isUnauthenticated && beginsWithConnack(buffer)) {
      this.#isUnauthenticated = false
      this.#socket?.share?.end()
    }
    this.#webSocket.send(buffer, frameOptions, done)
  }

  waitUntilDrained(done: () => void): void {
    if (this.#socket === undefined) setImmediate(done)
    else drainInput(this.#socket, done)
  }

  /**
   * Called with the close frame of the peer. Returns true if the frame is answered later, by `end`: the owner answers the data before
   * it first.
   */
  delayClose(): boolean {
    if (this.#isEnding || this.#hasPeerEnded || this.peerEndReceiver === undefined) return false
    this.#hasPeerEnded = true
    setImmediate(() => this.#reportPeerEnd())
    return true
  }

  /** The peer has closed its direction of the socket, with or without a close frame. Returns true if `end` closes this direction. */
  delaySocketEnd(): boolean {
    this.#hasSocketEnded = true
    return (this.#hasPeerEnded && !this.#isEnding) || this.delayClose()
  }

  #reportPeerEnd(): void {
    if (this.#hasPeerEnded && !this.#isEnding && !this.#isPaused) this.peerEndReceiver?.handlePeerEnd()
  }

  pause(): void {
    this.#isPaused = !this.#isEnding
    if (!this.#isEnding) this.#webSocket.pause()
  }

  resume(): void {
    if (!this.#isEnding) this.#webSocket.resume()
    this.#continueReading()
    if (this.#hasPeerEnded) setImmediate(() => this.#reportPeerEnd())
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

  handleMessage(bytes: Buffer, isBinary: boolean): void {
    // [MQTT-6.0.0-1] Anything but binary frames ends the connection.
    if (!isBinary) this.#closeWithError(unsupportedData, 'a text frame: MQTT uses binary frames only')
    else if (bytes.length > 0) this.onData(bytes)
    else this.countBareFrame()
  }

  /** RFC 6455 5.5.3: only the latest of several pings needs a pong, so at most one is being sent. */
  handlePing(payload: Buffer): void {
    this.countBareFrame()
    if (this.#isEnding) return
    if (this.#isSendingPong) this.#nextPong = Buffer.from(payload)
    else this.#sendPong(Buffer.from(payload))
  }

  /** Counts a frame without MQTT bytes, and closes the connection if there are too many. */
  countBareFrame(): void {
    const nowMs = performance.now()
    const forgotten = ((nowMs - this.#bareFramesAtMs) / 1_000) * bareFramesPerSecond
    this.#bareFrames = Math.max(0, this.#bareFrames - forgotten) + 1
    this.#bareFramesAtMs = nowMs
    if (this.#bareFrames > maxBareFrames) this.#closeWithError(policyViolation, 'a flood of pings or empty frames')
  }

  handleError(error: Error): void {
    this.#isEnding = true
    this.#error ??= error
    this.onBuffered()
  }

  /** While reading is paused, data before the close frame may be unread, so `onClose` is called after reading resumes. */
  handleClosed(): void {
    this.#isEnding = true
    this.onData = ignore
    this.onBuffered()
    this.#isCloseDeferred = this.#isPaused && this.#error === undefined
    if (!this.#isCloseDeferred) this.onClose(this.#error)
  }

  /** Calls a deferred `onClose`, but not within the call that resumes reading. */
  #continueReading(): void {
    this.#isPaused = false
    if (!this.#isCloseDeferred) return
    this.#isCloseDeferred = false
    setImmediate(() => this.onClose(undefined))
  }

  #measure(meter: FrameMeter, chunk: Buffer): void {
    const before = meter.heldBytes
    meter.measureChunk(chunk)
    if (meter.heldBytes + before === 0) return
    if (this.#isEnding) return this.#limitAfterClose()
    // The stream is destroyed without a close frame, because the message could grow until the client responds to a close frame.
    if (this.#isUnauthenticated && meter.heldBytes > maxUnauthenticatedBytes) return this.#destroyUnauthenticated()
    this.onBuffered()
  }

  #destroyUnauthenticated(): void {
    this.#error = new Error('a message that is too large for an unauthenticated client')
    this.destroy()
  }

  /** Terminates the connection if the message that the peer is still sending is too large. */
  #limitAfterClose(): void {
    if (this.#meter !== undefined && this.#meter.heldBytes > maxBytesAfterClose) this.#webSocket.terminate()
  }

  #sendPong(payload: Buffer): void {
    this.#isSendingPong = true
    // RFC 6455 5.1: clients mask frames and servers do not; if undefined, the library knows its role.
    this.#webSocket.pong(payload, undefined, () => {
      this.#isSendingPong = false
      const next = this.#nextPong
      this.#nextPong = undefined
      if (next !== undefined && !this.#isEnding) this.#sendPong(next)
    })
  }

  #closeWithError(code: number, why: string): void {
    if (this.#isEnding) return
    this.#error = new Error(why)
    this.#endWith(code)
    setTimeout(() => this.#webSocket.terminate(), violationTimeoutMs).unref()
  }

  #endWith(code: number): void {
    this.#continueReading()
    if (this.#isEnding) return
    this.#isEnding = true
    this.onData = ignore
    // The close frame of the peer comes after unread data.
    this.#webSocket.resume()
    this.#webSocket.close(code)
    // The library waits for a close frame, which cannot follow the end of the socket.
    if (this.#hasSocketEnded) this.#socket?.end()
    this.onBuffered()
    if (this.#meter !== undefined) setImmediate(() => this.#limitAfterClose())
  }
}

/** The library closes its direction when the peer closes the other one. The stream does so after it has answered. */
function replaceEndListener(socket: Socket, stream: WebSocketStream): void {
  const ofLibrary = socket.listeners('end').find(({ name }) => name === 'socketOnEnd') as (() => void) | undefined
  assert(ofLibrary !== undefined, 'the WebSocket library has a listener for the end of its socket')
  socket.allowHalfOpen = true
  socket.off('end', ofLibrary)
  socket.on('end', () => {
    if (!stream.delaySocketEnd()) ofLibrary.call(socket)
  })
}

function passMessage(this: WebSocket, bytes: RawData, isBinary: boolean): void {
  const { byteStream } = this as StreamSocket
  // `binaryType` has its default, so messages are Buffers.
  byteStream.handleMessage(bytes as Buffer, isBinary)
}

function passPing(this: WebSocket, payload: Buffer): void {
  const { byteStream } = this as StreamSocket
  byteStream.handlePing(payload)
}

function passPong(this: WebSocket): void {
  const { byteStream } = this as StreamSocket
  byteStream.countBareFrame()
}

function passError(this: WebSocket, error: Error): void {
  const { byteStream } = this as StreamSocket
  byteStream.handleError(error)
}

function passClose(this: WebSocket): void {
  const { byteStream } = this as StreamSocket
  byteStream.handleClosed()
}
