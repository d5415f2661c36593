// The last step of a PUBLISH: the message is delivered and acknowledged, or refused.

import { reasonCodes } from '../../protocol/index.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Message } from '../messages/message.ts'
import type { Refused } from '../model/packet-refusal.ts'
import type { PublishHookResult } from '../model/publish-hook.ts'
import type { MessageDroppedTrigger } from '../model/rule-trigger.ts'
import { acknowledgeDuplicate, acknowledgePublish, recordIncoming } from '../publish/acknowledge-publish.ts'
import { delayMessage } from '../publish/delay-message.ts'
import { matchesFullPeerSession, matchesFullSession, needsStorage } from '../delivery/check-receivers.ts'
import { hasEndedToken } from '../messages/identity.ts'
import { expireUnreleased } from '../publish/expire-unreleased.ts'
import {
  canRefuseWithReason,
  countRefusal,
  isNotAllowed,
  receiverIsFull,
  refusePublish,
  findRetainRefusal,
  storageFails,
  tokenEndsBefore,
  topicIsReserved,
} from '../publish/refuse-publish.ts'
import { isReservedInside } from '../messages/reserved-roots.ts'
import { isReservedTopic } from '../publish/reserved-topics.ts'
import { findPublishFailure } from '../publish/run-rules.ts'
import { routeIncoming, routeMessage } from '../publish/route-message.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, ExchangeParts, Parts, PermitParts } from '../state/parts.ts'
import { holdForStorage } from './hold-publish.ts'
import { isKnownQoS2, type PublishAttempt } from '../state/publish-attempt.ts'

export function acceptPublish(state: BrokerState, attempt: PublishAttempt, message: Message): void {
  const { connection, open, packet, delay } = attempt
  if (packet.qos === 0) {
    const refusal = findRefusal(state, attempt, message)
    if (refusal !== undefined) countDrop(state, attempt, { message, refusal })
    else if (message.qos > 0 && findPublishFailure(state, message) !== undefined)
      countDrop(state, attempt, { message, refusal: receiverIsFull })
    else if (delay === undefined) routeMessage(state, message, open.session, 0)
    else delayMessage(state, message, delay)
    return
  }
  if (!hasRoomForPublish(state, attempt, message)) return
  const { incoming } = open.session
  if (packet.qos === 2 && incoming.ensurePacketIds().has(packet.packetId))
    return acceptDuplicate(state, attempt, message)
  const refusal = findRefusal(state, attempt, message) ?? findRetainRefusal(state.settings, message)
  const isDropped = refusal?.reason === reasonCodes.notAuthorized
  if (isDropped) state.counts.countDrop(undefined, message, 'not-allowed')
  if (refusal !== undefined && canRefuseWithReason(connection, refusal))
    return refusePublish(state, connection, packet, refusal)
  if (isDropped) countRefusal(state, connection, packet, refusal)
  if (packet.qos === 2) takePacketId(state, attempt)
  deliverAcknowledged(state, attempt, { message, isDropped })
}

/** A hook of a plugin drops the message, which is acknowledged. The reason code is for clients that can get one. */
export function dropHooked(
  state: BrokerState,
  attempt: PublishAttempt,
  { message, dropped }: { readonly message: Message; readonly dropped: DropResult },
): void {
  const { connection, open, packet } = attempt
  const { plugin, reasonCode } = dropped
  if (packet.qos > 0 && !hasRoomForPublish(state, attempt, message)) return
  state.counts.countDrop(undefined, message, 'plugin', plugin)
  recordDropped(state, message, 'plugin')
  if (packet.qos === 0) return
  if (reasonCode >= firstFailureCode && connection.version === 5) {
    const text = `plugin ${plugin} dropped the message`
    return refusePublish(state, connection, packet, { reason: reasonCode, cause: 'plugin', text })
  }
  if (packet.qos === 2) takePacketId(state, attempt)
  if (packet.qos === 2 && open.session.stored !== undefined) recordIncoming(state, open.session, packet.packetId)
  acknowledgePublish(state, connection, open.session, {
    type: packet.qos === 1 ? 'puback' : 'pubrec',
    packetId: packet.packetId,
    topic: message.topic.name,
    reason: connection.version === 5 ? reasonCode : reasonCodes.success,
    waits: packet.qos === 2 && open.session.stored !== undefined,
  })
}

/** A plugin failed whose failures deny. A 3.x client cannot be told, so it gets no acknowledgement. */
export function denyHooked(state: BrokerState, attempt: PublishAttempt, message: Message, plugin: string): void {
  const { connection, packet } = attempt
  const text = `plugin ${plugin}, which decides about messages, fails`
  const refusal: Refused = { reason: reasonCodes.implementationSpecificError, cause: 'plugin', text }
  if (packet.qos > 0 && connection.version === 5) return refusePublish(state, connection, packet, refusal)
  state.counts.countDrop(undefined, message, 'plugin', plugin)
  countRefusal(state, connection, packet, refusal)
  if (packet.qos > 0) endConnection(state, connection, { reason: refusal.reason, text, publishWill: true })
}

type DropResult = Extract<PublishHookResult, { action: 'drop' }>

/** [MQTT5-2.4] Reason codes from here on mean failure. */
const firstFailureCode = 0x80

function takePacketId(state: Parts<'nowMs'>, { connection, open, packet }: PublishAttempt): void {
  open.session.incoming.ensurePacketIds().add(packet.packetId, state.nowMs)
  if (connection.canRefuseMessages) connection.unacknowledgedPublishes++
}

/** Delivers a message of QoS 1 or 2, unless it is dropped, and acknowledges it. */
function deliverAcknowledged(
  state: BrokerState,
  attempt: PublishAttempt,
  { message, isDropped }: { readonly message: Message; readonly isDropped: boolean },
): void {
  const { connection, open, packet } = attempt
  const { session } = open
  const { packetId } = packet
  const changesBefore = state.batches.openBatch.changes.length
  const receivers = isDropped ? 1 : deliver(state, attempt, message)
  if (packet.qos === 2 && session.stored !== undefined) recordIncoming(state, session, packetId)
  acknowledgePublish(state, connection, session, {
    type: packet.qos === 1 ? 'puback' : 'pubrec',
    packetId,
    topic: message.topic.name,
    reason: receivers === 0 ? reasonCodes.noMatchingSubscribers : reasonCodes.success,
    waits: state.batches.openBatch.changes.length > changesBefore,
  })
}

/** Returns the number of receivers. */
function deliver(state: BrokerState, { open, packet, delay }: PublishAttempt, message: Message): number {
  const { session } = open
  if (delay !== undefined) {
    delayMessage(state, message, delay)
    return 1
  }
  if (packet.qos === 1) return routeMessage(state, message, session, 0)
  const route = session.incoming.partial === undefined ? routeMessage : routeIncoming
  return route(state, message, session, packet.packetId)
}

/** [MQTT-4.3.3-2] A message with a packet identifier that is in use is acknowledged and not delivered again. */
function acceptDuplicate(
  state: DrainParts & PermitParts & Parts<'namespaces' | 'rules' | 'shard'>,
  attempt: PublishAttempt,
  message: Message,
): void {
  const { connection, open, packet, delay } = attempt
  if (!packet.dup) recordDropped(state, message, 'packet-identifier-in-use')
  // A delayed message was not sent to peers, so no request is sent to them.
  const isRefused = delay !== undefined || findRefusal(state, attempt, message)?.reason === reasonCodes.notAuthorized
  acknowledgeDuplicate(state, connection, open.session, { message, packetId: packet.packetId, isRefused })
}

/** Checks the limits for unacknowledged messages, and the store if the message needs it. Returns false if the packet is handled. */
function hasRoomForPublish(state: BrokerState, attempt: PublishAttempt, message: Message): boolean {
  const { connection, packet } = attempt
  // A duplicate needs no write. If it were refused, its packet identifier would remain in use forever.
  if (isKnownQoS2(attempt)) return true
  if (connection.canRefuseMessages && connection.unacknowledgedPublishes >= state.settings.receiveMaximum) {
    // [MQTT5-3.3.4-7] [MQTT5-3.3.4-9] Clients of 3.1 and 3.1.1 have no Receive Maximum. For them, reading pauses while too many
    // messages wait for the disk.
    endConnection(state, connection, {
      reason: reasonCodes.receiveMaximumExceeded,
      text: `more than ${state.settings.receiveMaximum} unacknowledged PUBLISH packets`,
      publishWill: true,
    })
    return false
  }
  if (packet.qos === 2 && isAwaitingReleaseLimitReached(state, attempt)) {
    recordDropped(state, message, 'receive-maximum-exceeded')
    const text = `${state.settings.maxAwaitingRelease} QoS 2 messages have no PUBREL yet: see mqtt.max_awaiting_rel`
    refusePublish(state, connection, packet, { reason: reasonCodes.quotaExceeded, cause: 'limit-reached', text })
    return false
  }
  if (state.storage.isHealthy || !needsCommit(state, attempt, message)) return true
  if (connection.canRefuseMessages) refusePublish(state, connection, packet, storageFails)
  else holdForStorage(state, attempt)
  return false
}

/**
 * Returns whether the session has mqtt.max_awaiting_rel messages without PUBREL, counted over all its connections. A 3.x client
 * cannot be refused, and pausing does not help, because its PUBREL would wait behind packets that it has sent already. So it may
 * use all 65,535 packet identifiers.
 */
function isAwaitingReleaseLimitReached(state: ExchangeParts, { connection, open }: PublishAttempt): boolean {
  const { maxAwaitingRelease } = state.settings
  const { packetIds } = open.session.incoming
  if (packetIds === undefined || packetIds.size < maxAwaitingRelease) return false
  expireUnreleased(state, open.session)
  return connection.canRefuseMessages && packetIds.size >= maxAwaitingRelease
}

/** Returns whether accepting the message changes the store. */
function needsCommit(state: Parts<'router' | 'settings'>, { open, packet }: PublishAttempt, message: Message): boolean {
  return (packet.qos === 2 && open.session.stored !== undefined) || message.retain || needsStorage(state, message)
}

/** Returns why the message is not delivered, or undefined. */
function findRefusal(
  state: PermitParts & Parts<'namespaces'>,
  { connection, open, isDenied, delay }: PublishAttempt,
  message: Message,
): Refused | undefined {
  const { name } = message.topic
  const { mountpoint } = connection
  if (name.charCodeAt(0) === 36 && isReservedTopic(state, name, message.publisher)) return topicIsReserved
  if (mountpoint !== '' && isReservedInside(name.slice(mountpoint.length))) return topicIsReserved
  if (isDenied) return isNotAllowed
  if (delay !== undefined && hasEndedToken(open.session.identity, delay.dueAtMs)) return tokenEndsBefore
  // Checked here because usually no session is full, and every message takes this path.
  if (state.sessions.full.size === 0 && state.peers.fullFilters === 0) return undefined
  return matchesFullSession(state, message) || matchesFullPeerSession(state, message) ? receiverIsFull : undefined
}

/** QoS 0: the publisher cannot learn that its message is dropped. */
function countDrop(
  state: Parts<'counts'>,
  { connection, packet }: PublishAttempt,
  { message, refusal }: { readonly message: Message; readonly refusal: Refused },
): void {
  if (refusal.reason === reasonCodes.notAuthorized) state.counts.countDrop(undefined, message, 'not-allowed')
  countRefusal(state, connection, packet, refusal)
}

/** Records the drop for rules. */
function recordDropped(
  state: Parts<'nowMs' | 'rules'>,
  message: Message,
  reason: MessageDroppedTrigger['reason'],
): void {
  const { triggers } = state.rules
  if (triggers.wanted['message-dropped']) triggers.addMessageDropped(message, reason, state.nowMs)
}
