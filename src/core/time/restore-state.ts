// Restores the stored state at start, before any client connects.

import { deleteRecord, putRecord } from '../queues/persistent-queue.ts'
import { parseTopicFilter, parseTopicName, splitSharedFilter, type TopicTable } from '../../protocol/index.ts'
import {
  type ForwardedRecord,
  abandonedSequence,
  type IncomingRecord,
  type HandoffRecord,
  type OutgoingRecord,
  type SessionRecord,
  type StoredMessage,
  type StoredRecord,
  type SubscriptionRecord,
  type WillRecord,
} from '../../records/index.ts'
import { createIdentity, type Identity } from '../messages/identity.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { decodeRequestedQoS } from '../messages/internal-client-options.ts'
import type { SessionTable } from '../state/sessions/session-table.ts'
import type { UniqueIds } from '../state/unique-ids.ts'
import type { Parts, RetainedParts, WillParts } from '../state/parts.ts'
import { recordHeld } from '../peers/exclusive-subscriptions.ts'
import { restoreEndedSessionQueue } from '../shared/expired-session-redelivery.ts'
import { updateInterest, toPresence } from '../peers/update-interest.ts'
import { putRetained } from '../retained/retained-messages.ts'
import { toExpiryMs, recordCount } from '../queues/persistent-queue.ts'
import { recordGapsBelow } from '../queues/queue-gaps.ts'
import { restoreDelayed } from '../publish/delay-message.ts'
import { createRestoredWill } from '../publish/stored-wills.ts'
import { createMessageFromStored, type Message } from '../messages/message.ts'
import { SharedAssignments } from '../state/sessions/shared-assignments.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { toClientId, isDelayedName, isInternalName } from '../namespaces/internal-session-names.ts'
import type { SessionWill } from '../state/sessions/session-will.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import { Delivery } from '../state/sessions/delivery.ts'
import type { SharedGroup } from '../topics/index.ts'
import { createPersistentQueue, Session } from '../state/sessions/session.ts'
import { scheduleExpiry } from '../peer-handlers/expire-received-ids.ts'

/**
 * Restores one record. Records may be in any order, except that a session comes before its own records. Records of other shards are
 * skipped.
 */
export function restore(
  state: RetainedParts & WillParts & Parts<'payloads' | 'peers' | 'router' | 'sessions' | 'shared' | 'subscriptions'>,
  record: StoredRecord,
): void {
  if (!isOwnRecord(state.ids, state.peers, record)) return
  if ('clientId' in record && record.clientId !== undefined && isInternalName(record.clientId))
    return restoreReserved(state, record)
  switch (record.kind) {
    case 'session':
      return restoreSession(state, record)
    case 'subscription':
      return restoreSubscription(state, record)
    case 'incoming':
      return restoreIncoming(state, record)
    case 'outgoing':
      return restoreOutgoing(state.sessions, record)
    case 'retained':
      return restoreRetained(state, record.message)
    case 'will':
      return restoreWill(state, record)
    case 'forwarded':
      return restoreForwarded(state, record)
    case 'handoff':
      return restoreHandoff(state, record)
    case 'payload':
      return state.payloads.recordIdsUsedUpTo(record.id)
    case 'fact':
      return state.payloads.restoreReservation(record)
    case 'queued':
    case 'credential':
    case 'gateway-user':
    case 'scram':
    case 'psk':
    case 'rule':
    case 'ban':
    case 'account':
    case 'api-key':
    case 'namespace':
      return // Queues are read when their client connects; other records belong to other modules.
    default:
      record satisfies never
  }
}

/** Restores the queue or a will of an ended session. */
function restoreReserved(state: WillParts & Parts<'sessions' | 'shared'>, record: StoredRecord): void {
  if (record.kind === 'session') restoreEndedSessionQueue(state, record)
  if (record.kind !== 'will') return
  // A delayed message that was already published is pending for peers, like a will.
  if (isDelayedName(record.clientId) && !record.message.isRepeat) restoreDelayed(state, record)
  else restoreWill(state, record)
}

function restoreForwarded(
  state: Parts<'deadlines' | 'nowMs' | 'peers' | 'settings'>,
  { shard, publisher, packetId, assignments }: ForwardedRecord,
): void {
  if (state.peers.shard.own !== shard) return
  const restored =
    assignments === undefined
      ? new SharedAssignments({ to: shard, barrier: undefined })
      : SharedAssignments.restore(assignments)
  state.peers.received.add(publisher, packetId, { isStored: true, nowMs: state.nowMs, assignments: restored })
  scheduleExpiry(state)
}

function isOwnRecord(ids: UniqueIds, peers: PeerTable, record: StoredRecord): boolean {
  if (record.kind === 'retained') return peers.findOwner(record.message.topic) === undefined
  return !('clientId' in record) || ids.isOwn(record.clientId)
}

function restoreIdentity({ clientId, username, isSuperuser, principal }: SessionRecord): Identity {
  return { ...createIdentity(clientId, username, ''), isSuperuser, principal }
}

function restoreSession(state: Parts<'deadlines' | 'nowMs' | 'sessions'>, record: SessionRecord): void {
  const session = new Session(record.clientId, record.createdAtMs, restoreIdentity(record))
  session.lastConnect.version = record.version
  session.mountpoint = record.mountpoint
  session.expirySeconds = record.expirySeconds
  session.lastConnect.cleanStart = false
  // If the client was connected when the broker ended, the time without a client starts now.
  session.disconnectedAtMs = record.disconnectedAtMs ?? state.nowMs
  session.restored = { identityIsFromDisk: true, isRecovered: record.queueHead === 0 }
  const head = Math.max(record.queueHead, 1)
  // The last records of the queue may be lost. A new message with one of their sequence numbers would seem to be sent already.
  const nextSequence = Math.max(head, record.sentBelow)
  session.stored = {
    ...createPersistentQueue(),
    head,
    nextSequence,
    diskFrom: nextSequence,
    sentBelow: record.sentBelow,
    wasConnectedInCrash: record.disconnectedAtMs === undefined,
  }
  state.sessions.add(session)
  const expiry = toExpiryMs(session)
  if (expiry !== undefined) state.deadlines.set('session-expiry', session.clientId, session.disconnectedAtMs + expiry)
}

/** Restores the position of a session's queue on disk. */
export function restoreQueue(
  state: Parts<'peers' | 'rules' | 'sessions' | 'settings'>,
  queue: { clientId: string; firstSequence: number; lastSequence: number; count: number },
): void {
  const session = state.sessions.get(queue.clientId)
  if (session?.stored === undefined) return
  const { stored } = session
  const { packetIds } = stored
  // A message that has a packet identifier may be lost. The read then finds that, and frees its place in the in-flight window.
  stored.diskFrom = packetIds === undefined ? queue.firstSequence : Math.min(stored.diskFrom, queue.firstSequence)
  stored.head = stored.diskFrom
  stored.nextSequence = Math.max(stored.nextSequence, queue.lastSequence + 1)
  stored.count = queue.count
  if (queue.count < queue.lastSequence - stored.diskFrom + 1) recordGapsBelow(stored, queue.lastSequence + 1)
  if (stored.wasConnectedInCrash) stored.sentBelow = stored.nextSequence
  recordCount(state, session, stored)
}

function restoreSubscription(
  state: Parts<'batches' | 'peers' | 'router' | 'sessions' | 'subscriptions'>,
  record: SubscriptionRecord,
): void {
  const session = state.sessions.get(record.clientId)
  const filter = parseTopicFilter(record.filter)
  if (session === undefined || filter === undefined) return
  const { qos, noLocal, retainAsPublished, retainHandling, identifier } = record
  const kept = { qos, noLocal, retainAsPublished, retainHandling }
  const options = isInternalClient(record.clientId)
    ? { ...kept, identifier: undefined, raisesTo: decodeRequestedQoS(identifier) }
    : ({ ...kept, identifier, raisesTo: 0 } as const)
  session.subscriptions ??= new Map()
  const isNew = !session.subscriptions.has(filter)
  session.subscriptions.set(filter, options)
  if (isNew) state.subscriptions.countSubscription(session, filter, 1)
  // The queue is not read to find messages of earlier shared subscriptions: most queues have none, and are long.
  if (session.stored !== undefined && splitSharedFilter(filter) !== undefined) session.stored.canHoldShared = true
  // A version that had no `$queue/` stored it as a filter like others.
  if (filter !== record.filter) {
    deleteRecord(state.batches, record)
    putRecord(state.batches, { ...record, filter })
  }
  state.router.subscribe(filter, session, options)
  recordHeld(state, session, filter)
  updateInterest(state.peers, toPresence(session), filter, { before: undefined, after: options })
}

function restoreIncoming(
  state: Parts<'nowMs' | 'peers' | 'sessions'>,
  { clientId, packetId, assignments, remaining, isPartial = false }: IncomingRecord,
): void {
  const session = state.sessions.get(clientId)
  if (session === undefined) return
  if (remaining !== undefined) {
    session.incoming.partial ??= new Map()
    const restored = { receivers: remaining, isRouted: false, isAccepted: !isPartial, restoredAtMs: state.nowMs }
    session.incoming.partial.set(packetId, restored)
  }
  if (isPartial) return
  session.incoming.ensurePacketIds().add(packetId, state.nowMs)
  if (state.peers.hasAny) {
    session.incoming.forwarded ??= new ForwardedPacketIds()
    session.incoming.forwarded.restore(
      packetId,
      state.peers.all.map(({ number }) => number),
      assignments === undefined ? undefined : SharedAssignments.restore(assignments),
    )
  }
}

/** Reserves the packet identifier of an outgoing QoS 2 message until the client acknowledges it. The message may be on disk only. */
function restoreOutgoing(sessions: SessionTable, record: OutgoingRecord): void {
  const session = sessions.get(record.clientId)
  if (session?.stored === undefined || session.outgoing.ensureWindow().get(record.packetId) !== undefined) return
  if (record.sequence === abandonedSequence) return session.outgoing.ensureWindow().restoreAbandoned(record.packetId)
  const delivery = new Delivery<SharedGroup<Session>>(undefined, {
    qos: 2,
    retain: false,
    subscriptionIdentifiers: undefined,
    group: undefined,
  })
  delivery.sequence = record.sequence
  delivery.wasSent = true
  session.stored.nextSequence = Math.max(session.stored.nextSequence, record.sequence + 1)
  if (record.stage === 'received') {
    delivery.stage = 'received'
    if (session.stored.packetIds === undefined) session.stored.diskFrom = session.stored.nextSequence
    if (isInternalClient(session.clientId)) {
      session.stored.receivedIds ??= new Map()
      session.stored.receivedIds.set(record.sequence, record.packetId)
    }
  } else {
    const isFirst = session.stored.packetIds === undefined
    session.stored.diskFrom = isFirst ? record.sequence : Math.min(session.stored.diskFrom, record.sequence)
    session.stored.packetIds ??= new Map()
    session.stored.packetIds.set(record.sequence, record.packetId)
  }
  session.outgoing.ensureWindow().addWithId(delivery, record.packetId)
}

function restoreMessage(topics: TopicTable, stored: StoredMessage): Message | undefined {
  const name = parseTopicName(stored.topic)
  return name === undefined ? undefined : createMessageFromStored(stored, topics.internName(name))
}

/**
 * A message that expired while the broker was stopped is due at once: it is not delivered, and its record is deleted.
 */
function restoreRetained(
  state: Parts<'deadlines' | 'memory' | 'namespaces' | 'retained' | 'settings' | 'topics'>,
  stored: StoredMessage,
): void {
  const message = restoreMessage(state.topics, stored)
  if (message !== undefined) putRetained(state, message, 0)
}

/** Restores a handoff. If its shard no longer exists, another shard owns it now. */
function restoreHandoff(state: Parts<'shard' | 'shared' | 'topics'>, record: HandoffRecord): void {
  const { shard, name, to } = record
  const filter = parseTopicFilter(record.filter)
  const message = restoreMessage(state.topics, { ...record.message, isRepeat: true })
  if (filter === undefined || message === undefined || shard % state.shard.count !== state.shard.own) return
  state.shared.restoredHandoffs.push({ key: { shard, name }, to, filter, message })
}

function restoreWill(state: WillParts & Parts<'sessions'>, record: WillRecord): void {
  const will = createRestoredWill(state, record)
  if (will === undefined) return
  const clientId = toClientId(record.clientId)
  const session = state.sessions.get(clientId)
  // An already published will does not concern the session any more, nor a client that reconnects to it.
  if (record.message.isRepeat) return restoreDelayedWill(state, will.name, will, state.nowMs)
  const delayMs = record.delaySeconds * 1_000
  if (session === undefined) {
    const later = selectLaterWill(state, state.wills.delayedWills.get(clientId), will)
    return restoreDelayedWill(state, clientId, later, record.dueAtMs ?? state.nowMs + delayMs)
  }
  session.will = selectLaterWill(state, session.will, will)
  if (session.will !== will) return
  will.dueAtMs = record.dueAtMs ?? session.disconnectedAtMs + delayMs
  state.deadlines.set('will-due', clientId, will.dueAtMs)
}

/** Returns the later of two wills of a client. The earlier one is published: it was due when the client reconnected. */
function selectLaterWill(
  state: Parts<'deadlines' | 'nowMs' | 'wills'>,
  before: SessionWill | undefined,
  will: SessionWill,
): SessionWill {
  if (before === undefined) return will
  const [earlier, later] = before.createdAtMs <= will.createdAtMs ? [before, will] : [will, before]
  restoreDelayedWill(state, earlier.name, earlier, state.nowMs)
  return later
}

function restoreDelayedWill(
  state: Parts<'deadlines' | 'wills'>,
  key: string,
  will: SessionWill,
  dueAtMs: number,
): void {
  will.dueAtMs = dueAtMs
  state.wills.delayedWills.set(key, will)
  state.deadlines.set('will-due', key, dueAtMs)
}
