// Since when the oldest message of a bridge waits. What is in memory the core knows; what waits on disk alone, while the
// remote broker is away or since a restart, is looked up there, once for each message that becomes the oldest.

/** When the first message from this sequence on was published, in milliseconds; undefined: there is none, or it cannot be read. */
export type ReadOldest = (clientId: string, fromSequence: number) => Promise<number | undefined>

export class OldestQueued {
  readonly #clientId: string
  readonly #read: ReadOldest
  #known: { readonly from: number; readonly atMs: number } | undefined
  readonly #fail: (error: unknown) => void
  #isReading = false

  constructor(clientId: string, read: ReadOldest, fail: (error: unknown) => void) {
    this.#clientId = clientId
    this.#read = read
    this.#fail = fail
  }

  /** Undefined: it is being looked up, and known the next time. */
  from(sequence: number): number | undefined {
    if (this.#known?.from === sequence) return this.#known.atMs
    if (!this.#isReading) this.#look(sequence)
    return undefined
  }

  #look(from: number): void {
    this.#isReading = true
    this.#read(this.#clientId, from).then((atMs) => {
      this.#isReading = false
      if (atMs !== undefined) this.#known = { from, atMs }
    }, this.#fail)
  }
}
