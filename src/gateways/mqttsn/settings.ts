import type { ClientInfoOverride } from '../client-info.ts'
import type { PredefinedTopics } from './topic-ids.ts'

/** Of one gateway, as the configuration has them: `gateway.mqttsn`. */
export interface MqttSnSettings {
  readonly gatewayId: number
  readonly allowsQosMinusOne: boolean
  /** Registers the topics of a client again when it comes back to its session; else with the next message. */
  readonly resumesTopics: boolean
  readonly predefined: PredefinedTopics
  readonly retryIntervalMs: number
  readonly maxRetries: number
  /** A client that is half connected ends after this. */
  readonly idleTimeoutMs: number
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
