// Settings of one STOMP gateway, from the section `gateway.stomp`.

import { gatewayEntries, type GatewaysConfig, readSettingFields, type SettingFields } from '../../config/index.ts'
import { type ClientInfoOverride, toClientInfoOverride } from '../client-info.ts'

const { entries } = gatewayEntries.stomp
const { entries: frameEntries } = entries.frame

/** Settings that are taken unchanged are named by their entries in `src/config/settings/gateways.ts`. */
export interface StompSettings extends SettingFields<typeof entries>, SettingFields<typeof frameEntries> {
  readonly override: ClientInfoOverride
}

export function toStompSettings(stomp: GatewaysConfig['stomp']): StompSettings {
  return {
    ...readSettingFields(entries, stomp),
    ...readSettingFields(frameEntries, stomp.frame),
    override: toClientInfoOverride(stomp.clientinfo_override),
  }
}
