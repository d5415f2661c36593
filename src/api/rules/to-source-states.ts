// State of sources on the shards: those of MQTT are bridges, the others have their own reports.

import type { SourceReport } from '../../actions/index.ts'
import { parseSourceBridgeName } from '../../core/index.ts'
import type { BridgeReport } from '../../shard/index.ts'
import type { ActionMetrics } from './rule-reports.ts'

export interface SourceMetrics extends Pick<ActionMetrics, 'status' | 'statusReason' | 'lastError'> {
  readonly received: number
  /** Messages that the broker cannot accept. */
  readonly dropped: number
}

/** Counters restart after a reset, and with the shard. */
export class SourceCounters {
  readonly #zero = new Map<string, { readonly received: number; readonly dropped: number }>()

  reset(source: string, now: SourceMetrics | undefined): void {
    const { received = 0, dropped = 0 } = now ?? {}
    const { received: before = 0, dropped: droppedBefore = 0 } = this.#zero.get(source) ?? {}
    this.#zero.set(source, { received: received + before, dropped: dropped + droppedBefore })
  }

  countSince(source: string, metrics: SourceMetrics): SourceMetrics {
    const zero = this.#zero.get(source)
    if (zero === undefined) return metrics
    if (zero.received > metrics.received || zero.dropped > metrics.dropped) {
      this.#zero.delete(source)
      return metrics
    }
    return { ...metrics, received: metrics.received - zero.received, dropped: metrics.dropped - zero.dropped }
  }
}

/** By `type:name`. A source that no shard runs is missing. */
export function toSourceStates(
  bridges: Iterable<BridgeReport>,
  reports: readonly SourceReport[],
): ReadonlyMap<string, SourceMetrics> {
  const states = new Map<string, SourceMetrics>()
  for (const { id, state, stateReason, received, dropped, lastError } of reports)
    states.set(id, { status: state, statusReason: stateReason, received, dropped, lastError })
  for (const report of bridges) {
    const source = parseSourceBridgeName(report.name)
    if (source !== undefined) states.set(source, toBridgeMetrics(report))
  }
  return states
}

function toBridgeMetrics({ state, lastError = '', counters }: BridgeReport): SourceMetrics {
  const { received, dropped } = counters
  const sum = Object.values(dropped).reduce((total, count) => total + count, 0)
  return { ...toStatus(state, lastError), received, dropped: sum, lastError }
}

function toStatus(state: BridgeReport['state'], lastError: string): Pick<SourceMetrics, 'status' | 'statusReason'> {
  if (state === 'connected' || state === 'draining') return { status: 'connected', statusReason: '' }
  if (state === 'off') return { status: 'disconnected', statusReason: 'the source or its connector is disabled' }
  if (state === 'waiting') return { status: 'disconnected', statusReason: lastError }
  return { status: 'connecting', statusReason: lastError }
}
