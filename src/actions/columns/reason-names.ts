// Names of reasons in rules, as in EMQX (`qos0_msg`: a QoS 0 message to a client that cannot receive it now). `session_ended`,
// `shard_behind` and `plugin` exist in Godwit only.

import type { DeliveryTrigger, MessageDroppedTrigger } from '../../core/index.ts'
import { reasonCodes, type ReasonCode } from '../../protocol/index.ts'

const byCode: ReadonlyMap<ReasonCode, string> = new Map(
  // Several names have the code 0: `success` is first and is used.
  Object.entries(reasonCodes)
    .toReversed()
    .map(([name, code]) => [code, name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)] as const),
)

/** Returns the name of a reason code: `not_authorized`. */
export function toReasonName(code: ReasonCode): string {
  if (code === reasonCodes.badUserNameOrPassword) return 'bad_username_or_password'
  return byCode.get(code) ?? `0x${code.toString(16)}`
}

type DropReasonOfRules = NonNullable<DeliveryTrigger['reason']> | MessageDroppedTrigger['reason']

const dropReasons: Readonly<Record<DropReasonOfRules, string>> = {
  'no-subscribers': 'no_subscribers',
  'receive-maximum-exceeded': 'receive_maximum_exceeded',
  'packet-identifier-in-use': 'packet_identifier_inuse',
  'no-local': 'no_local',
  'not-connected': 'qos0_msg',
  'not-reading': 'qos0_msg',
  'rate-limited': 'qos0_msg',
  expired: 'expired',
  'too-large': 'too_large',
  'queue-full': 'queue_full',
  'memory-full': 'queue_full',
  'storage-full': 'queue_full',
  'no-retained-room': 'retained_quota_exceeded',
  'session-ended': 'session_ended',
  'peer-behind': 'shard_behind',
  'not-allowed': 'not_authorized',
  plugin: 'plugin',
}

/** Returns the value of the column `reason` of dropped messages and deliveries. */
export function toDropReasonName(reason: DropReasonOfRules): string {
  return dropReasons[reason]
}
