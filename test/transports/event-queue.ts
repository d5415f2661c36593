/** A queue of events, so that a test waits for an event and not for a time. */
export class EventQueue<T> {
  readonly #items: T[] = []
  readonly #waiting: ((item: T) => void)[] = []

  add(item: T): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#items.push(item)
    else waiting(item)
  }

  next(): Promise<T> {
    const item = this.#items.shift()
    return item === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(item)
  }

  /** Number of events that no call of `next` has taken. */
  get left(): number {
    return this.#items.length
  }
}
