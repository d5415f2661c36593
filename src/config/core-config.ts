// The settings of the core: sections mqtt, retainer, delayed, rewrite and parts of auth.

import { readSettingFields, type SettingFields } from './schema/setting-fields.ts'
import { mqtt as mqttSection, retainer as retainerSection } from './settings/mqtt.ts'
import type { SettingValues } from './settings/root.ts'
import type { RewriteConfig } from './topic-config.ts'

const { entries: mqttEntries } = mqttSection
const { entries: retainerEntries } = retainerSection

/** Settings of the core. Those that it takes unchanged are named by their entries in `settings/mqtt.ts`. */
export interface CoreConfig extends SettingFields<typeof mqttEntries>, SettingFields<typeof retainerEntries> {
  /** Undefined: none. */
  readonly topicRewrites: readonly RewriteConfig[] | undefined
  readonly delaysMessages: boolean
  /** Undefined: no limit. */
  readonly maxDelayedMessages: number | undefined
  readonly maxDelayedMessagesPerClient: number | undefined
  readonly maxPacketBytes: number
  readonly storedMessagesOverflow: 'drop-oldest' | 'reject-publish'
  readonly maximumQoS: 0 | 1 | 2
  readonly bindsClientIds: boolean
  readonly sessionExpirySeconds: number
  readonly maxSessionExpirySeconds: number | undefined
  readonly maxRetainedMessages: number | undefined
}

const msPerSecond = 1_000

/**
 * Maximum packet size of the standard is 268,435,460 bytes. A forwarded message may have more than the received one
 * (subscription identifiers, an alias, a mount point, markers of a bridge), and must be a valid packet for each
 * receiver.
 */
const maxPacketBytes = 255 * 1_048_576

/** `topicRewrites`: those that apply. */
export function toCoreConfig(values: SettingValues, topicRewrites: readonly RewriteConfig[]): CoreConfig {
  const { auth, delayed, mqtt, node, retainer } = values
  const usualBinding = node.security_profile === 'hardened' ? 'identity' : 'none'
  const maxExpiryMs = mqtt.max_session_expiry_interval
  const maxRetained = retainer.max_retained_messages
  return {
    ...readSettingFields(mqttEntries, mqtt),
    ...readSettingFields(retainerEntries, retainer),
    topicRewrites: topicRewrites.length === 0 ? undefined : topicRewrites,
    delaysMessages: delayed.enable,
    maxDelayedMessages: delayed.max_delayed_messages === 0 ? undefined : delayed.max_delayed_messages,
    maxDelayedMessagesPerClient:
      delayed.max_delayed_messages_per_client === 0 ? undefined : delayed.max_delayed_messages_per_client,
    maxPacketBytes: Math.min(mqtt.max_packet_size, mqtt.client_max_packet_size ?? Infinity, maxPacketBytes),
    storedMessagesOverflow: mqtt.stored_messages_overflow === 'drop_oldest' ? 'drop-oldest' : 'reject-publish',
    maximumQoS: mqtt.max_qos_allowed === '2' ? 2 : mqtt.max_qos_allowed === '1' ? 1 : 0,
    bindsClientIds: (auth.client_id_binding === 'auto' ? usualBinding : auth.client_id_binding) === 'identity',
    sessionExpirySeconds: mqtt.session_expiry_interval / msPerSecond,
    maxSessionExpirySeconds: maxExpiryMs === undefined ? undefined : maxExpiryMs / msPerSecond,
    maxRetainedMessages: maxRetained === 0 ? undefined : maxRetained,
  }
}
