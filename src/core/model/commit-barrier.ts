// The commits, of this shard and of peers, that an acknowledgement waits for.
//
//   PUBACK ── waits for ── CommitBarrier { missing: 3 } ◄── batch 7 of this shard is durable
//                                                       ◄── shard 1 committed message 12
//                                                       ◄── shard 2 committed message 40

import { assert, type ReasonCode } from '../../protocol/index.ts'

/** A new barrier expects the commit of its creator, so it completes only after the creator has called `arrive`. */
export class CommitBarrier {
  #missingCount = 1
  #refusal: ReasonCode | undefined = undefined
  readonly #listeners: (() => void)[] = []

  get isComplete(): boolean {
    return this.#missingCount === 0
  }

  /** The reason of a shard that refused the message, if one did. */
  get refusal(): ReasonCode | undefined {
    return this.#refusal
  }

  /** Adds one commit to wait for. */
  expect(): void {
    assert(this.#missingCount > 0, 'a complete commit barrier cannot expect a commit')
    this.#missingCount++
  }

  /** Reports one commit, or the reason why a shard refused the message. */
  arrive(refusal?: ReasonCode): void {
    assert(this.#missingCount > 0, 'a commit barrier completed twice')
    if (refusal !== undefined) this.#refusal = refusal
    if (--this.#missingCount > 0) return
    for (const listener of this.#listeners.splice(0)) listener()
  }

  /** Calls `listener` when all commits are done: at once if they are. */
  runWhenComplete(listener: () => void): void {
    if (this.isComplete) listener()
    else this.#listeners.push(listener)
  }
}
