// Divides long work of the main thread into slices, so that other work runs in between.

import { setImmediate } from 'node:timers/promises'

/** Maximum duration of a slice. */
const sliceMs = 4
/** Items between two reads of the clock. */
const itemsBetweenClockReads = 64

/** Counts the steps of long work, and pauses it. */
export class ScanBudget {
  #steps = 0
  #beganAtMs = performance.now()

  /** Called after each step; true: call `pause`. */
  isExhausted(): boolean {
    return ++this.#steps % itemsBetweenClockReads === 0 && performance.now() - this.#beganAtMs >= sliceMs
  }

  /** Resolves after other work has run. */
  async pause(): Promise<void> {
    await setImmediate()
    this.#beganAtMs = performance.now()
  }
}

/** Returns the selected items in order. `items` may change meanwhile, if its iterator allows it. */
export async function filterInSlices<Item>(items: Iterable<Item>, isWanted: (item: Item) => boolean): Promise<Item[]> {
  const budget = new ScanBudget()
  const found: Item[] = []
  for (const item of items) {
    if (isWanted(item)) found.push(item)
    if (budget.isExhausted()) await budget.pause()
  }
  return found
}
