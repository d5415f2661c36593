// The connection of a client whose socket another shard has: a byte stream like any other for the shard that has the
// session.
//
//   shard with the socket (RelayDoor)            shard with the session (RelayedStream)
//        |----- open, data, data ... --------------->|   at most `relayWindowBytes` that were not taken
//        |<---- taken n ------------------------------|
//        |<---- write --------------------------------|   done at once, up to `unconfirmedBytes` of them
//        |----- sent n ------------------------------>|   not for each: told when it is much
//        |<---- end or destroy -----------------------|
//        |----- closed: the last word -------------->|

import type { ByteStream, StreamCredentials } from '../transports/index.ts'

/** Bytes of one client that may wait at the session's shard: it is not read from beyond. */
export const relayWindowBytes = 131_072
/** So much is taken before it is told. */
const creditFromBytes = relayWindowBytes / 2
/**
 * Bytes for one client that the other shard need not have confirmed: a write beyond them is done when it has. So what a
 * client that does not read may cost there is known, and a small message costs no way back.
 */
export const unconfirmedBytes = 32_768

/** The link's part in a relay, at the end where the session is. */
export interface RelayedStreamLink {
  relayWrite(relay: number, bytes: Buffer): void
  relayCredit(relay: number, bytes: number): void
  relayEnd(relay: number): void
  relayDestroy(relay: number): void
}

/** Where a relayed client comes from. */
export interface RelayOrigin {
  /** Which of the node's listeners it came through, by its number: the same at every shard. */
  readonly listener: number
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
}

const ignore = (): void => {}

export class RelayedStream implements ByteStream {
  readonly remoteAddress: string
  readonly remotePort: number
  readonly credentials: StreamCredentials | undefined
  onData: (chunk: Buffer) => void
  onClose: (error?: Error) => void
  readonly #home: RelayedStreamLink
  readonly #relay: number
  /** Of writes that wait for the other end to confirm what it was given. */
  #done: (() => void)[]
  #unsentBytes: number
  #isPaused: boolean
  /** What came while the reader stood still, copied: a post is not kept for a part of it. */
  #held: Buffer[]
  #handingIsPlanned: boolean
  #uncreditedBytes: number
  /** `gone`: the other end has closed, but not all that came has been taken, or the reader stands still. */
  #state: 'open' | 'ending' | 'gone' | 'closed'

  constructor(home: RelayedStreamLink, relay: number, origin: RelayOrigin) {
    this.remoteAddress = origin.remoteAddress
    this.remotePort = origin.remotePort
    this.credentials = origin.credentials
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
    // Too late to be sent. The answer still comes later and never from within the call, as it always does.
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

  /** Bytes have come. */
  receive(chunk: Buffer): void {
    if (this.#state !== 'open') return
    if (this.#isPaused || this.#held.length > 0) this.#held.push(Buffer.from(chunk))
    else this.#hand(chunk)
  }

  /** So many bytes of what was written have left. */
  noteSent(bytes: number): void {
    this.#unsentBytes -= bytes
    if (this.#unsentBytes <= unconfirmedBytes) this.#endWrites()
  }

  /** The other end is gone: the socket has closed, or the shard has died that had it. */
  noteClosed(error: Error | undefined): void {
    if (this.#state === 'closed' || this.#state === 'gone') return
    const isOpen = this.#state === 'open'
    if (isOpen) this.#state = 'gone'
    this.#endWrites()
    // What the client said before it left is still to be heard, as it would be from a socket: a reader that stands still
    // may have some of it, taken and not looked at.
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

  /** Later, and never from within the call that lets the reader go on. */
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

  /** Nothing is read any more. */
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
