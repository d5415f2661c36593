// Messages that a peer has not confirmed, in order, so that they can be sent again after it failed and restarted.
//
//   | sent, unconfirmed      | to be sent |
//   [ 12 ][ 13 ]   [ 15 ]    [ - ][ - ]        14 was QoS 0: it has a number, but no confirmation is expected
//     ^ committed upTo 13 removes two; if 12 is uncommitted, it moves to the withheld messages

import { assert } from '../../../protocol/index.ts'
import type { PeerCommitted, PeerPublish, PeerRelease } from '../../model/peer-messages.ts'
import { PendingQueue } from '../sessions/pending-queue.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface UnconfirmedMessage {
  readonly message: PeerPublish | PeerRelease
  /** Undefined if nothing waits for it: a will, a command. */
  readonly barrier: CommitBarrier | undefined
  /** Number on the current link; 0: not sent on it yet. */
  number: number
  /** True if the message was sent on an earlier link. */
  wasSent: boolean
}

export class PeerOutbox {
  /** Before all others, in order: the peer has confirmed later messages. */
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

  /** Adds a message at the end. It must be owned. */
  push(message: PeerPublish | PeerRelease, barrier: CommitBarrier | undefined): void {
    const owed: UnconfirmedMessage = { message, barrier, number: 0, wasSent: false }
    this.#unconfirmed.push(owed)
    this.#unsent.push(owed)
    this.#bytes += bytesOf(message)
  }

  /** Returns the next message to send, with `number` of the link; undefined if all are sent. */
  takeUnsent(number: number): PeerPublish | PeerRelease | undefined {
    const owed = this.#unsent.shift()
    if (owed === undefined) return undefined
    owed.number = number
    const { message } = owed
    return owed.wasSent && message.kind === 'publish' ? { ...message, isRepeat: true } : message
  }

  /** The link is new: all messages are sent again. */
  restart(): void {
    const all = [...this.#withheld, ...this.#unconfirmed.all()]
    this.#withheld = []
    this.#unconfirmed = new PendingQueue()
    this.#unsent = new PendingQueue()
    for (const owed of all) {
      owed.wasSent ||= owed.number !== 0
      owed.number = 0
      this.#unconfirmed.push(owed)
      this.#unsent.push(owed)
    }
  }

  /** Removes confirmed messages; the caller completes their barriers. */
  takeConfirmed({ upTo, uncommitted }: Pick<PeerCommitted, 'upTo' | 'uncommitted'>): UnconfirmedMessage[] {
    const done = this.#withheld
    for (let next = this.#unconfirmed.peek(); next !== undefined; next = this.#unconfirmed.peek()) {
      if (next.number === 0 || next.number > upTo) break
      this.#unconfirmed.shift()
      done.push(next)
    }
    // There may be thousands, when a member with many messages disconnects.
    const numbers = new Set(uncommitted)
    this.#withheld = done.filter(({ number }) => numbers.has(number))
    const confirmed = uncommitted === undefined ? done : done.filter(({ number }) => !numbers.has(number))
    for (const { message } of confirmed) this.#bytes -= bytesOf(message)
    assert(this.#bytes >= 0, 'more was confirmed than was sent')
    return confirmed
  }
}

function bytesOf(message: PeerPublish | PeerRelease): number {
  return message.kind === 'publish' ? message.message.payloadBytes : 0
}
