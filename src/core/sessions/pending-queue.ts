// Deliveries that wait in memory for room in the window or for their client: first in, first out.
//
//   items:  [ -- | -- | C | D | E ]
//                       ^ head        what is before the head is given up, and cut off now and then

const cutAt = 256

export class PendingQueue<D extends object> {
  #items: (D | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(delivery: D): void {
    this.#items.push(delivery)
  }

  peek(): D | undefined {
    return this.#items[this.#head]
  }

  shift(): D | undefined {
    if (this.length === 0) return undefined
    const first = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head >= cutAt && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return first
  }

  /** In order. */
  all(): D[] {
    return this.#items.slice(this.#head).filter((delivery) => delivery !== undefined)
  }

  /** All of it, in order; the queue is empty afterwards. */
  takeAll(): D[] {
    const all = this.all()
    this.#items = []
    this.#head = 0
    return all
  }
}
