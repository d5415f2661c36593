// How far what a peer has sent is safe here: one number for each, said once for many.
//
//   received:   1  2  3  4  5  6
//   batch:      -  7  -  7  8  -        2 and 4 were stored with batch 7, 5 with batch 8; the others need no disk,
//   marks:      [ upTo 4: 7 ][ upTo 6: 8 ]     but "all up to 3" includes 2

import type { ReasonCode } from '../../protocol/index.ts'
import type { PeerCommitted } from '../peer-messages.ts'

interface Mark {
  upTo: number
  readonly batch: number
}

export class Confirmations {
  #marks: Mark[] = []
  #confirmed = 0
  #told = 0
  #awaited = 0
  #refused: { number: number; reason: ReasonCode }[] = []

  /** Message `number` has had its effect, which is on disk with `batch`; 0: needs no disk. */
  note(number: number, how: { batch: number; isAwaited: boolean }): void {
    if (how.isAwaited) this.#awaited = number
    const last = this.#marks.at(-1)
    if (last !== undefined && (how.batch === 0 || how.batch <= last.batch)) last.upTo = number
    else if (how.batch === 0) this.#confirmed = number
    else this.#marks.push({ upTo: number, batch: how.batch })
  }

  /** It was not taken; to be said with its confirmation. */
  refuse(number: number, reason: ReasonCode): void {
    this.#refused.push({ number, reason })
  }

  committed(batch: number): void {
    let count = 0
    for (const mark of this.#marks) {
      if (mark.batch > batch) break
      this.#confirmed = mark.upTo
      count++
    }
    if (count > 0) this.#marks = this.#marks.slice(count)
  }

  /** What is to be told, if anybody waits for it. */
  take(): PeerCommitted | undefined {
    if (this.#confirmed === this.#told || this.#awaited <= this.#told) return undefined
    const upTo = this.#confirmed
    this.#told = upTo
    const refused = this.#refused.filter(({ number }) => number <= upTo)
    if (refused.length > 0) this.#refused = this.#refused.filter(({ number }) => number > upTo)
    return { kind: 'committed', upTo, refused: refused.length === 0 ? undefined : refused }
  }
}
