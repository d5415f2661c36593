// Events in the order of their time; those of one time in the order in which they were added. Times are ms.

export class SimulatedTime {
  #nowMs = 0
  #added = 0
  readonly #heap: { readonly atMs: number; readonly order: number; readonly run: () => void }[] = []

  get nowMs(): number {
    return this.#nowMs
  }

  after(delayMs: number, run: () => void): void {
    this.#push({ atMs: this.#nowMs + Math.max(0, delayMs), order: this.#added++, run })
  }

  /** Runs all events up to `untilMs`. */
  runUntil(untilMs: number): void {
    for (let next = this.#heap[0]; next !== undefined && next.atMs <= untilMs; next = this.#heap[0]) {
      this.#pop()
      this.#nowMs = next.atMs
      next.run()
    }
    this.#nowMs = untilMs
  }

  #isBefore(a: number, b: number): boolean {
    const [first, second] = [this.#heap[a], this.#heap[b]]
    if (first === undefined || second === undefined) return false
    return first.atMs < second.atMs || (first.atMs === second.atMs && first.order < second.order)
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]]
    if (first === undefined || second === undefined) return
    this.#heap[a] = second
    this.#heap[b] = first
  }

  #push(event: { atMs: number; order: number; run: () => void }): void {
    this.#heap.push(event)
    for (let at = this.#heap.length - 1; at > 0;) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(at, parent)) return
      this.#swap(at, parent)
      at = parent
    }
  }

  #pop(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
    this.#heap[0] = last
    for (let at = 0; ;) {
      const left = 2 * at + 1
      const child = this.#isBefore(left + 1, left) ? left + 1 : left
      if (!this.#isBefore(child, at)) return
      this.#swap(at, child)
      at = child
    }
  }
}
