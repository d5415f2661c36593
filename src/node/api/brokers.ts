import type { GodwitConfig } from '../../config/index.ts'
import type { BrokerOperations } from '../../management/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { Monitoring } from './monitoring.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

export interface BrokerFacts {
  readonly nodeName: string
  readonly version: string
  readonly counters: SharedArrayBuffer
  readonly config: GodwitConfig
  readonly supervisor: Pick<ShardSupervisor, 'size'>
  readonly observation: Monitoring
}

export function brokerOperations(facts: BrokerFacts): BrokerOperations {
  const { nodeName, version, counters, config, supervisor, observation } = facts
  const { metrics } = observation.operations
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
