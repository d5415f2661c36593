// The turns of a shard. A turn begins with the first input after the last one and ends in the same iteration of the event loop. Its time
// is the time of its first input, so the clock is read once.
//
//   between turns --(first input: nowMs)--> turn --(setImmediate)--> end: continue, commit, flush --> between turns

import type { Time } from './clock.ts'
import { maxTurnMs } from './turn-limits.ts'

export interface TurnCallbacks {
  begin(): void
  /** Must call `startNext`. */
  end(): void
}

export class Turn {
  /** Increases with each turn. */
  number = 0
  readonly #clock: Time
  readonly #callbacks: TurnCallbacks
  /** 0 between turns. */
  #timeMs = 0
  #isEndPlanned = false
  /** One function for all turns: when clients connect, each connection may cause a turn. */
  readonly #end: () => void

  constructor(clock: Time, callbacks: TurnCallbacks) {
    this.#clock = clock
    this.#callbacks = callbacks
    this.#end = () => callbacks.end()
  }

  /** The time of the turn, in milliseconds. Begins a turn if none is in progress. */
  readonly nowMs = (): number => {
    if (this.#timeMs === 0) {
      this.#timeMs = this.#clock.nowMs()
      this.#callbacks.begin()
      this.planEnd()
    }
    return this.#timeMs
  }

  /** Returns whether the turn has taken its maximum time. Reads the clock. */
  readonly isOverdue = (): boolean => this.#clock.nowMs() - this.nowMs() >= maxTurnMs

  readonly planEnd = (): void => {
    if (this.#isEndPlanned) return
    this.#isEndPlanned = true
    setImmediate(this.#end)
  }

  /** The planned end has come: the postponed input belongs to the next turn. */
  startNext(): void {
    this.#isEndPlanned = false
    this.#timeMs = 0
    this.number++
  }

  /** The next input reads the clock again. */
  forgetTime(): void {
    this.#timeMs = 0
  }
}
