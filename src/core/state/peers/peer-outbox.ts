// Messages that a peer has not confirmed, in order, so that they can be sent again after it failed and restarted.
//
//   | sent, unconfirmed      | to be sent |
//   [ 12 ][ 13 ]   [ 15 ]    [ - ][ - ]        14 was QoS 0: it has a number, but no confirmation is expected
//     ^ `PeerCommitted` with upTo 13 removes two; if it lists 12 as uncommitted, 12 moves to the withheld messages

import { assert } from '../../../protocol/index.ts'
import type { PeerCommitted, PeerPublish, PeerRelease } from '../../model/peer-messages.ts'
import { PendingQueue } from '../sessions/pending-queue.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface UnconfirmedMessage {
  readonly message: PeerPublish | PeerRelease
  /** Undefined if nothing waits for the message, for example a will. */
  readonly barrier: CommitBarrier | undefined
  /** Number on the current link; 0: not sent on the current link. */
  number: number
  /** True if the message was sent on an earlier link. */
  wasSent: boolean
}

export class PeerOutbox {
  /** Messages that the peer has not committed although it confirmed later ones. In order, before `#unconfirmed`. */
  #withheld: UnconfirmedMessage[] = []
  #unconfirmed = new PendingQueue<UnconfirmedMessage>()
  #unsent = new PendingQueue<UnconfirmedMessage>()
  #bytes = 0

  get length(): number {
    return this.#withheld.length + this.#unconfirmed.length
  }

  /** Bytes of payloads. */
  get bytes(): number {
    return this.#bytes
  }

  get unsentCount(): number {
    return this.#unsent.length
  }

  get hasUnsent(): boolean {
    return this.#unsent.length > 0
  }

  /** Adds a message at the end. The message must own its bytes (`Message.isOwned`). */
  push(message: PeerPublish | PeerRelease, barrier: CommitBarrier | undefined): void {
    const entry: UnconfirmedMessage = { message, barrier, number: 0, wasSent: false }
    this.#unconfirmed.push(entry)
    this.#unsent.push(entry)
    this.#bytes += countPayloadBytes(message)
  }

  /** Returns the next message to send, with `number` of the link; undefined if all are sent. */
  takeUnsent(number: number): PeerPublish | PeerRelease | undefined {
    const entry = this.#unsent.shift()
    if (entry === undefined) return undefined
    entry.number = number
    const { message } = entry
    return entry.wasSent && message.kind === 'publish' ? { ...message, isRepeat: true } : message
  }

  /** Called when the link is new: all messages are sent again. */
  restart(): void {
    const all = [...this.#withheld, ...this.#unconfirmed.listItems()]
    this.#withheld = []
    this.#unconfirmed = new PendingQueue()
    this.#unsent = new PendingQueue()
    for (const entry of all) {
      entry.wasSent ||= entry.number !== 0
      entry.number = 0
      this.#unconfirmed.push(entry)
      this.#unsent.push(entry)
    }
  }

  /** Removes the first message: the peer has left for good, and confirms nothing more. */
  takeFirst(): UnconfirmedMessage | undefined {
    const first = this.#withheld.shift() ?? this.#unconfirmed.shift()
    if (first === undefined) return undefined
    if (this.#unsent.peek() === first) this.#unsent.shift()
    this.#bytes -= countPayloadBytes(first.message)
    return first
  }

  /** Removes confirmed messages; the caller completes their barriers. */
  takeConfirmed({ upTo, uncommitted }: Pick<PeerCommitted, 'upTo' | 'uncommitted'>): UnconfirmedMessage[] {
    const done = this.#withheld
    for (let next = this.#unconfirmed.peek(); next !== undefined; next = this.#unconfirmed.peek()) {
      if (next.number === 0 || next.number > upTo) break
      this.#unconfirmed.shift()
      done.push(next)
    }
    // A set, because there may be thousands when a member with many messages disconnects.
    const numbers = new Set(uncommitted)
    this.#withheld = done.filter(({ number }) => numbers.has(number))
    const confirmed = uncommitted === undefined ? done : done.filter(({ number }) => !numbers.has(number))
    for (const { message } of confirmed) this.#bytes -= countPayloadBytes(message)
    assert(this.#bytes >= 0, 'more was confirmed than was sent')
    return confirmed
  }
}

function countPayloadBytes(message: PeerPublish | PeerRelease): number {
  return message.kind === 'publish' ? message.message.payloadBytes : 0
}
