// Limits the requests in progress, with a queue for the others.
//
//   authenticated ──► [ queue, limited ] ──► in progress, at most `http_server.limit_conn` ──► done
//
// Requests wait before their body is read, so a waiting request uses only the memory of its headers.

/** One request. */
export interface Ticket {
  /** Resolves with true when the request may continue, with false if the queue is full. */
  readonly admitted: Promise<boolean>
  /** The request is done, or its client has disconnected. May be called again. */
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
    const resume = (): void => {
      admitted = this.#tryAdmit()
      resolve(true)
    }
    this.#waiting.add(resume)
    const release = (): void => {
      this.#waiting.delete(resume)
      resolve(false)
      admitted?.release()
    }
    return { admitted: promise, release }
  }

  /** Requests in progress continue; waiting ones start if the limit allows it now. */
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
