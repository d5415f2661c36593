/** General state of the node, for the API. */
import type { NodeReading } from './metrics.ts'

export interface BrokerOperations {
  /** Current state. */
  describe(): BrokerDescription
}

export interface BrokerDescription {
  readonly nodeName: string
  readonly version: string
  readonly uptimeMs: number
  /** Wall clock. */
  readonly nowMs: number
  readonly connections: number
  readonly securityProfile: 'hardened' | 'legacy'
  readonly shards: number
  readonly memory: Pick<NodeReading, 'memoryBytes' | 'memoryLimitBytes' | 'memoryLevel'>
}
