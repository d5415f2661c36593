// Pairs of an address and a name that used the correct password in the last twelve hours. Such a pair has its own turn
// when its password is checked again, so guesses from the same address do not delay it. In memory only.

import { createHash } from 'node:crypto'

const rememberedMs = 12 * 3_600_000
/** Maximum pairs; the oldest is dropped first. */
const maxPairs = 4_096

export class RecentLogins {
  /** Wall clock of the last success, oldest first. */
  readonly #signedInAtMs = new Map<string, number>()

  note(address: string, name: string, nowMs: number): void {
    const key = keyOf(address, name)
    this.#signedInAtMs.delete(key)
    this.#signedInAtMs.set(key, nowMs)
    if (this.#signedInAtMs.size <= maxPairs) return
    const oldest = this.#signedInAtMs.keys().next().value
    if (oldest !== undefined) this.#signedInAtMs.delete(oldest)
  }

  has(address: string, name: string, nowMs: number): boolean {
    const atMs = this.#signedInAtMs.get(keyOf(address, name))
    return atMs !== undefined && nowMs - atMs < rememberedMs
  }
}

/** A digest: names may be long. */
function keyOf(address: string, name: string): string {
  return createHash('sha256')
    .update(JSON.stringify([address, name]))
    .digest('base64')
}
