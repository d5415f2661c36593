// Gives memory back when the rush is over. V8 collects its heap when it needs room, so a thread that has become idle keeps
// what a burst had left, however long: an operator who looks then sees a broker that has grown.

import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** What is looked at and done; tests have their own. */
export interface TidyWorld {
  /** That V8 holds of the system, in use or not. */
  heapBytes(): number
  /** A whole collection: nothing else is done meanwhile, some 50 ms after a large burst. */
  collect(): void
  /** Received and sent since the start. */
  messages(): number
}

/** It is looked at so often. */
export const tidyIntervalMs = 15_000
/** Fewer messages in an interval are no work that a pause would be felt in. */
const idleMessages = 7_500
/** A pause is worth that much. */
const worthwhileBytes = 33_554_432

export class IdleTidy {
  readonly #world: TidyWorld
  #messages: number
  /** After the last collection, or at the start. */
  #tidyBytes: number

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
    if (!isIdle || this.#world.heapBytes() - this.#tidyBytes < worthwhileBytes) return
    this.#world.collect()
    this.#tidyBytes = this.#world.heapBytes()
  }
}

/** Of this thread's own heap. */
export function ownHeap(): Pick<TidyWorld, 'heapBytes' | 'collect'> {
  // Only a context that is made with the flag has the function. The flag is of the whole process and stays: a shard that
  // took it back could do so while another one is just here.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  return { heapBytes: () => getHeapStatistics().total_heap_size, collect: () => collect() }
}
