// The connection of a client whose socket belongs to another shard. The shard with the session uses it like any other byte stream.
//
//   shard with the socket (RelayAcceptor)        shard with the session (RelayedStream)
//        |----- open, data, data ... --------------->|   at most `relayWindowBytes` of unread data
//        |<---- credit n -----------------------------|   n bytes were read
//        |<---- write --------------------------------|   completes at once, up to `maxUnconfirmedBytes`
//        |----- sent n ------------------------------>|   for many writes together
//        |<---- end or destroy -----------------------|
//        |----- changed properties of the client ---->|   only if it uses a gateway
//        |<---- drain --------------------------------|   asked before a takeover
//        |----- drained ----------------------------->|   everything that had arrived was sent before
//        |----- peer end ---------------------------->|   the client sends nothing more, but may read
//        |----- closed: the last message ------------>|

import type { ByteStream, GatewayClientTraits, PeerEndReceiver, StreamCredentials } from '../transports/index.ts'

/** Maximum unread bytes of one client at the shard of its session; then reading from its socket pauses. */
export const relayWindowBytes = 131_072
/** Number of read bytes after which they are reported to the other shard as credit. */
const minCreditBytes = relayWindowBytes / 2
/**
 * Maximum unconfirmed bytes for one client. A write beyond it completes when the other shard has confirmed it. So the
 * memory for a client that does not read is limited, and the write of a small message waits for no confirmation.
 */
export const maxUnconfirmedBytes = 32_768

/** The link as a relay uses it, on the shard with the session. */
export interface RelayedStreamLink {
  relayWrite(relay: number, bytes: Buffer): void
  relayCredit(relay: number, bytes: number): void
  relayEnd(relay: number): void
  relayDestroy(relay: number): void
  relayDrain(relay: number): void
}

/**
 * A listener of another node. The home of the session has the settings of a listener of this name, because the nodes of a cluster have the same
 * configuration. What depends on the machine comes from the node that accepted the client.
 */
export interface RemoteListener {
  readonly kind: string
  readonly name: string
  readonly port: number
  /** Only the machine of the other node can reach it. */
  readonly isLoopback: boolean
}

/** The origin of a relayed client. */
export interface RelayOrigin {
  /** The number of its listener, which is the same on every shard of a node; or the listener of another node. */
  readonly listener: number | RemoteListener
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  readonly gatewayClient: GatewayClientTraits | undefined
}

const ignore = (): void => {}

export class RelayedStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  /** A copy of the properties that the gateway has. `updateGatewayClient` updates it. */
  readonly gatewayClient: GatewayClientTraits | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  peerEndReceiver: PeerEndReceiver | undefined
  readonly #link: RelayedStreamLink
  readonly #relay: number
  /** Callbacks of writes that wait for a confirmation. */
  #done: (() => void)[]
  #unsentBytes: number
  #isPaused: boolean
  /** Data that was received while reading was paused. Copies, so that the link buffer is released. */
  #unread: Buffer[]
  #deliveryIsPlanned: boolean
  #uncreditedBytes: number
  /** The client has ended its direction, which was not passed on yet. */
  #hasUnreportedEnd: boolean
  /** Callbacks of `waitUntilDrained`; undefined: none. */
  #drains: (() => void)[] | undefined
  /** The other shard has sent everything that these callbacks wait for. */
  #isDrained: boolean
  /** `peer-closed`: the socket has closed, but received data is unread, or reading is paused. */
  #state: 'open' | 'ending' | 'peer-closed' | 'closed'

  constructor(link: RelayedStreamLink, relay: number, origin: RelayOrigin) {
    this.remoteAddress = origin.remoteAddress
    this.remotePort = origin.remotePort
    this.credentials = origin.credentials
    this.gatewayClient = origin.gatewayClient
    this.onData = ignore
    this.onClose = ignore
    this.#link = link
    this.#relay = relay
    this.#done = []
    this.#unsentBytes = 0
    this.#isPaused = false
    this.#unread = []
    this.#deliveryIsPlanned = false
    this.#uncreditedBytes = 0
    this.peerEndReceiver = undefined
    this.#hasUnreportedEnd = false
    this.#drains = undefined
    this.#isDrained = false
    this.#state = 'open'
  }

  write(buffer: Buffer, done: () => void): void {
    // The stream has ended, so the bytes are discarded. The callback never runs within this call.
    if (this.#state !== 'open') return process.nextTick(done)
    this.#link.relayWrite(this.#relay, buffer)
    this.#unsentBytes += buffer.length
    if (this.#unsentBytes <= maxUnconfirmedBytes) process.nextTick(done)
    else this.#done.push(done)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    if (this.#unread.length > 0 || this.#hasUnreportedEnd || this.#isDrained || this.#state === 'peer-closed')
      this.#planDelivery()
  }

  end(): void {
    if (this.#state === 'open') this.#link.relayEnd(this.#relay)
    this.#finish()
  }

  destroy(): void {
    if (this.#state === 'open' || this.#state === 'ending') this.#link.relayDestroy(this.#relay)
    this.#finish()
  }

  /** Called for received data. */
  receive(chunk: Buffer): void {
    if (this.#state !== 'open') return
    if (this.#isPaused || this.#unread.length > 0) this.#unread.push(Buffer.from(chunk))
    else this.#deliver(chunk)
  }

  /** Called when the other shard has sent this number of written bytes to the client. */
  handleSent(bytes: number): void {
    this.#unsentBytes -= bytes
    if (this.#unsentBytes <= maxUnconfirmedBytes) this.#endWrites()
  }

  /** The client has ended its direction. What it sent before may be unread. */
  handlePeerEnd(): void {
    if (this.#state !== 'open') return
    this.#hasUnreportedEnd = true
    if (!this.#isPaused && this.#unread.length === 0) this.#reportPeerEnd()
  }

  waitUntilDrained(done: () => void): void {
    if (this.#state !== 'open') return void setImmediate(done)
    if (this.#drains === undefined) this.#link.relayDrain(this.#relay)
    this.#drains ??= []
    this.#drains.push(done)
  }

  handleDrained(): void {
    this.#isDrained = true
    if (!this.#isPaused && this.#unread.length === 0) this.#endDrains()
  }

  updateGatewayClient(changed: GatewayClientTraits): void {
    if (this.gatewayClient !== undefined) Object.assign(this.gatewayClient, changed)
  }

  /** Called when the socket has closed, or its shard has failed. */
  handleClosed(error: Error | undefined): void {
    if (this.#state === 'closed' || this.#state === 'peer-closed') return
    const isOpen = this.#state === 'open'
    if (isOpen) this.#state = 'peer-closed'
    this.#endWrites()
    // Data that the client sent before it closed the connection is still delivered, as from a socket. A paused reader may have
    // a part of it that it has not handled.
    if (isOpen && error === undefined && (this.#isPaused || this.#unread.length > 0)) return
    this.#close(error)
  }

  #endWrites(): void {
    if (this.#done.length === 0) return
    const ended = this.#done
    this.#done = []
    for (const done of ended) done()
  }

  #deliver(chunk: Buffer): void {
    this.#uncreditedBytes += chunk.length
    if (this.#uncreditedBytes >= minCreditBytes && this.#state === 'open') {
      this.#link.relayCredit(this.#relay, this.#uncreditedBytes)
      this.#uncreditedBytes = 0
    }
    this.onData(chunk)
  }

  #reportPeerEnd(): void {
    if (!this.#hasUnreportedEnd || this.#state !== 'open') return
    this.#hasUnreportedEnd = false
    if (this.peerEndReceiver === undefined) this.end()
    else this.peerEndReceiver.handlePeerEnd()
  }

  #endDrains(): void {
    const drains = this.#drains ?? []
    this.#drains = undefined
    this.#isDrained = false
    for (const done of drains) done()
  }

  /** Delivers unread data later, never within the call that resumes reading. */
  #planDelivery(): void {
    if (this.#deliveryIsPlanned) return
    this.#deliveryIsPlanned = true
    setImmediate(() => this.#deliverUnread())
  }

  #deliverUnread(): void {
    this.#deliveryIsPlanned = false
    while (!this.#isPaused) {
      const chunk = this.#unread.shift()
      if (chunk === undefined) break
      this.#deliver(chunk)
    }
    if (this.#isPaused || this.#unread.length > 0) return
    if (this.#isDrained) this.#endDrains()
    this.#reportPeerEnd()
    if (this.#state === 'peer-closed') this.#close(undefined)
  }

  /** Ends reading. */
  #finish(): void {
    this.onData = ignore
    this.#unread = []
    this.#isPaused = false
    if (this.#state === 'open') this.#state = 'ending'
    else if (this.#state === 'peer-closed') this.#planDelivery()
  }

  #close(error: Error | undefined): void {
    this.#state = 'closed'
    this.onData = ignore
    this.#unread = []
    this.onClose(error)
    this.#endDrains()
  }
}
