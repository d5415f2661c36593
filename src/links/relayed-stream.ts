// The connection of a client whose socket belongs to another shard. For the shard with the session it is a byte stream like
// any other.
//
//   shard with the socket (RelayAcceptor)        shard with the session (RelayedStream)
//        |----- open, data, data ... --------------->|   at most `relayWindowBytes` of unread data
//        |<---- credit n -----------------------------|   n bytes were read
//        |<---- write --------------------------------|   completes at once, up to `unconfirmedBytes`
//        |----- sent n ------------------------------>|   for many writes together
//        |<---- end or destroy -----------------------|
//        |----- changed properties of the client ---->|   only if it uses a gateway
//        |----- closed: the last message ------------>|

import type { ByteStream, GatewayClientTraits, StreamCredentials } from '../transports/index.ts'

/** Maximum unread bytes of one client at the shard of its session; then reading from its socket pauses. */
export const relayWindowBytes = 131_072
/** Bytes that are read before they are reported. */
const creditFromBytes = relayWindowBytes / 2
/**
 * Maximum unconfirmed bytes for one client. A write beyond it completes when the other shard has confirmed it. So the
 * memory of a client that does not read is bounded, and a small message needs no confirmation.
 */
export const unconfirmedBytes = 32_768

/** The link as a relay uses it, on the shard with the session. */
export interface RelayedStreamLink {
  relayWrite(relay: number, bytes: Buffer): void
  relayCredit(relay: number, bytes: number): void
  relayEnd(relay: number): void
  relayDestroy(relay: number): void
}

/** The origin of a relayed client. */
export interface RelayOrigin {
  /** The number of its listener, which is the same on every shard. */
  readonly listener: number
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  readonly gatewayClient: GatewayClientTraits | undefined
}

/** Returns a copy that can be sent to another thread. */
export function copyOf({
  isSleeping,
  protocolVersion,
  endpointName,
  lifetimeSeconds,
}: GatewayClientTraits): GatewayClientTraits {
  return { isSleeping, protocolVersion, endpointName, lifetimeSeconds }
}

const ignore = (): void => {}

export class RelayedStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  /** A copy of the gateway's, which `noteGatewayClient` updates. */
  readonly gatewayClient: GatewayClientTraits | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  readonly #home: RelayedStreamLink
  readonly #relay: number
  /** Callbacks of writes that wait for a confirmation. */
  #done: (() => void)[]
  #unsentBytes: number
  #isPaused: boolean
  /** Copies of data that was received while reading was paused: a link buffer is not kept for a part of it. */
  #held: Buffer[]
  #handingIsPlanned: boolean
  #uncreditedBytes: number
  /** `gone`: the other end has closed, but received data is unread, or reading is paused. */
  #state: 'open' | 'ending' | 'gone' | 'closed'

  constructor(home: RelayedStreamLink, relay: number, origin: RelayOrigin) {
    this.remoteAddress = origin.remoteAddress
    this.remotePort = origin.remotePort
    this.credentials = origin.credentials
    this.gatewayClient = origin.gatewayClient
    this.onData = ignore
    this.onClose = ignore
    this.#home = home
    this.#relay = relay
    this.#done = []
    this.#unsentBytes = 0
    this.#isPaused = false
    this.#held = []
    this.#handingIsPlanned = false
    this.#uncreditedBytes = 0
    this.#state = 'open'
  }

  write(buffer: Buffer, done: () => void): void {
    // Too late to be sent. The callback still runs later and never within the call, as always.
    if (this.#state !== 'open') return process.nextTick(done)
    this.#home.relayWrite(this.#relay, buffer)
    this.#unsentBytes += buffer.length
    if (this.#unsentBytes <= unconfirmedBytes) process.nextTick(done)
    else this.#done.push(done)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#held.length > 0 || this.#state === 'gone') this.#planHanding()
  }

  end(): void {
    if (this.#state === 'open') this.#home.relayEnd(this.#relay)
    this.#finish()
  }

  destroy(): void {
    if (this.#state === 'open' || this.#state === 'ending') this.#home.relayDestroy(this.#relay)
    this.#finish()
  }

  /** Data was received. */
  receive(chunk: Buffer): void {
    if (this.#state !== 'open') return
    if (this.#isPaused || this.#held.length > 0) this.#held.push(Buffer.from(chunk))
    else this.#hand(chunk)
  }

  /** This number of written bytes was sent. */
  noteSent(bytes: number): void {
    this.#unsentBytes -= bytes
    if (this.#unsentBytes <= unconfirmedBytes) this.#endWrites()
  }

  noteGatewayClient(changed: GatewayClientTraits): void {
    if (this.gatewayClient !== undefined) Object.assign(this.gatewayClient, changed)
  }

  /** The other end is gone: the socket has closed, or its shard has failed. */
  noteClosed(error: Error | undefined): void {
    if (this.#state === 'closed' || this.#state === 'gone') return
    const isOpen = this.#state === 'open'
    if (isOpen) this.#state = 'gone'
    this.#endWrites()
    // Data that the client sent before it closed is still delivered, as from a socket: a paused reader may have read some of
    // it without handling it.
    if (isOpen && error === undefined && (this.#isPaused || this.#held.length > 0)) return
    this.#close(error)
  }

  #endWrites(): void {
    if (this.#done.length === 0) return
    const ended = this.#done
    this.#done = []
    for (const done of ended) done()
  }

  #hand(chunk: Buffer): void {
    this.#uncreditedBytes += chunk.length
    if (this.#uncreditedBytes >= creditFromBytes && this.#state === 'open') {
      this.#home.relayCredit(this.#relay, this.#uncreditedBytes)
      this.#uncreditedBytes = 0
    }
    this.onData(chunk)
  }

  /** Runs later, and never within the call that resumes reading. */
  #planHanding(): void {
    if (this.#handingIsPlanned) return
    this.#handingIsPlanned = true
    setImmediate(() => this.#handHeld())
  }

  #handHeld(): void {
    this.#handingIsPlanned = false
    while (!this.#isPaused) {
      const chunk = this.#held.shift()
      if (chunk === undefined) break
      this.#hand(chunk)
    }
    if (this.#state === 'gone' && !this.#isPaused && this.#held.length === 0) this.#close(undefined)
  }

  /** Stops reading for good. */
  #finish(): void {
    this.onData = ignore
    this.#held = []
    this.#isPaused = false
    if (this.#state === 'open') this.#state = 'ending'
    else if (this.#state === 'gone') this.#planHanding()
  }

  #close(error: Error | undefined): void {
    this.#state = 'closed'
    this.onData = ignore
    this.#held = []
    this.onClose(error)
  }
}
