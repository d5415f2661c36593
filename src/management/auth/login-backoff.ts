// Delays the responses to failed logins, longer each time, by address and by the name at that address. Successful logins are never
// delayed, so a client cannot lock another one out.
//
//   address and name      3 failures: no delay; then 100 ms, 200 ms, 400 ms ... 10 s
//   address, any name     20 failures: no delay; then the same
//
// Simultaneous failures are delayed one after the other.

import { createHash } from 'node:crypto'

interface Failures {
  count: number
  lastAtMs: number
  /** When the response to the last one is due. */
  dueAtMs: number
}

const maxFreeByName = 3
const maxFreeByAddress = 20
const firstDelayMs = 100
const maxDelayMs = 10_000
/** Maximum delay, for any number of failures. */
const maxWaitMs = 30_000
const expireAfterMs = 900_000
/** Maximum addresses and names; beyond it the oldest is dropped. */
const maxRemembered = 8_192

export class LoginBackoff {
  readonly #nowMs: () => number
  readonly #failures: Map<string, Failures>

  /** `nowMs` never decreases. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
    this.#failures = new Map()
  }

  /** Records a failed login. Returns the delay of the response. */
  recordFailure(address: string, name: string): number {
    const network = toNetwork(address)
    return Math.max(
      this.#recordFailure(network, maxFreeByAddress),
      this.#recordFailure(computeKey(network, name), maxFreeByName),
    )
  }

  recordSuccess(address: string, name: string): void {
    this.#failures.delete(computeKey(toNetwork(address), name))
  }

  #recordFailure(key: string, free: number): number {
    const nowMs = this.#nowMs()
    const known = this.#failures.get(key)
    const isKnown = known !== undefined && nowMs - known.lastAtMs < expireAfterMs
    const { count, dueAtMs } = isKnown ? known : { count: 0, dueAtMs: nowMs }
    const stepMs = count < free ? 0 : Math.min(firstDelayMs * 2 ** (count - free), maxDelayMs)
    const nextDueAtMs = Math.min(Math.max(dueAtMs, nowMs) + stepMs, nowMs + maxWaitMs)
    this.#failures.delete(key)
    this.#failures.set(key, { count: count + 1, lastAtMs: nowMs, dueAtMs: nextDueAtMs })
    if (this.#failures.size > maxRemembered) this.#removeOldest()
    return nextDueAtMs - nowMs
  }

  #removeOldest(): void {
    const oldest = this.#failures.keys().next().value
    if (oldest !== undefined) this.#failures.delete(oldest)
  }
}

/** Names may be long, so digests are stored. */
function computeKey(network: string, name: string): string {
  return `${network} ${createHash('sha256').update(name).digest('base64')}`
}

const groupsOfNetwork = 4

/** A client with one IPv6 address can use all of its /64. */
function toNetwork(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [front = '', back] = address.split('::')
  const groups = front.split(':')
  if (back !== undefined) while (groups.length < groupsOfNetwork) groups.push('0')
  return groups.slice(0, groupsOfNetwork).join(':')
}
