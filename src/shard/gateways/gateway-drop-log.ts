// Logs what a gateway dropped: the first of each reason within a second, and then the number of further ones once a minute. The log of a packet with
// its address would let unauthenticated clients fill the log.

import type { GatewayCounters } from '../../gateways/index.ts'
import type { Log } from '../../telemetry/index.ts'

export const dropCheckMs = 1_000
const intervalMs = 60_000

export class DropLog {
  readonly #log: Pick<Log, 'warn'>
  readonly #listener: Readonly<Record<string, string>>
  readonly #reported = new Map<string, { readonly count: number; readonly atMs: number }>()

  constructor(log: Pick<Log, 'warn'>, listener: Readonly<Record<string, string>>) {
    this.#log = log
    this.#listener = listener
  }

  check({ dropped }: Pick<GatewayCounters, 'dropped'>, nowMs: number): void {
    for (const [reason, count] of Object.entries(dropped)) {
      const { count: before, atMs } = this.#reported.get(reason) ?? { count: 0, atMs: -Infinity }
      if (count === before || nowMs - atMs < intervalMs) continue
      this.#reported.set(reason, { count, atMs: nowMs })
      this.#log.warn('gateway packets dropped', { ...this.#listener, reason, dropped: count - before })
    }
  }
}
