// As many requests as may be worked on at one time, and a queue for the others.
//
//   who has signed in ──► [ queue, bounded ] ──► worked on, at most `http_server.limit_conn` ──► done
//
// The wait comes before the body is read, so that who waits holds no more than a header.

/** The place of one request. */
export interface Ticket {
  /** Resolves with true when the request may go on, with false when it is turned away because too many wait. */
  readonly admitted: Promise<boolean>
  /** It is done, or its client has left. May be called again. */
  release(): void
}

export class RequestLimiter {
  #maxWorking: number
  readonly #maxWaiting: number
  #working: number
  readonly #waiting: Set<() => void>

  constructor(maxWorking: number, maxWaiting: number) {
    this.#maxWorking = maxWorking
    this.#maxWaiting = maxWaiting
    this.#working = 0
    this.#waiting = new Set()
  }

  enter(): Ticket {
    if (this.#working < this.#maxWorking) return this.#tryAdmit()
    if (this.#waiting.size >= this.#maxWaiting) return { admitted: Promise.resolve(false), release: () => {} }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let admitted: Ticket | undefined
    const goOn = (): void => {
      admitted = this.#tryAdmit()
      resolve(true)
    }
    this.#waiting.add(goOn)
    const release = (): void => {
      this.#waiting.delete(goOn)
      resolve(false)
      admitted?.release()
    }
    return { admitted: promise, release }
  }

  /** Those who are in stay in; who waits comes in where there is room now. */
  change(maxWorking: number): void {
    this.#maxWorking = maxWorking
    this.#startNext()
  }

  #tryAdmit(): Ticket {
    this.#working += 1
    let isIn = true
    const release = (): void => {
      if (!isIn) return
      isIn = false
      this.#working -= 1
      this.#startNext()
    }
    return { admitted: Promise.resolve(true), release }
  }

  #startNext(): void {
    for (const next of this.#waiting) {
      if (this.#working >= this.#maxWorking) return
      this.#waiting.delete(next)
      next()
    }
  }
}
