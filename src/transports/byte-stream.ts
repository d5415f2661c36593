// A connection as everything above it sees it: bytes come, bytes go, it ends. No events, so that nothing is looked up
// by name for each chunk; the owner sets its own functions.

export interface ByteStream {
  /** As text, without brackets: `127.0.0.1`, `::1`. IPv4 clients of an IPv6 socket are given as IPv4. */
  readonly remoteAddress: string
  readonly remotePort: number
  /** What the client has shown of itself below MQTT; undefined where the transport asks for nothing. */
  readonly credentials?: StreamCredentials | undefined
  /** What the gateway of a client knows of it, where it came by one. It changes. */
  readonly gatewayClient?: GatewayClientTraits | undefined
  /**
   * Memory that is taken by what has come and waits for the rest of it before it is passed on: a message of WebSocket, packets
   * of several QUIC streams. Undefined where everything is passed on as it comes.
   */
  readonly bufferedBytes?: number
  /** More has been gathered, or what was gathered has gone. To be set where it is there. */
  onBuffered?: () => void
  /** Bytes from the peer. The chunk belongs to the receiver. Never called after `onClose`, `end` or `destroy`. */
  onData: (chunk: Buffer) => void
  /**
   * The stream is closed, by either side. Called exactly once, last of all. Where the peer has ended it well a reader that stands still
   * hears of that when it goes on: it may have bytes that it has not looked at. (Over TCP and TLS it hears of it after
   * half a minute whether it has gone on or not.)
   */
  onClose: (error?: Error) => void
  /**
   * Hands bytes to the system. `done` is called once and later: the bytes are sent or lost, and the buffer may be used
   * again. One write at a time keeps memory bounded: the next one after `done`, but for the last one before `end`.
   */
  write(buffer: Buffer, done: () => void): void
  /** Stops reading: what the peer sends waits in its own buffers. */
  pause(): void
  resume(): void
  /** Closes once what was written has left. What the peer still sends is dropped; a peer that does not close is disconnected. */
  end(): void
  /** Closes now and leaves what is unsent. */
  destroy(): void
}

/** See `GatewayClient` of the core. */
export interface GatewayClientTraits {
  readonly isSleeping?: boolean | undefined
  readonly endpointName?: string | undefined
  readonly lifetimeSeconds?: number | undefined
}

/** Where a client is, as its owner would write it down. */
export interface ClientAddress {
  readonly address: string
  readonly port: number
}

/** Shown in the TLS handshake, and verified. */
export interface StreamCredentials {
  readonly certificate: PeerCertificate | undefined
  /** TLS-PSK: the identity whose key the client has. */
  readonly pskIdentity: string | undefined
}

export interface PeerCertificate {
  readonly commonName: string | undefined
  /** RFC 4514, most specific first: `CN=device-7,O=Plant`. */
  readonly subject: string
  readonly serialNumber: string
  /** SHA-256, lower-case hex without colons. */
  readonly fingerprint: string
  readonly der: Uint8Array
}

/**
 * Why a connection was refused: the listener or the machine is full, it came too fast after the others, its
 * address may not connect, it did not begin as the listener wants it (PROXY header, TLS handshake, WebSocket upgrade).
 */
export type ConnectionRefusal = 'listener-full' | 'no-room' | 'too-fast' | 'address-denied' | 'bad-beginning'

export interface Listener {
  readonly host: string
  /** The real one, also where 0 was asked for. */
  readonly port: number
  /** Takes no more connections; those that are open stay. */
  close(): Promise<void>
  /** Reads the files again that it works with, if there are any. What cannot be used is told as an alarm and not taken. */
  reload?(): Promise<void>
  /** Resolves when the address can be listened on again after `close`. Unsaid: as soon as it is closed. */
  released?(): Promise<void>
}

/** A listener that need not be closed to become another one. */
export interface ReconfigurableListener<Options> extends Listener {
  /** Who comes from now on is received as `options` say; who is in stays as they are. Host and port are not looked at. */
  change(options: Options): void
}
