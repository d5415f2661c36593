// How much an address that has not shown itself may make a gateway answer [F8 of the gateway contract]: 10 answers per
// second for each address, 1,000 for all together. A token bucket each; the table of addresses is bounded.

const perAddressPerSecond = 10
const totalPerSecond = 1_000
const maxAddresses = 4_096

interface Bucket {
  tokens: number
  atMs: number
}

export class AnswerLimits {
  readonly #addresses = new Map<string, Bucket>()
  readonly #total: Bucket = { tokens: totalPerSecond, atMs: 0 }

  /** Takes one answer for this address. False: nothing is to be answered. */
  take(address: string, nowMs: number): boolean {
    let bucket = this.#addresses.get(address)
    if (bucket === undefined) {
      if (this.#addresses.size >= maxAddresses) this.#forgetOldest()
      bucket = { tokens: perAddressPerSecond, atMs: nowMs }
    } else this.#addresses.delete(address)
    // Behind all others: the first is the one that has been quiet longest.
    this.#addresses.set(address, bucket)
    return takeToken(bucket, perAddressPerSecond, nowMs) && takeToken(this.#total, totalPerSecond, nowMs)
  }

  #forgetOldest(): void {
    const [oldest] = this.#addresses.keys()
    if (oldest !== undefined) this.#addresses.delete(oldest)
  }
}

function takeToken(bucket: Bucket, perSecond: number, nowMs: number): boolean {
  const elapsedMs = Math.max(0, nowMs - bucket.atMs)
  bucket.tokens = Math.min(perSecond, bucket.tokens + (elapsedMs * perSecond) / 1_000)
  bucket.atMs = nowMs
  if (bucket.tokens < 1) return false
  bucket.tokens--
  return true
}

/** Addresses of this machine are free of limits for each address. */
export function isLoopback(address: string): boolean {
  return address.startsWith('127.') || address === '::1'
}
