// A socket of this shard whose client has its session at another one: bytes are carried there and back as they are. See
// relayed-stream.ts for the play.

import type { ByteStream } from '../transports/index.ts'
import { relayWindowBytes, unconfirmedBytes } from './relayed-stream.ts'

/** The link's part in a relay, at the end where the socket is. */
export interface RelayAcceptorLink {
  /** False: enough waits on the link for now. */
  relayData(relay: number, chunk: Buffer): boolean
  relaySent(relay: number, bytes: number): void
  relayClosed(relay: number, error: Error | undefined): void
  /** Calls `resume` when the link is not congested any more. */
  waitForSpace(acceptor: RelayAcceptor): void
}

/** So much has left before it is told. */
const tellSentFromBytes = unconfirmedBytes / 2

export class RelayAcceptor {
  readonly #side: RelayAcceptorLink
  readonly #relay: number
  readonly #stream: ByteStream
  #uncreditedBytes: number
  #isPaused: boolean
  #waitsForRoom: boolean
  /** Writes that the socket has not done. */
  #writesInProgress: number
  /** Bytes that it was given and that have not been told. */
  #unreportedBytes: number
  readonly #sent: () => void

  /** `untakenBytes`: how much of the client's has gone to the other end already. */
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
    // A socket that takes nothing keeps one post alive and not one for each write.
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
