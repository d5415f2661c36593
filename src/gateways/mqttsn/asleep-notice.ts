// A client that the gateway takes for asleep and that asks for something is not asleep: a late copy of its DISCONNECT came after its
// CONNECT. It is told to connect again, and its session waits for it.

import type { SnRequest } from './packets.ts'

const minIntervalMs = 5_000
/** Only a client that is active or awake sends them, and waits for the answer. */
const requests: ReadonlySet<SnRequest['type']> = new Set([
  'register',
  'publish',
  'pubrel',
  'subscribe',
  'unsubscribe',
  'willtopicupd',
  'willmsgupd',
] as const)

export class AsleepNotice {
  #sentAtMs = -Infinity

  /** Whether DISCONNECT answers the packet of a sleeping client. */
  isDueFor({ type }: SnRequest, nowMs: number): boolean {
    if (!requests.has(type) || nowMs - this.#sentAtMs < minIntervalMs) return false
    this.#sentAtMs = nowMs
    return true
  }
}
