import type { BrokerOperations } from '../../management/index.ts'
import { readCounters } from '../../telemetry/index.ts'

export interface BrokerFacts {
  readonly nodeName: string
  readonly version: string
  readonly counters: SharedArrayBuffer
}

export function brokerOperations({ nodeName, version, counters }: BrokerFacts): BrokerOperations {
  const startedAtMs = performance.now()
  return {
    describe: () => ({
      nodeName,
      version,
      uptimeMs: performance.now() - startedAtMs,
      nowMs: Date.now(),
      connections: readCounters(counters).connectionsOpen,
    }),
  }
}
