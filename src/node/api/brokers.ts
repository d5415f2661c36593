import type { GodwitConfig } from '../../config/index.ts'
import type { BrokerOperations } from '../../management/index.ts'
import { readCounters } from '../../telemetry/index.ts'
import type { ShardSupervisor } from '../shards/shard-supervisor.ts'

export interface BrokerFacts {
  readonly nodeName: string
  readonly version: string
  readonly counters: SharedArrayBuffer
  readonly config: GodwitConfig
  readonly crew: ShardSupervisor
}

export function brokerOperations({ nodeName, version, counters, config, crew }: BrokerFacts): BrokerOperations {
  const startedAtMs = performance.now()
  return {
    describe: () => ({
      nodeName,
      version,
      uptimeMs: performance.now() - startedAtMs,
      nowMs: Date.now(),
      connections: readCounters(counters).connectionsOpen,
      securityProfile: config.node.securityProfile,
      shards: crew.size,
    }),
  }
}
