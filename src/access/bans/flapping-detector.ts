// Bans clients temporarily that reconnect too often, because each connection costs a password check, a CONNACK and
// possibly a read of a queue.
//
// Only disconnections of authenticated clients count, so an unauthenticated client cannot cause a ban of another's
// client ID.

import { isDeepStrictEqual } from 'node:util'
import type { FlappingConfig } from '../../config/index.ts'

/** Maximum client IDs that are counted; beyond it the oldest is dropped. */
const maxCounts = 10_000

interface DisconnectCount {
  count: number
  readonly sinceMs: number
}

export class FlappingDetector {
  #settings: FlappingConfig
  readonly #counts = new Map<string, DisconnectCount>()

  constructor(settings: FlappingConfig) {
    this.#settings = settings
  }

  get isEnabled(): boolean {
    return this.#settings.isEnabled
  }

  /** Counters restart, unless the settings are unchanged. */
  changeSettings(settings: FlappingConfig): void {
    if (isDeepStrictEqual(settings, this.#settings)) return
    this.#settings = settings
    this.#counts.clear()
  }

  /** A client disconnected. Returns the end of its ban; undefined: none. */
  recordDisconnect(clientId: string, nowMs: number): number | undefined {
    const { isEnabled, maxCount, windowMs, banMs } = this.#settings
    if (!isEnabled) return undefined
    const known = this.#counts.get(clientId)
    const entry = known !== undefined && nowMs - known.sinceMs < windowMs ? known : this.#startCount(clientId, nowMs)
    entry.count++
    if (entry.count < maxCount) return undefined
    this.#counts.delete(clientId)
    return nowMs + banMs
  }

  #startCount(clientId: string, nowMs: number): DisconnectCount {
    const watch: DisconnectCount = { count: 0, sinceMs: nowMs }
    this.#counts.delete(clientId)
    this.#counts.set(clientId, watch)
    // A map keeps the order of insertion: the first is the oldest.
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size <= maxCounts) break
      this.#counts.delete(oldest)
    }
    return watch
  }
}
