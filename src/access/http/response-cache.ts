// Caches responses for a time, up to a number: the oldest is dropped first.
//
//   key -> response, expiry      in the order of insertion, which is that of expiry

export class ResponseCache<T> {
  readonly #entries = new Map<string, { readonly response: T; readonly endsAtMs: number }>()
  readonly #limit: number
  readonly #ttlMs: number

  constructor(limit: number, ttlMs: number) {
    this.#limit = limit
    this.#ttlMs = ttlMs
  }

  find(key: string, nowMs: number): T | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined || entry.endsAtMs <= nowMs) return undefined
    return entry.response
  }

  put(key: string, response: T, nowMs: number): void {
    this.#entries.delete(key)
    this.#entries.set(key, { response, endsAtMs: nowMs + this.#ttlMs })
    for (const [oldest, { endsAtMs }] of this.#entries) {
      if (this.#entries.size <= this.#limit && endsAtMs > nowMs) return
      this.#entries.delete(oldest)
    }
  }
}
