// Entries of an action that wait to be sent, in their order. Entries with the same key are sent one after the other: while one of
// them is with the service, the others wait, and entries with other keys are sent.

export interface WaitingEntry {
  /** Position in the order in which the action queue delivered the entries. */
  readonly sequence: number
  /** Undefined: the entry waits for no other entry. */
  readonly key: string | undefined
}

export class WaitingEntries<Entry extends WaitingEntry> {
  /** Sorted by sequence. */
  #entries: Entry[] = []
  readonly #waitingByKey = new Map<string, number>()
  /** Keys of entries that are with the service. */
  readonly #busy = new Set<string>()
  /** Keys that have waiting entries and are not busy. */
  #readyKeys = 0
  #withoutKey = 0

  get size(): number {
    return this.#entries.length
  }

  /** Sorted by sequence. */
  get all(): readonly Entry[] {
    return this.#entries
  }

  /** Whether `take` would return an entry. */
  get hasReady(): boolean {
    return this.#withoutKey > 0 || this.#readyKeys > 0
  }

  /** Adds an entry after all others. */
  add(entry: Entry): void {
    this.#entries.push(entry)
    this.#count(entry)
  }

  /** Adds entries that were taken before, at their earlier positions. */
  putBack(entries: readonly Entry[]): void {
    if (entries.length === 0) return
    for (const entry of entries) this.#count(entry)
    this.#entries = [...entries, ...this.#entries].sort((a, b) => a.sequence - b.sequence)
  }

  /** Takes at most `max` entries and makes their keys busy. `onePerKey`: at most one of each key, because the service does not keep the order within a batch. */
  take(max: number, onePerKey: boolean): Entry[] {
    const taken: Entry[] = []
    const keys = new Set<string>()
    let end = 0
    const left: Entry[] = []
    for (; end < this.#entries.length && taken.length < max; end++) {
      const entry = this.#entries[end]
      const { key } = entry
      const canSend = key === undefined || (keys.has(key) ? !onePerKey : !this.#busy.has(key))
      if (!canSend) {
        left.push(entry)
        continue
      }
      if (key !== undefined) keys.add(key)
      taken.push(entry)
      // No later entry can be taken, so the search ends here.
      if (onePerKey && this.#withoutKey === 0 && keys.size === this.#readyKeys) {
        end++
        break
      }
    }
    this.#entries.splice(0, end, ...left)
    for (const { key } of taken) this.#uncount(key)
    for (const key of keys) {
      this.#busy.add(key)
      if (this.#waitingByKey.has(key)) this.#readyKeys--
    }
    return taken
  }

  /** Removes waiting entries. */
  remove(entries: ReadonlySet<Entry>): void {
    this.#entries = this.#entries.filter((entry) => !entries.has(entry))
    for (const { key } of entries) this.#uncount(key)
  }

  /** The service has processed the batch: its keys are no longer busy. */
  release(batch: readonly Entry[]): void {
    for (const { key } of batch) {
      if (key !== undefined && this.#busy.delete(key) && this.#waitingByKey.has(key)) this.#readyKeys++
    }
  }

  clear(): void {
    this.#entries = []
    this.#waitingByKey.clear()
    this.#busy.clear()
    this.#readyKeys = this.#withoutKey = 0
  }

  #count({ key }: Entry): void {
    if (key === undefined) {
      this.#withoutKey++
      return
    }
    const waiting = this.#waitingByKey.get(key) ?? 0
    this.#waitingByKey.set(key, waiting + 1)
    if (waiting === 0 && !this.#busy.has(key)) this.#readyKeys++
  }

  #uncount(key: string | undefined): void {
    if (key === undefined) {
      this.#withoutKey--
      return
    }
    const waiting = (this.#waitingByKey.get(key) ?? 0) - 1
    if (waiting > 0) this.#waitingByKey.set(key, waiting)
    else {
      this.#waitingByKey.delete(key)
      if (!this.#busy.has(key)) this.#readyKeys--
    }
  }
}
