// Runs tasks one after the other.

export class ExclusiveTasks {
  #last: Promise<void> = Promise.resolve()

  /** Resolves or rejects as the task does, which starts when all earlier tasks have ended. */
  run(act: () => Promise<void>): Promise<void> {
    const turn = this.#last.then(act)
    // The next task waits for this one; its failure is reported to its own caller.
    this.#last = turn.catch(() => {})
    return turn
  }
}
