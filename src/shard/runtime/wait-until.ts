// Waits for a condition, with a timeout.

export class WaitUntil {
  readonly #checks = new Set<() => void>()

  /** Called when a state has changed. Checks all conditions. */
  check(): void {
    for (const check of this.#checks) check()
  }

  /** Resolves with true when the condition holds, or with false after `timeoutMs`. */
  wait(condition: () => boolean, timeoutMs: number): Promise<boolean> {
    if (condition()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const finish = (): void => {
        this.#checks.delete(check)
        clearTimeout(timer)
        resolve(condition())
      }
      const check = (): void => {
        if (condition()) finish()
      }
      const timer = setTimeout(finish, timeoutMs).unref()
      this.#checks.add(check)
    })
  }
}
