// Settings of one CoAP gateway, from the section `gateway.coap`.

import { gatewayEntries, type GatewaysConfig, readSettingFields, type SettingFields } from '../../config/index.ts'
import type { QoS } from '../../protocol/index.ts'
import { type ClientInfoOverride, toClientInfoOverride } from '../client-info.ts'

const { entries } = gatewayEntries.coap

/** Settings that are taken unchanged are named by their entries in `src/config/settings/gateways.ts`. */
export interface CoapSettings extends SettingFields<typeof entries> {
  /** Undefined: QoS 1 for confirmable requests, 0 for others. */
  readonly subscribeQoS: QoS | undefined
  readonly publishQoS: QoS | undefined
  readonly maxBlockBytes: number
  readonly maxClients: number
  readonly override: ClientInfoOverride
}

const qosOfNames = { coap: undefined, qos0: 0, qos1: 1, qos2: 2 } as const

export function toCoapSettings(coap: GatewaysConfig['coap'], maxClients: number): CoapSettings {
  return {
    ...readSettingFields(entries, coap),
    subscribeQoS: qosOfNames[coap.subscribe_qos],
    publishQoS: qosOfNames[coap.publish_qos],
    maxBlockBytes: Number(coap.max_block_size),
    maxClients,
    override: toClientInfoOverride(coap.clientinfo_override),
  }
}
