// Reference counts of stored payloads. Payload IDs grow by one and old ones are released first, so the counts are in pages:
//
//   pages:  (deleted) | (deleted) | [ 0 2 1 0 ... ] | [ 3 1 1 ... ] |
//                                   ids 8192..12287   ids 12288..16383
//
// After a restart the counts of older payloads are unknown until a background scan has read them. Until then releases count
// below zero, and the result of the scan is added.

const pageSize = 4_096

interface Page {
  readonly counts: Int32Array
  /** Number of IDs in this page whose count is not zero. */
  live: number
}

export class PayloadRefcounts {
  readonly #pages = new Map<number, Page>()
  /** Payloads found by the scan. Those with count zero at its end have no references. */
  #swept: number[] = []

  get(payloadId: number): number {
    const page = this.#pages.get(Math.floor(payloadId / pageSize))
    return page === undefined ? 0 : page.counts[payloadId % pageSize]
  }

  /** Adds `change` and returns the new count. */
  add(payloadId: number, change: number): number {
    const number = Math.floor(payloadId / pageSize)
    let page = this.#pages.get(number)
    if (page === undefined) {
      page = { counts: new Int32Array(pageSize), live: 0 }
      this.#pages.set(number, page)
    }
    const index = payloadId % pageSize
    const before = page.counts[index]
    const after = before + change
    page.counts[index] = after
    if (before === 0 && after !== 0) page.live++
    if (before !== 0 && after === 0 && --page.live === 0) this.#pages.delete(number)
    return after
  }

  /** Adds the result of the scan: the number of records that referred to the payload at start. */
  addSwept(payloadId: number, references: number): void {
    this.#swept.push(payloadId)
    this.add(payloadId, references)
  }

  /** Called at the end of the scan: returns the payloads without references. */
  takeUnreferenced(): number[] {
    const unreferenced = this.#swept.filter((payloadId) => this.get(payloadId) === 0)
    this.#swept = []
    return unreferenced
  }
}
