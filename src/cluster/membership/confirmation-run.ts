// The time during which the database confirmed the row of this node without interruption. Before it is long enough, this node ends no life: the
// database may just have returned, and other nodes had no chance yet to write their rows.

/** One confirmed transaction. */
export interface Confirmation {
  /** Monotonic clock of this node. */
  readonly sentMs: number
  readonly receivedMs: number
  /** Clock of the database between both. */
  readonly databaseMs: number
}

/** The clock of the database was set if it differs by more from the monotonic clock of this node within one beat. */
const maxClockStepMs = 500

export class ConfirmationRun {
  readonly #maxGapMs: number
  #startedMs: number | undefined
  #last: Confirmation | undefined

  /** `maxGapMs`: between two confirmations. */
  constructor(maxGapMs: number) {
    this.#maxGapMs = maxGapMs
  }

  /** Returns whether the run continues; false: it starts with this confirmation. */
  confirm(confirmation: Confirmation): boolean {
    const last = this.#last
    this.#last = confirmation
    const continues =
      last !== undefined &&
      this.#startedMs !== undefined &&
      confirmation.receivedMs - last.receivedMs <= this.#maxGapMs &&
      !isClockSet(last, confirmation)
    if (!continues) this.#startedMs = confirmation.receivedMs
    return continues
  }

  /** After an unknown outcome, or a change of the server. */
  reset(): void {
    this.#startedMs = undefined
    this.#last = undefined
  }

  /** Returns 0 without a run. */
  measureMs(nowMs: number): number {
    if (this.#startedMs === undefined || this.#last === undefined) return 0
    return nowMs - this.#last.receivedMs > this.#maxGapMs ? 0 : nowMs - this.#startedMs
  }
}

function isClockSet(last: Confirmation, next: Confirmation): boolean {
  const passedMs = next.databaseMs - last.databaseMs
  const leastMs = next.sentMs - last.receivedMs - maxClockStepMs
  const mostMs = next.receivedMs - last.sentMs + maxClockStepMs
  return passedMs < leastMs || passedMs > mostMs
}
