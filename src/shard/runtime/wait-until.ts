// Waiting for something to come to an end, but not for ever.

export class WaitUntil {
  readonly #looks = new Set<() => void>()

  /** Something has ended: what is waited for may be so now. */
  check(): void {
    for (const look of this.#looks) look()
  }

  /** Resolves when that is so (true), or after `patienceMs` (false). */
  wait(isSo: () => boolean, patienceMs: number): Promise<boolean> {
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
      const timer = setTimeout(settle, patienceMs).unref()
      this.#looks.add(look)
    })
  }
}
