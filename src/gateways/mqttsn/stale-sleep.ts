// If a client that the gateway believes asleep sends a request, a late duplicate of its DISCONNECT arrived after its CONNECT. The
// gateway responds with DISCONNECT, so that the client connects again; its session is kept.

import type { SnRequest } from './codec/packets.ts'

const minIntervalMs = 5_000
/** Packets that only an active or awake client sends, and to which it expects a response. */
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

  /** Returns whether to respond to this packet of a sleeping client with DISCONNECT. At most one is sent per interval. */
  takeDue({ type }: SnRequest, nowMs: number): boolean {
    if (!requests.has(type) || nowMs - this.#sentAtMs < minIntervalMs) return false
    this.#sentAtMs = nowMs
    return true
  }
}
