// Counts by body id. Ids are given out one after the other, so counts stand in pages of neighbours: four bytes each and
// not a map entry each.

const pageIds = 1_024

/** How often each of many ids was added. */
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
