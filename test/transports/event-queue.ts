/** A queue of what happened, so that a test waits for the fact and not for a time. */
export class Happenings<T> {
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

  /** What has happened and has not been asked for. */
  get left(): number {
    return this.#items.length
  }
}
