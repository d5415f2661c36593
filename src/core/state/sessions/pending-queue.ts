// What waits in memory, first in, first out: deliveries for room in the window or for their client, questions for their turn.
//
//   items:  [ -- | -- | C | D | E ]
//                       ^ head        what is before the head is given up, and cut off now and then

const cutAt = 256

export class PendingQueue<Thing extends object> {
  #items: (Thing | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(thing: Thing): void {
    this.#items.push(thing)
  }

  peek(): Thing | undefined {
    return this.#items[this.#head]
  }

  shift(): Thing | undefined {
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
  all(): Thing[] {
    return this.#items.slice(this.#head).filter((thing) => thing !== undefined)
  }

  /** All of it, in order; the queue is empty afterwards. */
  takeAll(): Thing[] {
    const all = this.all()
    this.#items = []
    this.#head = 0
    return all
  }
}
