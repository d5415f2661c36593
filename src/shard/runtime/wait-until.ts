// Waits for a condition, with a timeout.

export class WaitUntil {
  readonly #looks = new Set<() => void>()

  /** A state has changed: the conditions are checked. */
  check(): void {
    for (const look of this.#looks) look()
  }

  /** Resolves with true when the condition holds, or with false after `timeoutMs`. */
  wait(isSo: () => boolean, timeoutMs: number): Promise<boolean> {
    if (isSo()) return Promise.resolve(true)
    return new Promise((resolve) => {
      const settle = (): void => {
        this.#looks.delete(look)
        clearTimeout(timer)
        resolve(isSo())
      }
      const look = (): void => {
        if (isSo()) settle()
      }
      const timer = setTimeout(settle, timeoutMs).unref()
      this.#looks.add(look)
    })
  }
}
