// Settings of one LwM2M gateway, from the section `gateway.lwm2m`.

import { gatewayEntries, type GatewaysConfig, readSettingFields, type SettingFields } from '../../config/index.ts'
import type { QoS } from '../../protocol/index.ts'
import { type ClientInfoOverride, toClientInfoOverride } from '../client-info.ts'
import type { ObjectDefinition } from './object-definition.ts'
import { ObjectDefinitions } from './objects.ts'

const { entries } = gatewayEntries.lwm2m

export interface Translator {
  /** Below the mount point. */
  readonly topic: string
  readonly qos: QoS
}

/** Settings that are taken unchanged are named by their entries in `src/config/settings/gateways.ts`. */
export interface Lwm2mSettings extends Omit<SettingFields<typeof entries>, 'idleTimeoutMs'> {
  readonly lifetimeMinSeconds: number
  readonly lifetimeMaxSeconds: number
  /** False: only updates with an object list are published. */
  readonly publishesAllUpdates: boolean
  readonly translators: Readonly<Record<'command' | 'response' | 'notify' | 'register' | 'update', Translator>>
  /** Including configured ones. */
  readonly objects: ObjectDefinitions
  readonly maxClients: number
  readonly override: ClientInfoOverride
}

const msPerSecond = 1_000

/** `objects`: definitions of `gateway.lwm2m.xml_dir`. */
export function toLwm2mSettings(
  lwm2m: GatewaysConfig['lwm2m'],
  { maxClients, objects }: { readonly maxClients: number; readonly objects?: readonly ObjectDefinition[] },
): Lwm2mSettings {
  const { command, response, notify, register, update } = lwm2m.translators
  return {
    ...readSettingFields(entries, lwm2m),
    lifetimeMinSeconds: Math.ceil(lwm2m.lifetime_min / msPerSecond),
    lifetimeMaxSeconds: Math.floor(lwm2m.lifetime_max / msPerSecond),
    publishesAllUpdates: lwm2m.update_msg_publish_condition === 'always',
    translators: {
      command: toTranslator(command),
      response: toTranslator(response),
      notify: toTranslator(notify),
      register: toTranslator(register),
      update: toTranslator(update),
    },
    objects: new ObjectDefinitions(objects),
    maxClients,
    override: toClientInfoOverride(lwm2m.clientinfo_override),
  }
}

function toTranslator({ topic, qos }: GatewaysConfig['lwm2m']['translators']['command']): Translator {
  return { topic, qos: qos as QoS }
}
