import type { ClientInfoOverride } from '../client-info.ts'
import type { PredefinedTopics } from './topic-ids.ts'

/** Settings of one gateway: `gateway.mqttsn`. */
export interface MqttSnSettings {
  readonly gatewayId: number
  readonly allowsQosMinusOne: boolean
  /** Clients may speak 2.0, too. */
  readonly speaksVersion2: boolean
  /** Registers topics again when a client resumes its session; otherwise with the next message. */
  readonly resumesTopics: boolean
  readonly predefined: PredefinedTopics
  readonly retryIntervalMs: number
  readonly maxRetries: number
  /** Timeout of an incomplete connection. */
  readonly idleTimeoutMs: number
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
