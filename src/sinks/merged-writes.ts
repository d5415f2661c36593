// Executes writes one after the other, in the order of the calls. Calls that arrive during a write are merged into the next one.

import type { ActionEntry, WriteOutcome } from './sink.ts'

interface Call {
  readonly entries: readonly ActionEntry[]
  resolve(outcomes: readonly WriteOutcome[]): void
}

export class MergedWrites {
  readonly #write: (entries: readonly ActionEntry[]) => Promise<readonly WriteOutcome[]>
  readonly #maxEntries: number
  #calls: Call[] = []
  #isWriting = false

  /** `write` never rejects. A write has more than `maxEntries` entries only if a single call has more. */
  constructor(maxEntries: number, write: (entries: readonly ActionEntry[]) => Promise<readonly WriteOutcome[]>) {
    this.#maxEntries = maxEntries
    this.#write = write
  }

  write(entries: readonly ActionEntry[]): Promise<readonly WriteOutcome[]> {
    const { promise, resolve } = Promise.withResolvers<readonly WriteOutcome[]>()
    this.#calls.push({ entries, resolve })
    if (!this.#isWriting) {
      this.#isWriting = true
      void this.#writeAll()
    }
    return promise
  }

  async #writeAll(): Promise<void> {
    while (this.#calls.length > 0) {
      const calls = this.#calls.splice(0, this.#countNextCalls())
      const outcomes = await this.#write(calls.flatMap(({ entries }) => entries))
      let at = 0
      for (const call of calls) call.resolve(outcomes.slice(at, (at += call.entries.length)))
    }
    this.#isWriting = false
  }

  #countNextCalls(): number {
    let entries = 0
    const end = this.#calls.findIndex((call) => (entries += call.entries.length) > this.#maxEntries)
    return end < 0 ? this.#calls.length : Math.max(1, end)
  }
}
