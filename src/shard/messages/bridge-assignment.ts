// Messages between the main thread and a shard about bridges.

import type { BridgeFacts, BridgeStatus } from '../../bridges/index.ts'
import type { MqttBridgeConfig } from '../../config/index.ts'

/** A configured bridge. Every shard gets it, and one runs it. */
export interface BridgeAssignment {
  readonly name: string
  readonly config: MqttBridgeConfig
  readonly facts: BridgeFacts
}

/** State of a bridge. */
export interface BridgeReport extends BridgeStatus {
  /** Recent messages per second. */
  readonly sentRate: number
  readonly receivedRate: number
}
