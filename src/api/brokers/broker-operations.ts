import type { GodwitConfig } from '../../config/index.ts'
import type { BrokerOperations } from './brokers.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { MetricOperations } from '../metrics/metrics.ts'
import type { ShardSupervisor } from '../../node/index.ts'

export interface BrokerFacts {
  readonly nodeName: string
  readonly version: string
  readonly counters: SharedArrayBuffer
  readonly config: GodwitConfig
  readonly supervisor: Pick<ShardSupervisor, 'size'>
  readonly metrics: MetricOperations
}

export function brokerOperations(facts: BrokerFacts): BrokerOperations {
  const { nodeName, version, counters, config, supervisor, metrics } = facts
  const startedAtMs = performance.now()
  return {
    describe: () => ({
      memory: metrics.read(),
      nodeName,
      version,
      uptimeMs: performance.now() - startedAtMs,
      nowMs: Date.now(),
      connections: readCounters(counters).connectionsOpen,
      securityProfile: config.node.securityProfile,
      shards: supervisor.size,
    }),
  }
}
