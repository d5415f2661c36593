// A first-in, first-out queue in memory: deliveries that wait for the window or the client, requests that wait their turn.
//
//   items:  [ -- | -- | C | D | E ]
//                       ^ head        items before the head are undefined, and removed from time to time

const cutAt = 256

export class PendingQueue<Item extends object> {
  #items: (Item | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#items.length - this.#head
  }

  push(item: Item): void {
    this.#items.push(item)
  }

  peek(): Item | undefined {
    return this.#items[this.#head]
  }

  shift(): Item | undefined {
    if (this.length === 0) return undefined
    const first = this.#items[this.#head]
    this.#items[this.#head++] = undefined
    if (this.#head >= cutAt && this.#head * 2 >= this.#items.length) {
      this.#items = this.#items.slice(this.#head)
      this.#head = 0
    }
    return first
  }

  /** Returns all items in order. */
  listItems(): Item[] {
    return this.#items.slice(this.#head).filter((item) => item !== undefined)
  }

  /** Returns all items in order and empties the queue. */
  takeAll(): Item[] {
    const all = this.listItems()
    this.#items = []
    this.#head = 0
    return all
  }
}
