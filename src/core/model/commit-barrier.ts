// What an answer to a client stands for, while it is not yet true everywhere: marks on disks here and on other shards.
//
//   PUBACK ── waits for ── Vow { missing: 3 } ◄── this shard's batch 7 is on disk
//                                            ◄── shard 1 has committed message 12
//                                            ◄── shard 2 has committed message 40

import { assert, type ReasonCode } from '../../protocol/index.ts'

/** Made with one mark, which is its maker's: it is not kept before the maker has named all others and called `mark`. */
export class CommitBarrier {
  #missingCount = 1
  #refusal: ReasonCode | undefined = undefined
  readonly #listeners: (() => void)[] = []

  get isComplete(): boolean {
    return this.#missingCount === 0
  }

  /** Why a shard did not take what it was given, if one did not. */
  get refusal(): ReasonCode | undefined {
    return this.#refusal
  }

  /** One mark more to wait for. */
  expect(): void {
    assert(this.#missingCount > 0, 'a vow that is kept can not be made to wait')
    this.#missingCount++
  }

  /** One of the marks is there; perhaps with a word on why nothing was taken. */
  arrive(refusal?: ReasonCode): void {
    assert(this.#missingCount > 0, 'a vow was kept twice')
    if (refusal !== undefined) this.#refusal = refusal
    if (--this.#missingCount > 0) return
    for (const listener of this.#listeners.splice(0)) listener()
  }

  /** Called when it is kept: at once, if it is. */
  whenComplete(listener: () => void): void {
    if (this.isComplete) listener()
    else this.#listeners.push(listener)
  }
}
