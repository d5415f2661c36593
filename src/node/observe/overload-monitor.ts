// Detects a shard whose event loop is late for several seconds: it is overloaded, and all of its clients wait.

import { type Histograms, listHistograms } from '../../telemetry/index.ts'
import type { Alarms } from './raised-alarms.ts'

/** This delay, in this number of consecutive checks; one check per second. */
const lateSeconds = 0.5
const checksUntilRaised = 10
const checksUntilCleared = 10

/** A row of each shard. */
export type LoopDelays = readonly Pick<Histograms, 'loopDelay'>[]

interface Seen {
  late: number
  inTime: number
  isRaised: boolean
}

export class OverloadMonitor {
  readonly #rows: LoopDelays
  readonly #alarms: Alarms
  readonly #seen: Seen[]

  constructor(rows: SharedArrayBuffer | LoopDelays, alarms: Alarms) {
    this.#rows = rows instanceof SharedArrayBuffer ? listHistograms(rows) : rows
    this.#alarms = alarms
    this.#seen = this.#rows.map(() => ({ late: 0, inTime: 0, isRaised: false }))
  }

  /** Once a second. */
  check(): void {
    for (const [shard, { loopDelay }] of this.#rows.entries()) this.#checkShard(shard, loopDelay.meanSeconds)
  }

  #checkShard(shard: number, seconds: number): void {
    const seen = this.#seen[shard]
    const isLate = seconds > lateSeconds
    seen.late = isLate ? seen.late + 1 : 0
    seen.inTime = isLate ? 0 : seen.inTime + 1
    const source = `shard ${shard}`
    if (!seen.isRaised && seen.late >= checksUntilRaised) {
      seen.isRaised = true
      const text = `${source} is overloaded: its turns take ${Math.round(seconds * 1_000)} ms; give the node more cores or fewer clients`
      this.#alarms.raise('overload', text, source)
    } else if (seen.isRaised && seen.inTime >= checksUntilCleared) {
      seen.isRaised = false
      this.#alarms.end('overload', `${source} keeps up again`, source)
    }
  }
}
