// Finds the publication time of a bridge's oldest queued message. The core knows messages in memory. If the oldest is
// on disk only, because the remote broker is unavailable or after a restart, its record is read once.

/**
 * Returns when the first message from this sequence number on was published, in milliseconds; undefined if there is
 * none, or if it cannot be read.
 */
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

  /** Returns the time of the message with this sequence number. Undefined while it is being read: a later call returns it. */
  findTimeMs(sequence: number): number | undefined {
    if (this.#known?.from === sequence) return this.#known.atMs
    if (!this.#isReading) this.#readFrom(sequence)
    return undefined
  }

  #readFrom(from: number): void {
    this.#isReading = true
    this.#read(this.#clientId, from).then((atMs) => {
      this.#isReading = false
      if (atMs !== undefined) this.#known = { from, atMs }
    }, this.#fail)
  }
}
