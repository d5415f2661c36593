// How long each life has not written its row, by the monotonic clock of this node. A life whose row has not changed between two reads of this
// node has no lease when the lease is shorter than the time between them, whatever any clock of the database shows.

import type { Life } from '../peer-name.ts'
import type { MembershipRows } from './membership-rows.ts'

interface Observation {
  readonly beats: number
  /** Monotonic time of the first read that had this number of beats. */
  readonly sinceMs: number
}

export class LifeObservations {
  readonly #observations = new Map<Life, Observation>()

  /** `rows` were confirmed and received at `receivedMs`. */
  observe(rows: MembershipRows, receivedMs: number): void {
    const live = rows.nodes.filter(({ isEnded }) => !isEnded)
    const lives = new Set(live.map(({ life }) => life))
    for (const life of this.#observations.keys()) if (!lives.has(life)) this.#observations.delete(life)
    for (const { life, beats } of live) {
      if (this.#observations.get(life)?.beats !== beats) this.#observations.set(life, { beats, sinceMs: receivedMs })
    }
  }

  /** The confirmations were interrupted: observation starts again with the next rows. */
  clear(): void {
    this.#observations.clear()
  }

  /** Returns 0 for a life that was not observed. */
  measureSilenceMs(life: Life, nowMs: number): number {
    const observation = this.#observations.get(life)
    return observation === undefined ? 0 : nowMs - observation.sinceMs
  }
}
