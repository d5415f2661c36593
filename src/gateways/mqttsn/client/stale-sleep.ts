// A late duplicate of DISCONNECT can arrive after CONNECT. Then the client is active, but its state in the gateway is asleep. The
// gateway responds to its next request with DISCONNECT, so that the client connects again. The session continues.

import type { SnRequest } from '../codec/sn-packets.ts'

const minIntervalMs = 5_000
/** Packets that a sleeping client does not send, and to which a client expects a response. */
const requests: ReadonlySet<SnRequest['type']> = new Set([
  'register',
  'publish',
  'pubrel',
  'subscribe',
  'unsubscribe',
  'willtopicupd',
  'willmsgupd',
] as const)

export class StaleSleepDetector {
  #sentAtMs = -Infinity

  /** Returns whether to respond with DISCONNECT to this packet of a sleeping client: at most once in `minIntervalMs`. */
  shouldDisconnect({ type }: SnRequest, nowMs: number): boolean {
    if (!requests.has(type) || nowMs - this.#sentAtMs < minIntervalMs) return false
    this.#sentAtMs = nowMs
    return true
  }
}
