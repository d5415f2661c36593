// Long work of the main thread in pieces: between two of them everybody else is served.

import { setImmediate } from 'node:timers/promises'

/** So long the loop may be held. */
const sliceMs = 4
/** The clock is looked at after so many. */
const itemsBetweenClockReads = 64

/** Counts the steps of long work and lets others go first in between. */
export class ScanBudget {
  #steps = 0
  #beganAtMs = performance.now()

  /** After each step; true: it is time for `rest`. */
  isExhausted(): boolean {
    return ++this.#steps % itemsBetweenClockReads === 0 && performance.now() - this.#beganAtMs >= sliceMs
  }

  /** Resolves when everybody else has had their turn. */
  async pause(): Promise<void> {
    await setImmediate()
    this.#beganAtMs = performance.now()
  }
}

/** Those that are wanted, in their order. `items` may change meanwhile as far as they bear it. */
export async function filterInSlices<Item>(items: Iterable<Item>, isWanted: (item: Item) => boolean): Promise<Item[]> {
  const budget = new ScanBudget()
  const found: Item[] = []
  for (const item of items) {
    if (isWanted(item)) found.push(item)
    if (budget.isExhausted()) await budget.pause()
  }
  return found
}
