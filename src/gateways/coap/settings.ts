import type { QoS } from '../../protocol/index.ts'
import type { ClientInfoOverride } from '../client-info.ts'

/** Of one gateway, as the configuration has them: `gateway.coap`. */
export interface CoapSettings {
  readonly heartbeatMs: number
  readonly requiresConnection: boolean
  readonly notifyType: 'qos' | 'non' | 'con'
  /** Undefined: confirmable requests ask for QoS 1, others for 0. */
  readonly subscribeQoS: QoS | undefined
  readonly publishQoS: QoS | undefined
  readonly maxBlockBytes: number
  readonly maxBodyBytes: number
  readonly idleTimeoutMs: number
  readonly maxClients: number
  readonly override: ClientInfoOverride
}
