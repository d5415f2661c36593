// Stored QoS 0 messages for a sleeping client. The broker sends them once, so the gateway stores them across restarts. Each has a
// number.

export interface StoredMessage {
  readonly topic: string
  readonly retain: boolean
  /** base64 */
  readonly payload: string
}

interface Waiting {
  readonly topic: string
  readonly retain: boolean
  readonly payload: Buffer
}

export class StoredMessages {
  readonly #store: (number: number, message: StoredMessage | undefined) => void
  /** Number of each stored message; undefined: no message was stored yet. */
  #numbers: Map<Waiting, number> | undefined
  #next = 1

  /** `store`: undefined deletes the message. */
  constructor(store: (number: number, message: StoredMessage | undefined) => void) {
    this.#store = store
  }

  add(waiting: Waiting): void {
    this.#numbers ??= new Map()
    if (this.#numbers.has(waiting)) return
    const { topic, retain, payload } = waiting
    this.#numbers.set(waiting, this.#next)
    this.#store(this.#next++, { topic, retain, payload: payload.toString('base64') })
  }

  /** Adds a message that was stored before the restart. */
  addRestored(number: number, waiting: Waiting): void {
    this.#numbers ??= new Map()
    this.#numbers.set(waiting, number)
    this.#next = Math.max(this.#next, number + 1)
  }

  /** Deletes a message that was sent or dropped, if it was stored. */
  delete(waiting: Waiting): void {
    const number = this.#numbers?.get(waiting)
    if (number === undefined) return
    this.#numbers?.delete(waiting)
    this.#store(number, undefined)
  }

  deleteAll(): void {
    for (const waiting of this.#numbers?.keys() ?? []) this.delete(waiting)
  }
}
