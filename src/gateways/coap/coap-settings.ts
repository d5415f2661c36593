import type { QoS } from '../../protocol/index.ts'
import type { ClientInfoOverride } from '../client-info.ts'

/** Settings of one gateway: `gateway.coap`. */
export interface CoapSettings {
  readonly heartbeatMs: number
  readonly requiresConnection: boolean
  readonly notifyType: 'qos' | 'non' | 'con'
  /** Undefined: QoS 1 for confirmable requests, 0 for others. */
  readonly subscribeQoS: QoS | undefined
  readonly publishQoS: QoS | undefined
  readonly maxBlockBytes: number
  readonly maxBodyBytes: number
  readonly idleTimeoutMs: number
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
