// Waiting for something to come to an end, but not for ever.

export class Patience {
  #look: (() => void) | undefined

  /** Something has ended: what is waited for may be so now. */
  lookAgain(): void {
    this.#look?.()
  }

  /** Resolves when that is so, or after `patienceMs`. One at a time. */
  until(isSo: () => boolean, patienceMs: number): Promise<void> {
    if (isSo()) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs).unref()
      this.#look = () => {
        if (!isSo()) return
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
