// Counts by payload ID. IDs are used in order, so counts are in pages of adjacent IDs: four bytes each instead of a map
// entry.

const pageIds = 1_024

/** Counts how often each of many IDs was added. */
export class ReferenceCounts {
  readonly #pages = new Map<number, Uint32Array>()

  add(id: number): void {
    const number = Math.floor(id / pageIds)
    let page = this.#pages.get(number)
    if (page === undefined) {
      page = new Uint32Array(pageIds)
      this.#pages.set(number, page)
    }
    page[id % pageIds] = (page[id % pageIds] ?? 0) + 1
  }

  get(id: number): number {
    return this.#pages.get(Math.floor(id / pageIds))?.[id % pageIds] ?? 0
  }
}
