// Pairs of an address and a name that used the correct password in the last twelve hours. Such a pair has its own turn
// when its password is checked again, so guesses from the same address do not delay it. In memory only.

import { createHash } from 'node:crypto'

const rememberedMs = 12 * 3_600_000
/** Maximum pairs; the oldest is dropped first. */
const maxPairs = 4_096

export class RecentLogins {
  /** Wall clock of the last success, oldest first. */
  readonly #loggedInAtMs = new Map<string, number>()

  record(address: string, name: string, nowMs: number): void {
    const key = computeKey(address, name)
    this.#loggedInAtMs.delete(key)
    this.#loggedInAtMs.set(key, nowMs)
    if (this.#loggedInAtMs.size <= maxPairs) return
    const oldest = this.#loggedInAtMs.keys().next().value
    if (oldest !== undefined) this.#loggedInAtMs.delete(oldest)
  }

  has(address: string, name: string, nowMs: number): boolean {
    const atMs = this.#loggedInAtMs.get(computeKey(address, name))
    return atMs !== undefined && nowMs - atMs < rememberedMs
  }
}

/** A digest: names may be long. */
function computeKey(address: string, name: string): string {
  return createHash('sha256')
    .update(JSON.stringify([address, name]))
    .digest('base64')
}
