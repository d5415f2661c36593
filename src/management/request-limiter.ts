// As many requests as may be worked on at one time, and a queue for the others.
//
//   who has signed in ──► [ queue, bounded ] ──► worked on, at most `http_server.limit_conn` ──► done
//
// The wait comes before the body is read, so that who waits holds no more than a header.

/** The place of one request. */
export interface Ticket {
  /** Resolves with true when the request may go on, with false when it is turned away because too many wait. */
  readonly mayGoOn: Promise<boolean>
  /** It is done, or its client has left. May be called again. */
  leave(): void
}

export class RequestGate {
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
    if (this.#working < this.#maxWorking) return this.#admit()
    if (this.#waiting.size >= this.#maxWaiting) return { mayGoOn: Promise.resolve(false), leave: () => {} }
    const { promise, resolve } = Promise.withResolvers<boolean>()
    let admitted: Ticket | undefined
    const goOn = (): void => {
      admitted = this.#admit()
      resolve(true)
    }
    this.#waiting.add(goOn)
    const leave = (): void => {
      this.#waiting.delete(goOn)
      resolve(false)
      admitted?.leave()
    }
    return { mayGoOn: promise, leave }
  }

  /** Those who are in stay in; who waits comes in where there is room now. */
  change(maxWorking: number): void {
    this.#maxWorking = maxWorking
    this.#letIn()
  }

  #admit(): Ticket {
    this.#working += 1
    let isIn = true
    const leave = (): void => {
      if (!isIn) return
      isIn = false
      this.#working -= 1
      this.#letIn()
    }
    return { mayGoOn: Promise.resolve(true), leave }
  }

  #letIn(): void {
    for (const next of this.#waiting) {
      if (this.#working >= this.#maxWorking) return
      this.#waiting.delete(next)
      next()
    }
  }
}
