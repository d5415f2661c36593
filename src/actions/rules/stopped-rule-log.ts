// Log lines about rules that were stopped: at most two per second and rule, however many messages stop it.

import type { Log, LogFields } from '../../telemetry/index.ts'

export class StoppedRuleLog {
  readonly #log: Log
  /** By rule, since the last second: the fields of the last stop, and the number of stops without a line. */
  readonly #recent = new Map<string, { fields: LogFields; unlogged: number }>()

  constructor(log: Log) {
    this.#log = log
  }

  /** Writes a line, unless the rule has one for this second already: then the stop is counted for `logCounted`. */
  record(rule: string, fields: LogFields): void {
    const known = this.#recent.get(rule)
    if (known === undefined) {
      this.#recent.set(rule, { fields, unlogged: 0 })
      this.#log.warn('rule stopped', { ...fields, count: 1 })
      return
    }
    known.fields = fields
    known.unlogged++
  }

  /** Called once per second: writes a line for the stops that were only counted, with the fields of the last one. */
  logCounted(): void {
    for (const { fields, unlogged } of this.#recent.values())
      if (unlogged > 0) this.#log.warn('rule stopped', { ...fields, count: unlogged })
    this.#recent.clear()
  }
}
