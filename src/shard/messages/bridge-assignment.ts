// What the main thread and a shard say to each other of bridges.

import type { BridgeFacts, BridgeStatus } from '../../bridges/index.ts'
import type { MqttBridgeConfig } from '../../config/index.ts'

/** A bridge as it is configured. Every shard is told of it, and one of them has it. */
export interface BridgeAssignment {
  readonly name: string
  readonly config: MqttBridgeConfig
  readonly facts: BridgeFacts
}

/** How a bridge is. */
export interface BridgeReport extends BridgeStatus {
  /** Messages in a second, lately. */
  readonly sentRate: number
  readonly receivedRate: number
}
