// PUBLISH from a client. Each step may refuse the message. After the last step the message is delivered.

import { isUtf8, reasonCodes, type PacketId, type PublishPacket, type Topic } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { ExchangeParts, Parts, PermitParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { acknowledgeDuplicate, acknowledgePublish, recordIncoming } from '../publish/acknowledge-publish.ts'
import { expireUnreleased } from '../publish/expire-unreleased.ts'
import { permitForQueues } from './wait-for-queues.ts'
import { authorizePublish, recordAuthorization } from '../publish/authorize-publish.ts'
import { type Delay, delayMessage, findDelayedLimit, readDelay } from '../publish/delay-message.ts'
import { canForwardToAllPeers, publishPermitFor, type PublishPermit } from '../peers/peer-backpressure.ts'
import { matchesFullSession, matchesFullPeerSession, needsStorage } from '../publish/deliver-locally.ts'
import { pauseReading, readPauseReasons, type ReadPauseReason } from '../outgoing/read-pause-reasons.ts'
import { routeIncoming, routeMessage } from '../publish/route-message.ts'
import { isBlockedByActions } from '../publish/run-rules.ts'
import {
  canRefuseWithReason,
  countRefusal,
  delayRefusal,
  isNotAllowed,
  peerIsFull,
  receiverIsFull,
  refusePublish,
  retainRefusalOf,
  storageFails,
  topicIsReserved,
} from '../publish/refuse-publish.ts'
import { isReservedInside } from '../messages/reserved-roots.ts'
import { isReservedTopic } from '../publish/reserved-topics.ts'
import { isRewrittenWhenDue, rewritePublication } from '../publish/resolve-publication.ts'
import { messageFromPublish, recordPublisherRights, withoutFrame, type Message } from '../messages/message.ts'
import type { Refused } from '../model/packet-refusal.ts'
import type { MessageDroppedTrigger } from '../model/rule-trigger.ts'
import { mountedTopic } from '../namespaces/mountpoint.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Session } from '../state/sessions/session.ts'
import { endConnection } from '../connect/close-connection.ts'
import type { Open } from '../state/connection-state.ts'
import { resolvedPermission, waitForAuthorization } from '../connect/authorization-wait.ts'
import { countPublish } from '../connect/rate-limit.ts'
import { resolveTopic } from './resolve-topic.ts'

export function handlePublish(state: BrokerState, connection: Connection, open: Open, packet: PublishPacket): void {
  state.counts.publishesReceived++
  const { session } = open
  session.counts.received++
  const named = resolveTopic(state, connection, open, packet)
  if (named === undefined) return
  const isDelayed = named.isDelayed && state.settings.delaysMessages
  const delay = isDelayed ? readDelay(named.name, state.nowMs) : undefined
  if (isDelayed && !canDelay(state, connection, session, { packet, delay })) return
  const topic = delay === undefined ? named : state.topics.named(delay.topic)
  if (!isWithinLimits(state, connection, packet)) return
  if (exceedsTopicLimits(state.settings, topic)) return refuseTopic(state, connection, packet)
  if (packet.properties !== undefined && !hasValidPayloadFormat(state, connection, packet)) return
  let isDenied = false
  if (!state.access.permissions.allowsEverything) {
    const permission = permissionFor(state, connection, open, packet, topic)
    if (permission === undefined) return
    isDenied = permission === 'deny'
  }
  if (state.rules.triggers.wanted.authorization)
    recordAuthorization(state, connection, session, { action: 'publish', topic: topic.name, isAllowed: !isDenied })
  let renamed: Topic | undefined = topic
  if (state.settings.topicRewrites !== undefined && connection.listener.isBridge !== true) {
    renamed = rewritten(state, open.session, topic)
    if (renamed === undefined) isDenied = true
    if (renamed === undefined || (delay !== undefined && isRewrittenWhenDue(open.session.identity))) renamed = topic
  }
  const target = connection.hasPlainPublishes ? renamed : prepare(state, connection, packet, renamed)
  if (target === undefined) return
  if (
    state.peerTable !== undefined &&
    !isDenied &&
    !isDelayed &&
    !isUnblockedByPeers(state, connection, open, { packet, topic: target })
  )
    return
  if (packet.qos > 0 && state.sessions.full.size > 0 && !isDenied && !isDelayed && isBlockedByActions(state, target)) {
    // The packet will be handled a second time.
    state.counts.publishesReceived--
    session.counts.received--
    state.waiting.forActions.add(connection)
    return pauseUntil(state.outputs, connection, open, { packet, reason: readPauseReasons.actions })
  }
  const message = messageFromPublish(packet, target, {
    publisher: session.clientId,
    version: connection.version,
    nowMs: state.nowMs,
  })
  const permit = permitForQueues(state, connection, session, { packet, message, isRouted: !isDenied && !isDelayed })
  if (permit !== 'go') return holdForQueues(state, connection, open, { packet, permit })
  const accept = delay === undefined ? routeMessage : delayUntil(delay.dueAtMs)
  // The frame contains the client's topic, so it cannot be forwarded.
  if (target !== named) withoutFrame(message)
  // The publisher's rights are recorded only for delayed and retained messages, which are checked again later.
  if (packet.retain || isDelayed) recordPublisherRights(message, session.identity, connection.mountpoint)
  if (packet.qos === 0) {
    const refusal = refusalOf(state, connection, message, isDenied)
    if (refusal === undefined) accept(state, message, session, 0)
    else countRefusal(state, connection, packet, refusal)
    return
  }
  if (!canAcceptPublish(state, connection, open, packet, message)) return
  if (packet.qos === 1) acceptAtLeastOnce(state, connection, session, packet, message, isDenied, accept)
  else acceptExactlyOnce(state, connection, session, packet, message, isDenied, accept)
}

/** Returns the rewritten topic of the message. Topics of bridges are not rewritten. */
function rewritten(
  state: Parts<'matchRegex' | 'settings' | 'topics'>,
  { clientId, identity }: Session,
  topic: Topic,
): Topic | undefined {
  return rewritePublication(state, topic, {
    clientId: splitNamespacedName(clientId).name,
    username: identity.username,
  })
}

/** Handles an accepted message. Returns the number of receivers. */
type Accept = typeof routeMessage

function delayUntil(dueAtMs: number): Accept {
  return (state, message) => {
    delayMessage(state, message, { dueAtMs })
    return 1
  }
}

/**
 * Returns whether the delay is valid and the limit of delayed messages is not reached. Otherwise the message is refused; a client that
 * cannot get a reason code is disconnected without an acknowledgement.
 */
function canDelay(
  state: BrokerState,
  connection: Connection,
  session: Session,
  { packet, delay }: { readonly packet: PublishPacket; readonly delay: Delay | undefined },
): boolean {
  // [MQTT-4.3.3-2] A duplicate of an accepted message.
  if (packet.qos === 2 && session.incoming.packetIds?.has(packet.packetId) === true) return true
  const limit = findDelayedLimit(state, session.clientId)
  if (delay !== undefined && limit === undefined && state.storage.isHealthy) return true
  const refused = delayRefusal(delay, limit)
  if (packet.qos > 0 && connection.canRefuseMessages) refusePublish(state, connection, packet, refused)
  else {
    countRefusal(state, connection, packet, refused)
    const { reason, text } = refused
    if (packet.qos === 0 && delay !== undefined) state.counts.dropped['storage-full']++
    else endConnection(state, connection, { reason, text, publishWill: true })
  }
  return false
}

/**
 * [MQTT5-3.3.2.3.2] [MQTT5-4.13.1-1] A QoS 0 PUBLISH can be refused only by closing the connection. Bridges are
 * exempt, because their messages come from other clients.
 */
function hasValidPayloadFormat(state: BrokerState, connection: Connection, packet: PublishPacket): boolean {
  const { chunk, payloadStart, frameEnd, properties } = packet
  const isChecked = state.settings.validatesPayloadFormat && properties?.payloadFormatIndicator === 1
  if (!isChecked || isUtf8(chunk, payloadStart, frameEnd)) return true
  const text = 'the payload format indicator is 1, but the payload is not UTF-8'
  const refused: Refused = { reason: reasonCodes.payloadFormatInvalid, cause: 'invalid-payload', text }
  if (packet.qos > 0) {
    refusePublish(state, connection, packet, refused)
    return false
  }
  countRefusal(state, connection, packet, refused)
  if (connection.listener.isBridge === true) state.counts.dropped['not-allowed']++
  else endConnection(state, connection, { reason: refused.reason, text, publishWill: true })
  return false
}

/**
 * For clients with rate limits, a namespace or a mount point: counts the message and returns its topic inside the
 * broker.
 */
function prepare(state: BrokerState, connection: Connection, packet: PublishPacket, topic: Topic): Topic | undefined {
  countPublish(state, connection, packet)
  return connection.mountpoint === '' ? topic : mount(state, connection, topic)
}

function mount(state: BrokerState, connection: Connection, topic: Topic): Topic | undefined {
  const mounted = mountedTopic(state.topics, connection.mountpoint, topic)
  if (mounted === undefined) {
    const text = 'the topic is too long with its mount point'
    endConnection(state, connection, { reason: reasonCodes.topicNameInvalid, text, publishWill: true })
  }
  return mounted
}

/** Returns the permission to publish; undefined if the packet waits or the connection is being closed. */
function permissionFor(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: PublishPacket,
  topic: Topic,
): 'allow' | 'deny' | undefined {
  const { session } = open
  // [MQTT-4.3.3-2] A duplicate of an accepted message.
  if (packet.qos === 2 && isDuplicate(session, packet.packetId)) return 'allow'
  const known = authorizePublish(state.access, connection, session.identity, topic, packet)
  const permission = known === 'unknown' ? resolvedPermission(open, packet, topic.name, known) : known
  if (permission === 'allow' || permission === 'deny') return permission
  if (permission === 'unknown') {
    // The packet is handled a second time after the response.
    state.counts.publishesReceived--
    session.counts.received--
    const { qos, retain } = packet
    const wanted = [{ action: 'publish', topic: topic.name, qos, retain }] as const
    waitForAuthorization(state, connection, open, { packet, wanted })
    return undefined
  }
  if (state.rules.triggers.wanted.authorization)
    recordAuthorization(state, connection, session, { action: 'publish', topic: topic.name, isAllowed: false })
  const text = 'not allowed to publish'
  endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  return undefined
}

/**
 * Returns whether this start of the shard has accepted the message already. Returns false for a message that was accepted before the
 * restart of this shard: it may still have to go to peers, and its permission is not known.
 */
function isDuplicate(session: Session, packetId: PacketId): boolean {
  const isIncomplete =
    session.incoming.forwarded?.get(packetId)?.isFromEarlierGeneration === true ||
    session.incoming.partial?.get(packetId)?.isRouted === false
  return !isIncomplete && session.incoming.packetIds?.has(packetId) === true
}

/**
 * [MQTT5-3.2.2-11, -14] Using a feature that CONNACK excluded is a protocol error. A bridge may exceed the maximum QoS,
 * because the remote broker sets it; subscribers get a lower one.
 */
function isWithinLimits(state: BrokerState, connection: Connection, packet: PublishPacket): boolean {
  const { settings } = state
  if (packet.qos > settings.maximumQoS && connection.listener.isBridge !== true) {
    endConnection(state, connection, {
      reason: reasonCodes.qosNotSupported,
      text: `QoS ${packet.qos} is not supported`,
      publishWill: true,
    })
    return false
  }
  if (packet.retain && !settings.retainAvailable) {
    endConnection(state, connection, {
      reason: reasonCodes.retainNotSupported,
      text: 'retained messages are not supported',
      publishWill: true,
    })
    return false
  }
  return true
}

/** mqtt.max_topic_levels and mqtt.max_topic_length. */
function exceedsTopicLimits(settings: CoreSettings, topic: Topic): boolean {
  return topic.levels > settings.maxTopicLevels || topic.bytes.length > settings.maxTopicBytes
}

/** [MQTT5-3.4.2.1, 3.5.2.1] A QoS 0 PUBLISH, or one before 5.0, has no acknowledgement with a reason code. */
function refuseTopic(state: BrokerState, connection: Connection, packet: PublishPacket): void {
  const reason = reasonCodes.topicNameInvalid
  const { maxTopicLevels, maxTopicBytes } = state.settings
  const text = `the topic name has more than ${maxTopicLevels} levels or ${maxTopicBytes} bytes`
  const refused: Refused = { reason, cause: 'invalid-topic', text }
  if (packet.qos > 0 && connection.version === 5) return refusePublish(state, connection, packet, refused)
  countRefusal(state, connection, packet, refused)
  endConnection(state, connection, { reason, text, publishWill: true })
}

/** Checks the limits for unacknowledged messages, and the store if the message needs it. */
function canAcceptPublish(
  state: BrokerState,
  connection: Connection,
  open: Open,
  packet: PublishPacket,
  message: Message,
): boolean {
  const isDuplicateQoS2 = packet.qos === 2 && open.session.incoming.packetIds?.has(packet.packetId) === true
  if (
    !isDuplicateQoS2 &&
    connection.canRefuseMessages &&
    connection.unacknowledgedPublishes >= state.settings.receiveMaximum
  ) {
    // [MQTT5-3.3.4-7] [MQTT5-3.3.4-9] Clients of 3.1 and 3.1.1 have no Receive Maximum. For them, reading pauses while too many
    // messages wait for the disk.
    endConnection(state, connection, {
      reason: reasonCodes.receiveMaximumExceeded,
      text: `more than ${state.settings.receiveMaximum} unacknowledged PUBLISH packets`,
      publishWill: true,
    })
    return false
  }
  if (!isDuplicateQoS2 && packet.qos === 2 && isAwaitingReleaseLimitReached(state, connection, open.session)) {
    recordDropped(state, message, 'receive-maximum-exceeded')
    const text = `${state.settings.maxAwaitingRelease} QoS 2 messages have no PUBREL yet: see mqtt.max_awaiting_rel`
    refusePublish(state, connection, packet, { reason: reasonCodes.quotaExceeded, cause: 'limit-reached', text })
    return false
  }
  // A duplicate needs no write. If it were refused, its packet identifier would remain in use forever.
  if (isDuplicateQoS2 || state.storage.isHealthy || !needsCommit(state, open.session, packet, message)) return true
  if (connection.canRefuseMessages) refusePublish(state, connection, packet, storageFails)
  else waitForStorage(state, connection, open, packet)
  return false
}

/**
 * Returns whether the session has mqtt.max_awaiting_rel messages without PUBREL, counted over all its connections. A 3.x client
 * cannot be refused, and pausing does not help, because its PUBREL would wait behind packets that it has sent already. So it may
 * use all 65,535 packet identifiers.
 */
function isAwaitingReleaseLimitReached(state: ExchangeParts, connection: Connection, session: Session): boolean {
  const { maxAwaitingRelease } = state.settings
  if (session.incoming.packetIds === undefined || session.incoming.packetIds.size < maxAwaitingRelease) return false
  expireUnreleased(state, session)
  return connection.canRefuseMessages && session.incoming.packetIds.size >= maxAwaitingRelease
}

/** Returns whether accepting the message changes the store. */
function needsCommit(
  state: Parts<'router' | 'settings'>,
  session: Session,
  packet: PublishPacket,
  message: Message,
): boolean {
  return (packet.qos === 2 && session.stored !== undefined) || packet.retain || needsStorage(state, message)
}

/** PUBACK and PUBREC of 3.1 and 3.1.1 have no reason code that asks for a retry, so reading pauses until the store works. */
function waitForStorage(
  state: Parts<'outputs' | 'waiting'>,
  connection: Connection,
  open: Open,
  packet: PublishPacket,
): void {
  state.waiting.forStorage.add(connection)
  pauseUntil(state.outputs, connection, open, { packet, reason: readPauseReasons.storage })
}

function holdForQueues(
  state: BrokerState,
  connection: Connection,
  open: Open,
  { packet, permit }: { packet: PublishPacket; permit: 'wait' | 'refuse' },
): void {
  if (permit === 'refuse') {
    countRefusal(state, connection, packet, receiverIsFull)
    const { reason, text } = receiverIsFull
    return endConnection(state, connection, { reason, text, publishWill: true })
  }
  // The packet will be handled a second time.
  state.counts.publishesReceived--
  open.session.counts.received--
  state.waiting.forQueues.add(connection)
  pauseUntil(state.outputs, connection, open, { packet, reason: readPauseReasons.queues })
}

/** Pauses reading until the reason ends. */
function pauseUntil(
  outputs: OutputLists,
  connection: Connection,
  open: Open,
  { packet, reason }: { packet: PublishPacket; reason: ReadPauseReason },
): void {
  open.parked ??= []
  open.parked.push(packet)
  pauseReading(outputs, connection, reason)
}

/** Returns true if no peer delays the message. Otherwise the packet waits or is refused. */
function isUnblockedByPeers(
  state: Parts<'batches' | 'counts' | 'outputs' | 'peerTable' | 'router' | 'settings'>,
  connection: Connection,
  open: Open,
  { packet, topic }: { packet: PublishPacket; topic: Topic },
): boolean {
  const { peerTable } = state
  if (peerTable === undefined) return true
  if (packet.qos < 2 && canForwardToAllPeers(state.settings, peerTable, packet.qos)) return true
  const permit = permitOf(state, peerTable, { session: open.session, packet, topic })
  if (permit === 'go') return true
  if (permit === 'refuse' && connection.canRefuseMessages) {
    refusePublish(state, connection, packet, peerIsFull)
  } else {
    // The packet will be handled a second time.
    state.counts.publishesReceived--
    open.session.counts.received--
    peerTable.waitingForPeers.add(connection)
    pauseUntil(state.outputs, connection, open, { packet, reason: readPauseReasons.peers })
  }
  return false
}

function permitOf(
  state: Parts<'router' | 'settings'>,
  peerTable: PeerTable,
  { session, packet, topic }: { session: Session; packet: PublishPacket; topic: Topic },
): PublishPermit {
  const forwarded = packet.qos === 2 ? session.incoming.forwarded?.get(packet.packetId) : undefined
  // A duplicate of this start of the shard only needs its acknowledgement. An identifier that is being released is not
  // reused before all peers have released it.
  if (forwarded !== undefined && !forwarded.isFromEarlierGeneration) return forwarded.isBeingReleased ? 'wait' : 'go'
  return publishPermitFor(state, peerTable, { topic, qos: packet.qos, retain: packet.retain })
}

/** Returns why the message is not delivered, or undefined. Counts a message that is not authorized as dropped. */
function refusalOf(
  state: PermitParts & Parts<'counts' | 'namespaces'>,
  { mountpoint }: Connection,
  message: Message,
  isDenied: boolean,
): Refused | undefined {
  const { name } = message.topic
  const isReserved =
    (name.charCodeAt(0) === 36 && isReservedTopic(state, name, message.publisher)) ||
    (mountpoint !== '' && isReservedInside(name.slice(mountpoint.length)))
  if (isDenied || isReserved) {
    state.counts.countDrop(undefined, message, 'not-allowed')
    return isReserved ? topicIsReserved : isNotAllowed
  }
  // Checked here because usually no session is full, and every message takes this path.
  if (state.sessions.full.size === 0 && state.peerTable === undefined) return undefined
  const isFull = matchesFullSession(state, message) || matchesFullPeerSession(state, message)
  return isFull ? receiverIsFull : undefined
}

function acceptAtLeastOnce(
  state: BrokerState,
  connection: Connection,
  session: Session,
  packet: PublishPacket,
  message: Message,
  isDenied: boolean,
  accept: Accept,
): void {
  const refusal = refusalOf(state, connection, message, isDenied) ?? retainRefusalOf(state.settings, message)
  if (refusal !== undefined && canRefuseWithReason(connection, refusal))
    return refusePublish(state, connection, packet, refusal)
  const changesBefore = state.batches.openBatch.changes.length
  const isDropped = refusal?.reason === reasonCodes.notAuthorized
  if (isDropped) countRefusal(state, connection, packet, refusal)
  const matched = isDropped ? 1 : accept(state, message, session, 0)
  const waits = state.batches.openBatch.changes.length > changesBefore
  const reason = matched === 0 ? reasonCodes.noMatchingSubscribers : reasonCodes.success
  const { packetId } = packet
  acknowledgePublish(state, connection, session, { type: 'puback', packetId, topic: message.topic.name, reason, waits })
}

function acceptExactlyOnce(
  state: BrokerState,
  connection: Connection,
  session: Session,
  packet: PublishPacket,
  message: Message,
  isDenied: boolean,
  accept: Accept,
): void {
  const { packetId } = packet
  const isStored = session.stored !== undefined
  const incoming = session.incoming.unreleased()
  if (incoming.has(packetId)) {
    if (!packet.dup) recordDropped(state, message, 'packet-identifier-in-use')
    // A delayed message was not sent to peers, so no request is sent to them.
    const isRefused =
      accept !== routeMessage || refusalOf(state, connection, message, isDenied)?.reason === reasonCodes.notAuthorized
    acknowledgeDuplicate(state, connection, session, { message, packetId, isRefused })
    return
  }
  const refusal = refusalOf(state, connection, message, isDenied) ?? retainRefusalOf(state.settings, message)
  if (refusal !== undefined && canRefuseWithReason(connection, refusal))
    return refusePublish(state, connection, packet, refusal)
  incoming.add(packetId, state.nowMs)
  if (connection.canRefuseMessages) connection.unacknowledgedPublishes++
  const changesBefore = state.batches.openBatch.changes.length
  const route = session.incoming.partial === undefined || accept !== routeMessage ? accept : routeIncoming
  const isDropped = refusal?.reason === reasonCodes.notAuthorized
  if (isDropped) countRefusal(state, connection, packet, refusal)
  const matched = isDropped ? 1 : route(state, message, session, packetId)
  if (isStored) recordIncoming(state.batches, session, packetId)
  const waits = state.batches.openBatch.changes.length > changesBefore
  const reason = matched === 0 ? reasonCodes.noMatchingSubscribers : reasonCodes.success
  acknowledgePublish(state, connection, session, { type: 'pubrec', packetId, topic: message.topic.name, reason, waits })
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
