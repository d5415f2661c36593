// A socket of this shard whose client has its session on another shard: bytes are forwarded unchanged in both directions. See
// relayed-stream.ts for the messages.

import type { ByteStream } from '../transports/index.ts'
import { relayWindowBytes, unconfirmedBytes } from './relayed-stream.ts'

/** The link as a relay uses it, on the shard with the socket. */
export interface RelayAcceptorLink {
  /** False: the link is congested. */
  relayData(relay: number, chunk: Buffer): boolean
  relaySent(relay: number, bytes: number): void
  relayClosed(relay: number, error: Error | undefined): void
  /** Calls `resume` when the link is not congested any more. */
  waitForSpace(acceptor: RelayAcceptor): void
}

/** Bytes that are sent to the client before the other shard is told. */
const tellSentFromBytes = unconfirmedBytes / 2

export class RelayAcceptor {
  readonly #side: RelayAcceptorLink
  readonly #relay: number
  readonly #stream: ByteStream
  #uncreditedBytes: number
  #isPaused: boolean
  #waitsForRoom: boolean
  /** Writes that the socket has not completed. */
  #writesInProgress: number
  /** Bytes that the socket has sent and that are not reported yet. */
  #unreportedBytes: number
  readonly #sent: () => void

  /** `untakenBytes`: bytes of the client that were already sent to the other shard. */
  constructor(side: RelayAcceptorLink, relay: number, stream: ByteStream, uncreditedBytes: number) {
    this.#side = side
    this.#relay = relay
    this.#stream = stream
    this.#uncreditedBytes = uncreditedBytes
    this.#isPaused = false
    this.#waitsForRoom = false
    this.#writesInProgress = 0
    this.#unreportedBytes = 0
    this.#sent = () => this.#noteSent()
    stream.onData = (chunk) => this.#forward(chunk)
    stream.onClose = (error) => side.relayClosed(relay, error)
  }

  write(bytes: Buffer): void {
    // A socket that does not send keeps one link buffer in memory, and not one for each write.
    const own = this.#writesInProgress === 0 ? bytes : Buffer.from(bytes)
    this.#writesInProgress++
    this.#unreportedBytes += bytes.length
    this.#stream.write(own, this.#sent)
  }

  addCredit(bytes: number): void {
    this.#uncreditedBytes -= bytes
    this.#goOn()
  }

  resume(): void {
    this.#waitsForRoom = false
    this.#goOn()
  }

  end(): void {
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }

  #noteSent(): void {
    this.#writesInProgress--
    if (this.#writesInProgress > 0 || this.#unreportedBytes < tellSentFromBytes) return
    this.#side.relaySent(this.#relay, this.#unreportedBytes)
    this.#unreportedBytes = 0
  }

  #forward(chunk: Buffer): void {
    this.#uncreditedBytes += chunk.length
    if (!this.#side.relayData(this.#relay, chunk) && !this.#waitsForRoom) {
      this.#waitsForRoom = true
      this.#side.waitForSpace(this)
    }
    if (this.#isPaused || (!this.#waitsForRoom && this.#uncreditedBytes < relayWindowBytes)) return
    this.#isPaused = true
    this.#stream.pause()
  }

  #goOn(): void {
    if (!this.#isPaused || this.#waitsForRoom || this.#uncreditedBytes >= relayWindowBytes) return
    this.#isPaused = false
    this.#stream.resume()
  }
}
