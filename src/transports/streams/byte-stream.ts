// A connection as other modules see it: bytes in both directions, and its end. It has no events, so that no listener is
// looked up for each chunk; the owner sets functions instead.

import type { PeerCertificate } from '../../../lib/certificates/index.ts'

export interface ByteStream {
  /** As text without brackets: `127.0.0.1`, `::1`. IPv4 clients of an IPv6 socket have IPv4 form. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** Credentials below MQTT; undefined if the transport requires none. */
  readonly credentials?: StreamCredentials | undefined
  /** State of the client in its gateway, if it uses one. It changes. */
  readonly gatewayClient?: GatewayClientTraits | undefined
  /** `gatewayClient` has changed. A relay sets it, whose other end has a copy. */
  onGatewayClientChange?: (() => void) | undefined
  /**
   * Memory of received data that waits for more before it is passed on: a WebSocket message, packets of several QUIC
   * streams. Undefined if everything is passed on at once.
   */
  readonly bufferedBytes?: number
  /** `bufferedBytes` has changed. Must be set if that exists. */
  onBuffered?: () => void
  /** Called with bytes of the peer. The receiver owns the chunk. Never called after `onClose`, `end` or `destroy`. */
  onData: (chunk: Buffer) => void
  /**
   * Called exactly once, last, when either side closed the stream. If the peer ended it normally while reading is
   * paused, this waits for `resume`, because received bytes may be unread. (TCP and TLS call it after half a minute
   * anyway.)
   */
  onClose: (error?: Error) => void
  /**
   * Told once, after all data of the peer, if the peer ended only its own direction: it may still read answers. The owner then
   * calls `end`. Undefined: the stream ends itself. Paused reading delays the call, as for `onClose`.
   */
  peerEndReceiver?: PeerEndReceiver | undefined
  /**
   * Calls `done` once, later: everything that the operating system had received from the peer when this was called was passed
   * to `onData`, or the stream has closed, or a limit was reached (`drain-input.ts`). Absent: nothing is unread.
   */
  waitUntilDrained?(done: () => void): void
  /** Sets `onData` and `onClose` to those of an object: for streams of which there are very many, most of them idle. */
  setReceiver?(receiver: StreamReceiver): void
  /**
   * Passes bytes to the operating system. `done` is called once and later: the bytes are sent or lost, and the buffer
   * may be reused. To limit memory, the next write must follow `done`, except for the last one before `end`.
   */
  write(buffer: Buffer, done: () => void): void
  /** Stops reading: further data waits in the buffers of the peer. */
  pause(): void
  resume(): void
  /**
   * Closes after all written bytes are sent. Further data of the peer is dropped; a peer that does not close is
   * disconnected.
   */
  end(): void
  /** Closes now and drops unsent bytes. */
  destroy(): void
}

/** See `ByteStream.peerEndReceiver`. */
export interface PeerEndReceiver {
  handlePeerEnd(): void
}

/** Receives from a stream, see `receiveFrom`. */
export interface StreamReceiver {
  /** See `onData`. */
  handleChunk(chunk: Buffer): void
  /** See `onClose`. */
  handleEnd(error: Error | undefined): void
}

/** The receiver gets what the stream has. Two functions for each stream are created only where it does not take an object. */
export function receiveFrom(stream: ByteStream, receiver: StreamReceiver): void {
  if (stream.setReceiver !== undefined) return stream.setReceiver(receiver)
  stream.onData = (chunk) => receiver.handleChunk(chunk)
  stream.onClose = (error) => receiver.handleEnd(error)
}

/** See `GatewayClient` of the core. */
export interface GatewayClientTraits {
  readonly isSleeping?: boolean | undefined
  readonly protocolVersion?: number | undefined
  readonly endpointName?: string | undefined
  readonly lifetimeSeconds?: number | undefined
  readonly address?: string | undefined
  readonly port?: number | undefined
}

/** Address of a client, in its canonical form. */
export interface ClientAddress {
  readonly address: string
  readonly port: number
}

/** Credentials that were verified in the TLS handshake. */
export interface StreamCredentials {
  readonly certificate: PeerCertificate | undefined
  /** TLS-PSK: the identity of the client's key. */
  readonly pskIdentity: string | undefined
}

/**
 * Why a connection was refused: the limit of the listener or of the machine, the connection rate, the address rules, or
 * an invalid start (PROXY header, TLS handshake, WebSocket upgrade).
 */
export type ConnectionRefusal = 'listener-full' | 'broker-full' | 'too-fast' | 'address-denied' | 'invalid-handshake'

export interface Listener {
  readonly host: string
  /** The actual port, also if 0 was requested. */
  readonly port: number
  /** Accepts no more connections; open ones remain. */
  close(): Promise<void>
  /** Reads its files again, if it has any. Unusable files raise an alarm and are not used. */
  reload?(): Promise<void>
  /** Resolves when the address can be used again after `close`. If absent: when it is closed. */
  waitUntilReleased?(): Promise<void>
}

/** A listener whose options can change without closing it. */
export interface ReconfigurableListener<Options> extends Listener {
  /** Uses `options` for new connections; open ones are unchanged. Host and port are ignored. */
  change(options: Options): void
}
