// Settings of one MQTT-SN gateway, from the section `gateway.mqttsn`.

import { gatewayEntries, type GatewaysConfig, readSettingFields, type SettingFields } from '../../../config/index.ts'
import { type ClientInfoOverride, toClientInfoOverride } from '../../client-info.ts'
import { PredefinedTopics } from './topic-ids.ts'

const { entries } = gatewayEntries.mqttsn

/** Settings that are taken unchanged are named by their entries in `src/config/settings/gateways.ts`. */
export interface MqttSnSettings extends SettingFields<typeof entries> {
  readonly predefined: PredefinedTopics
  readonly maxClients: number
  readonly override: ClientInfoOverride
}

export function toMqttSnSettings(mqttsn: GatewaysConfig['mqttsn'], maxClients: number): MqttSnSettings {
  const predefined = mqttsn.predefined.map((fields) => ({
    id: Number(fields.get('id')),
    topic: String(fields.get('topic')),
  }))
  return {
    ...readSettingFields(entries, mqttsn),
    predefined: new PredefinedTopics(predefined),
    maxClients,
    override: toClientInfoOverride(mqttsn.clientinfo_override),
  }
}
