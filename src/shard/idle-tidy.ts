// Gives memory back when the rush is over. V8 collects its heap when it needs room, so a thread that has become idle keeps
// what a burst had left, however long: an operator who looks then sees a broker that has grown.

import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is looked at and done; tests have their own. */
export interface TidyWorld {
  /** That V8 holds of the system, in use or not. */
  heapBytes(): number
  /** A whole collection: nothing else is done meanwhile. Gives how long it took, in ms. */
  collect(): number
  /** Received and sent since the start. */
  messages(): number
}

/** It is looked at so often. */
export const tidyIntervalMs = 15_000
/** Fewer messages in an interval are no work that a pause would be felt in. */
const idleMessages = 7_500
/** A pause is worth that much. */
const worthwhileBytes = 33_554_432
/** V8 gives its pages back in several steps. */
const mostCollections = 4
/** A collection that takes longer has much to look through that is in use: this heap is left to itself. */
const longestMs = 1_000

export class IdleTidy {
  readonly #world: TidyWorld
  #messages: number
  /** The least that it came to. */
  #tidyBytes: number
  /** Since the last traffic. */
  #collections = 0
  #isTooLarge = false

  constructor(world: TidyWorld) {
    this.#world = world
    this.#messages = world.messages()
    this.#tidyBytes = world.heapBytes()
  }

  /** To be called every `tidyIntervalMs`. */
  look(): void {
    const messages = this.#world.messages()
    const isIdle = messages - this.#messages < idleMessages
    this.#messages = messages
    if (!isIdle) this.#collections = 0
    if (!isIdle || this.#isTooLarge || this.#collections === mostCollections) return
    if (this.#world.heapBytes() - this.#tidyBytes < worthwhileBytes) return
    this.#collections++
    this.#isTooLarge = this.#world.collect() > longestMs
    this.#tidyBytes = Math.min(this.#tidyBytes, this.#world.heapBytes())
  }
}

/** Of this thread's own heap. */
export function ownHeap(): Pick<TidyWorld, 'heapBytes' | 'collect'> {
  // Only a context that is made while the flag is set has the function; it is one flag for all threads, so it stays.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return {
    heapBytes: () => getHeapStatistics().total_heap_size,
    collect: () => {
      const startedMs = performance.now()
      collect()
      return performance.now() - startedMs
    },
  }
}
