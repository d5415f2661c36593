// A socket of this shard whose client has its session on another shard: bytes are forwarded unchanged in both directions. See
// relayed-stream.ts for the messages.

import type { ByteStream, GatewayClientTraits, PeerEndReceiver } from '../transports/index.ts'
import { linkBufferBytes } from './link-buffer-writer.ts'
import { relayWindowBytes, maxUnconfirmedBytes } from './relayed-stream.ts'

/** The functions of a link that the shard with the socket uses for a relayed connection. */
export interface RelayAcceptorLink {
  /** Returns false if the link is congested. */
  relayData(relay: number, chunk: Buffer): boolean
  relaySent(relay: number, bytes: number): void
  relayClosed(relay: number, error: Error | undefined): void
  relayPeerEnd(relay: number): void
  relayDrained(relay: number): void
  relayClientChange(relay: number, gatewayClient: GatewayClientTraits): void
  /** Calls `resume` when the link is not congested any more. */
  waitForSpace(acceptor: RelayAcceptor): void
}

/** Number of bytes sent to the client after which they are reported to the other shard. */
const minReportedBytes = maxUnconfirmedBytes / 2

export class RelayAcceptor implements PeerEndReceiver {
  readonly #link: RelayAcceptorLink
  readonly #relay: number
  readonly #stream: ByteStream
  #uncreditedBytes: number
  #isPaused: boolean
  #waitsForSpace: boolean
  /** Writes that the socket has not completed. */
  #writesInProgress: number
  /** Bytes that were written to the socket since the last report. */
  #unreportedSentBytes: number
  readonly #onSent: () => void

  /** `uncreditedBytes`: bytes of the client that the other shard has received and not reported as read. */
  constructor(link: RelayAcceptorLink, relay: number, stream: ByteStream, uncreditedBytes: number) {
    this.#link = link
    this.#relay = relay
    this.#stream = stream
    this.#uncreditedBytes = uncreditedBytes
    this.#isPaused = false
    this.#waitsForSpace = false
    this.#writesInProgress = 0
    this.#unreportedSentBytes = 0
    this.#onSent = () => this.#handleSent()
    stream.onData = (chunk) => this.#forward(chunk)
    stream.onClose = (error) => link.relayClosed(relay, error)
    stream.peerEndReceiver = this
    const { gatewayClient } = stream
    if (gatewayClient !== undefined) stream.onGatewayClientChange = () => link.relayClientChange(relay, gatewayClient)
  }

  write(bytes: Buffer): void {
    // `bytes` is a view of a link buffer. While a write is in progress, further bytes are copied, so that a slow socket keeps only one
    // link buffer in memory. Large writes are not copied, because they have a link buffer of their own.
    const own = this.#writesInProgress === 0 || bytes.length >= linkBufferBytes ? bytes : Buffer.from(bytes)
    this.#writesInProgress++
    this.#unreportedSentBytes += bytes.length
    this.#stream.write(own, this.#onSent)
  }

  addCredit(bytes: number): void {
    this.#uncreditedBytes -= bytes
    this.#resumeIfPossible()
  }

  resume(): void {
    this.#waitsForSpace = false
    this.#resumeIfPossible()
  }

  end(): void {
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }

  /** The client has ended its direction. The other shard answers what it sent before, and then ends the stream. */
  handlePeerEnd(): void {
    this.#link.relayPeerEnd(this.#relay)
  }

  /** Reports to the other shard when everything is sent to it that has arrived from the client by now. */
  drain(): void {
    if (this.#stream.waitUntilDrained === undefined) this.#link.relayDrained(this.#relay)
    else this.#stream.waitUntilDrained(() => this.#link.relayDrained(this.#relay))
  }

  #handleSent(): void {
    this.#writesInProgress--
    if (this.#writesInProgress > 0 || this.#unreportedSentBytes < minReportedBytes) return
    this.#link.relaySent(this.#relay, this.#unreportedSentBytes)
    this.#unreportedSentBytes = 0
  }

  #forward(chunk: Buffer): void {
    this.#uncreditedBytes += chunk.length
    if (!this.#link.relayData(this.#relay, chunk) && !this.#waitsForSpace) {
      this.#waitsForSpace = true
      this.#link.waitForSpace(this)
    }
    if (this.#isPaused || (!this.#waitsForSpace && this.#uncreditedBytes < relayWindowBytes)) return
    this.#isPaused = true
    this.#stream.pause()
  }

  #resumeIfPossible(): void {
    if (!this.#isPaused || this.#waitsForSpace || this.#uncreditedBytes >= relayWindowBytes) return
    this.#isPaused = false
    this.#stream.resume()
  }
}
