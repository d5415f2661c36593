// How many queued records refer to each stored body. Body ids grow by one, and old ones go first, so counts stand in
// pages that come and go:
//
//   pages:  (gone) | (gone) | [ 0 2 1 0 ... ] | [ 3 1 1 ... ] |
//                             ids 8192..12287    ids 12288..16383
//
// After a restart the counts of older bodies are not known until a sweep has read them. Until then a release counts
// below zero, and the sweep's finding adds up with it.

const pageSize = 4_096

interface Page {
  readonly counts: Int32Array
  /** Ids of this page whose count is not zero. */
  live: number
}

export class PayloadRefcounts {
  readonly #pages = new Map<number, Page>()
  /** Bodies that the sweep has seen so far: who of them is at zero in the end is nobody's. */
  #swept: number[] = []

  get(bodyId: number): number {
    const page = this.#pages.get(Math.floor(bodyId / pageSize))
    return page === undefined ? 0 : page.counts[bodyId % pageSize]
  }

  /** Adds `change` and gives the new count. */
  add(bodyId: number, change: number): number {
    const number = Math.floor(bodyId / pageSize)
    let page = this.#pages.get(number)
    if (page === undefined) {
      page = { counts: new Int32Array(pageSize), live: 0 }
      this.#pages.set(number, page)
    }
    const index = bodyId % pageSize
    const before = page.counts[index]
    const after = before + change
    page.counts[index] = after
    if (before === 0 && after !== 0) page.live++
    if (before !== 0 && after === 0 && --page.live === 0) this.#pages.delete(number)
    return after
  }

  /** What the sweep found: so many records referred to the body when the broker started. */
  addSwept(bodyId: number, references: number): void {
    this.#swept.push(bodyId)
    this.add(bodyId, references)
  }

  /** At the end of the sweep: the bodies that nobody refers to. */
  takeUnreferenced(): number[] {
    const unreferenced = this.#swept.filter((bodyId) => this.get(bodyId) === 0)
    this.#swept = []
    return unreferenced
  }
}
