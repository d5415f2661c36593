// QoS 0 messages for a sleeping client. The broker has sent them, so the gateway stores them across restarts, each with its own
// number.

export interface KeptMessage {
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

export class KeptMessages {
  readonly #store: (number: number, message: KeptMessage | undefined) => void
  /** Undefined: none was stored yet. */
  #numbers: Map<Waiting, number> | undefined
  #next = 1

  /** `store`: undefined deletes the message. */
  constructor(store: (number: number, message: KeptMessage | undefined) => void) {
    this.#store = store
  }

  keep(waiting: Waiting): void {
    this.#numbers ??= new Map()
    if (this.#numbers.has(waiting)) return
    const { topic, retain, payload } = waiting
    this.#numbers.set(waiting, this.#next)
    this.#store(this.#next++, { topic, retain, payload: payload.toString('base64') })
  }

  /** Called for a message that was stored before the restart. */
  noteRestored(number: number, waiting: Waiting): void {
    this.#numbers ??= new Map()
    this.#numbers.set(waiting, number)
    this.#next = Math.max(this.#next, number + 1)
  }

  /** Called when the message was sent or dropped. */
  forget(waiting: Waiting): void {
    const number = this.#numbers?.get(waiting)
    if (number === undefined) return
    this.#numbers?.delete(waiting)
    this.#store(number, undefined)
  }

  forgetAll(): void {
    for (const waiting of this.#numbers?.keys() ?? []) this.forget(waiting)
  }
}
