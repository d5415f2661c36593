// Refuses a PUBLISH: an acknowledgement with reason code and reason string, a counter, and an event for log and timeline.

import { type PublishPacket, reasonCodes } from '../../protocol/index.ts'
import type { Connection } from '../model/connection.ts'
import type { Refused } from '../model/packet-refusal.ts'
import { sendAck } from '../outgoing/send-to-client.ts'
import { getState } from '../state/connection-state.ts'
import { exceedsRetainedPayload } from '../retained/retained-messages.ts'
import type { Message } from '../messages/message.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts } from '../state/parts.ts'
import { type Delay, delayProblem, type findDelayedLimit } from './delay-message.ts'

const { notAuthorized, quotaExceeded } = reasonCodes
export const isNotAllowed: Refused = { reason: notAuthorized, cause: 'not-authorized', text: 'not allowed to publish' }
export const tokenEndsBefore: Refused = {
  reason: notAuthorized,
  cause: 'not-authorized',
  text: 'not delayed: the token that allows the topic ends before the message is due',
}
export const topicIsReserved: Refused = { reason: notAuthorized, cause: 'invalid-topic', text: 'the topic is reserved' }
export const receiverIsFull: Refused = {
  reason: quotaExceeded,
  cause: 'receiver-full',
  text: 'the queue of a persistent session that must store the message is full: see mqtt.max_stored_messages',
}
export const peerIsFull: Refused = {
  reason: quotaExceeded,
  cause: 'receiver-full',
  text: 'another shard cannot store the message now; try again',
}
export const storageFails: Refused = {
  reason: quotaExceeded,
  cause: 'storage-failing',
  text: 'the store failed: the message cannot be stored now',
}
const retainedTooLarge: Refused = {
  reason: quotaExceeded,
  cause: 'limit-reached',
  text: 'the retained message is too large: see retainer.max_payload_size',
}

/** Returns whether the client gets the reason code. A bridge gets it for a message that is not authorized: it counts the message and continues. */
export function canRefuseWithReason(connection: Connection, { reason }: Refused): boolean {
  return connection.canRefuseMessages || (connection.version === 5 && reason === reasonCodes.notAuthorized)
}

export function refusePublish(
  state: Parts<'batches' | 'counts' | 'outputs'>,
  connection: Connection,
  packet: PublishPacket,
  refused: Refused,
): void {
  countRefusal(state, connection, packet, refused)
  const type = packet.qos === 1 ? 'puback' : 'pubrec'
  const { reason, text } = refused
  sendAck(state, connection, { type, packetId: packet.packetId, reason, text, waits: false })
}

/** A refusal has a counter, a log event and an entry in the timeline of the client, also if the client gets no reason code. */
export function countRefusal(
  { counts }: Parts<'counts'>,
  connection: Connection,
  { topic, properties }: PublishPacket,
  refused: Refused,
): void {
  const now = getState(connection)
  if (now.state !== 'open') return
  const alias = properties?.topicAlias
  const known = topic ?? (alias === undefined ? undefined : now.incomingAliases?.[alias])
  counts.countRefusal(now.session.clientId, 'PUBLISH', known?.name ?? '', refused)
}

/** Returns why the message cannot be delayed. */
export function explainDelayRefusal(delay: Delay | undefined, limit: ReturnType<typeof findDelayedLimit>): Refused {
  if (delay === undefined) return { reason: reasonCodes.topicNameInvalid, cause: 'invalid-topic', text: delayProblem }
  if (limit === undefined)
    return { reason: quotaExceeded, cause: 'storage-failing', text: 'the store failed: no message can be delayed' }
  return {
    reason: quotaExceeded,
    cause: 'limit-reached',
    text: `the limit of delayed messages is reached: see ${limit}`,
  }
}

/**
 * Returns the reason to refuse a retained message that is too large. If the publisher cannot get a reason code, the message is
 * delivered and not retained.
 */
export function findRetainRefusal(settings: CoreSettings, message: Message): Refused | undefined {
  return message.retain && exceedsRetainedPayload(settings, message) ? retainedTooLarge : undefined
}
