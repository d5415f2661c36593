// Clients that come and go all the time cost everybody else: each coming is a check of a password, a CONNACK, perhaps a
// queue from the disk. Whoever goes too often in a while is kept out for a while.
//
// Only going counts of clients that were let in: a stranger who calls himself like somebody else keeps nobody out.

import { isDeepStrictEqual } from 'node:util'

/** flapping_detect.* of the configuration. */
export interface FlappingSettings {
  readonly isEnabled: boolean
  /** So many goings within the window are too many. */
  readonly maxCount: number
  readonly windowMs: number
  readonly banMs: number
}

export const defaultFlappingSettings: FlappingSettings = {
  isEnabled: false,
  maxCount: 15,
  windowMs: 60_000,
  banMs: 300_000,
}

/** Client ids that are watched; beyond them the one that is watched longest is forgotten. */
const maxCounts = 10_000

interface DisconnectCount {
  count: number
  readonly sinceMs: number
}

export class FlappingDetector {
  #settings: FlappingSettings
  readonly #counts = new Map<string, DisconnectCount>()

  constructor(settings: FlappingSettings) {
    this.#settings = settings
  }

  get isEnabled(): boolean {
    return this.#settings.isEnabled
  }

  /** Counts begin anew, unless it is the same as before. */
  changeSettings(settings: FlappingSettings): void {
    if (isDeepStrictEqual(settings, this.#settings)) return
    this.#settings = settings
    this.#counts.clear()
  }

  /** A client has gone. Until when it is to be kept out; undefined: it may come again. */
  recordDisconnect(clientId: string, nowMs: number): number | undefined {
    const { isEnabled, maxCount, windowMs, banMs } = this.#settings
    if (!isEnabled) return undefined
    const known = this.#counts.get(clientId)
    const watch = known !== undefined && nowMs - known.sinceMs < windowMs ? known : this.#startCount(clientId, nowMs)
    watch.count++
    if (watch.count < maxCount) return undefined
    this.#counts.delete(clientId)
    return nowMs + banMs
  }

  #startCount(clientId: string, nowMs: number): DisconnectCount {
    const watch: DisconnectCount = { count: 0, sinceMs: nowMs }
    this.#counts.delete(clientId)
    this.#counts.set(clientId, watch)
    // A map keeps the order of putting: the first has been watched longest.
    for (const oldest of this.#counts.keys()) {
      if (this.#counts.size <= maxCounts) break
      this.#counts.delete(oldest)
    }
    return watch
  }
}
