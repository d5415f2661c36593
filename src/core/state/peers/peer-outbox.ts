// What a peer has not confirmed yet: kept, in order, so that it can be sent again when the peer has died and is back.
//
//   | sent, unconfirmed      | to be sent |
//   [ 12 ][ 13 ]   [ 15 ]    [ - ][ - ]        14 was QoS 0: numbered like all, but nobody waits for it
//     ^ committed upTo 13 takes two away; where 12 is withheld it stays, beside the others

import { assert } from '../../../protocol/index.ts'
import type { PeerCommitted, PeerPublish, PeerRelease } from '../../model/peer-messages.ts'
import { PendingQueue } from '../sessions/pending-queue.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

export interface UnconfirmedMessage {
  readonly message: PeerPublish | PeerRelease
  /** Undefined where nobody waits: a will, a command. */
  readonly barrier: CommitBarrier | undefined
  /** On the present link; 0: not sent on it yet. */
  number: number
  /** On a link that is gone. */
  wasSent: boolean
}

export class PeerOutbox {
  /** Before all others, in order: the peer has confirmed what came behind them. */
  #withheld: UnconfirmedMessage[] = []
  #unconfirmed = new PendingQueue<UnconfirmedMessage>()
  #unsent = new PendingQueue<UnconfirmedMessage>()
  #bytes = 0

  get length(): number {
    return this.#withheld.length + this.#unconfirmed.length
  }

  /** Of payloads. */
  get bytes(): number {
    return this.#bytes
  }

  get unsentCount(): number {
    return this.#unsent.length
  }

  get hasUnsent(): boolean {
    return this.#unsent.length > 0
  }

  /** Behind all others. Its message must be owned. */
  push(message: PeerPublish | PeerRelease, barrier: CommitBarrier | undefined): void {
    const owed: UnconfirmedMessage = { message, barrier, number: 0, wasSent: false }
    this.#unconfirmed.push(owed)
    this.#unsent.push(owed)
    this.#bytes += bytesOf(message)
  }

  /** The next one to be sent, as number `number` of the link; undefined where all are. */
  takeUnsent(number: number): PeerPublish | PeerRelease | undefined {
    const owed = this.#unsent.shift()
    if (owed === undefined) return undefined
    owed.number = number
    const { message } = owed
    return owed.wasSent && message.kind === 'publish' ? { ...message, isRepeat: true } : message
  }

  /** The link is new: everything is to be sent again. */
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

  /** Takes out what is confirmed; the caller keeps its vows. */
  takeConfirmed({ upTo, uncommitted }: Pick<PeerCommitted, 'upTo' | 'uncommitted'>): UnconfirmedMessage[] {
    const answered = this.#withheld
    for (let next = this.#unconfirmed.peek(); next !== undefined; next = this.#unconfirmed.peek()) {
      if (next.number === 0 || next.number > upTo) break
      this.#unconfirmed.shift()
      answered.push(next)
    }
    // They may be thousands, when a member with many messages goes.
    const numbers = new Set(uncommitted)
    this.#withheld = answered.filter(({ number }) => numbers.has(number))
    const confirmed = uncommitted === undefined ? answered : answered.filter(({ number }) => !numbers.has(number))
    for (const { message } of confirmed) this.#bytes -= bytesOf(message)
    assert(this.#bytes >= 0, 'more was confirmed than was sent')
    return confirmed
  }
}

function bytesOf(message: PeerPublish | PeerRelease): number {
  return message.kind === 'publish' ? message.message.payloadBytes : 0
}
