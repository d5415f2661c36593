// Alarms about what stalls in the cluster: raised when it lasts, ended when it is over.

import type { Stall } from '../../cluster/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'

type AlarmedStall = Pick<Stall, 'kind' | 'subject' | 'reason' | 'remedy'>

/** A fail-over and a start cause stalls that end by themselves. */
const minChecks = 3

export class StallAlarms {
  readonly #alarms: Pick<Alarms, 'raise' | 'end'>
  /** By kind and subject: the number of checks in a row that found it. */
  readonly #found = new Map<string, { readonly stall: AlarmedStall; checks: number }>()

  constructor(alarms: Pick<Alarms, 'raise' | 'end'>) {
    this.#alarms = alarms
  }

  /** Call it about once per second. */
  check(stalls: readonly AlarmedStall[]): void {
    const current = new Set<string>()
    for (const stall of stalls) {
      const key = `${stall.kind} ${stall.subject}`
      current.add(key)
      const checks = (this.#found.get(key)?.checks ?? 0) + 1
      this.#found.set(key, { stall, checks })
      if (checks === minChecks)
        this.#alarms.raise(`cluster-stalled:${stall.subject}`, `${stall.reason}; ${stall.remedy}`, stall.kind)
    }
    for (const [key, { stall, checks }] of this.#found) {
      if (current.has(key)) continue
      this.#found.delete(key)
      if (checks >= minChecks) this.#alarms.end(`cluster-stalled:${stall.subject}`, 'it works again', stall.kind)
    }
  }
}
