// Tracks which messages of a peer are durable on this shard, to confirm many with one number.
//
//   received:   1  2  3  4  5  6
//   batch:      -  7  -  7  8  -        2 and 4 were stored with batch 7, 5 with batch 8; the others need no write,
//   marks:      [ upTo 4: 7 ][ upTo 6: 8 ]     but "all up to 3" includes 2
//
// If a shared subscription has no member on this shard, its message was forwarded to another shard and also waits for that shard. Later
// messages do not wait for it: otherwise two shards that forward messages to each other would block each other forever.
//
//   "all up to 6, but not 4"  ...  "all up to 6"

import type { ReasonCode } from '../../../protocol/index.ts'
import type { PeerCommitted } from '../../model/peer-messages.ts'
import type { CommitBarrier } from '../../model/commit-barrier.ts'

interface Mark {
  upTo: number
  readonly batch: number
  /** Undefined: it waits only for a commit of this shard. */
  readonly barrier: CommitBarrier | undefined
}

export class PeerAcks {
  #marks: Mark[] = []
  #confirmed = 0
  #reported = 0
  #awaited = 0
  #committed = 0
  #refused: { number: number; reason: ReasonCode }[] = []
  /** Messages up to `#confirmed` that wait for another shard. */
  readonly #withheld = new Set<number>()
  /** True if a message is no longer withheld, and this is not reported yet. */
  #hasReleased = false

  /**
   * Records that message `number` was handled. `batch` contains its changes; 0: it needs no write. `isAwaited`: the peer
   * waits for the confirmation.
   */
  recordHandled(
    number: number,
    options: { batch: number; isAwaited: boolean; barrier?: CommitBarrier | undefined },
  ): void {
    if (options.isAwaited) this.#awaited = number
    if (options.barrier !== undefined) this.#withhold(number, { batch: options.batch, barrier: options.barrier })
    else this.recordUnawaited(number, options.batch)
  }

  /** Records a handled message, without a peer that waits for the confirmation and without a barrier. */
  recordUnawaited(number: number, batch: number): void {
    const last = this.#marks.length === 0 ? undefined : this.#marks[this.#marks.length - 1]
    if (last !== undefined && last.barrier === undefined && (batch === 0 || batch <= last.batch)) last.upTo = number
    else if (last === undefined && batch === 0) this.#confirmed = number
    else this.#marks.push({ upTo: number, batch, barrier: undefined })
  }

  /** Records that the message was refused. The confirmation of the message contains the reason. */
  refuse(number: number, reason: ReasonCode): void {
    this.#refused.push({ number, reason })
  }

  recordCommitted(batch: number): void {
    this.#committed = batch
    this.#advance()
  }

  #withhold(number: number, { batch, barrier }: { batch: number; barrier: CommitBarrier }): void {
    this.#marks.push({ upTo: number, batch, barrier })
    barrier.runWhenComplete(() => {
      if (this.#withheld.delete(number)) this.#hasReleased = true
    })
  }

  #advance(): void {
    let count = 0
    for (const mark of this.#marks) {
      if (mark.batch > this.#committed) break
      if (mark.barrier?.isComplete === false) this.#withheld.add(mark.upTo)
      this.#confirmed = mark.upTo
      count++
    }
    if (count > 0) this.#marks = this.#marks.slice(count)
  }

  /** Returns the confirmation to send, if the peer waits for one. */
  take(): PeerCommitted | undefined {
    this.#advance()
    const isFurther = this.#confirmed !== this.#reported && this.#awaited > this.#reported
    if (!isFurther && !this.#hasReleased) return undefined
    const upTo = this.#confirmed
    this.#reported = upTo
    this.#hasReleased = false
    const isCovered = ({ number }: { number: number }): boolean => number <= upTo && !this.#withheld.has(number)
    const refused = this.#refused.filter(isCovered)
    if (refused.length > 0) this.#refused = this.#refused.filter((one) => !isCovered(one))
    return {
      kind: 'committed',
      upTo,
      refused: refused.length === 0 ? undefined : refused,
      uncommitted: this.#withheld.size === 0 ? undefined : [...this.#withheld],
    }
  }
}
