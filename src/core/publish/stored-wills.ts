// The records of the will of a client, from CONNECT until every shard that must store the will has committed it.
//
//   client connected ──► due at a time ──► published: deleted in the batch of its deliveries on this shard
//                                    \
//                                     ╰──► published and pending, until every shard that must store it has committed it
//
// A client has one record of a small will. If an earlier will is still pending, it moves to a reserved name when a later one
// needs the record. A large will has a reserved name from the start and is removed from memory when its record is durable:
// `publish-will.ts` reads it again.
//
// If this shard fails or stops while a will is pending, it publishes the will to its peers again after the restart. Its own
// sessions have the will already. A peer that had committed it may get it twice. A QoS 2 delayed message (`delay-message.ts`) has a
// name, by which peers recognise it until its record is deleted.

import type { CoreSettings } from '../model/core-settings.ts'
import type { Parts, ReleaseParts, WillRecordParts } from '../state/parts.ts'
import type { PendingWill, WillState } from '../state/will-state.ts'
import { createMessageFromStored, toStored, type Message } from '../messages/message.ts'
import { measureMessage } from '../messages/measure-message.ts'
import type { RemainingReceivers, WillRecord } from '../../records/index.ts'
import {
  toClientId,
  isDelayedName,
  isInternalName,
  toDelayedPeerName,
  reserveInternalName,
} from '../namespaces/internal-session-names.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import type { PeerPublish } from '../model/peer-messages.ts'
import { sendRelease } from '../peers/qos2-forwarding.ts'
import { countWill, measurePendingWill } from '../outgoing/will-memory.ts'
import { SessionWill } from '../state/sessions/session-will.ts'
import { parseTopicName } from '../../protocol/index.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** Creates the will of a CONNECT; its record is in the open batch. */
export function createWill(
  state: WillRecordParts & Parts<'settings'>,
  clientId: string,
  { message, delaySeconds }: { message: Message; delaySeconds: number },
): SessionWill {
  const name = isLarge(state.settings, message) ? reserveInternalName(state.ids, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs: state.nowMs })
  recordWill(state, will, message, undefined)
  if (isInternalName(name)) state.wills.unwritten.push({ batch: state.batches.openBatch.number, will })
  countWill(state.memory, will)
  return will
}

/**
 * Returns a will that was stored before this start; undefined if its topic is damaged. A large will under the client
 * ID, of an earlier version or a higher limit, moves to a reserved name.
 */
export function createRestoredWill(
  state: WillRecordParts & Parts<'settings' | 'topics'>,
  record: WillRecord,
): SessionWill | undefined {
  const { clientId, delaySeconds, message: stored } = record
  const topic = parseTopicName(stored.topic)
  if (topic === undefined) return undefined
  const createdAtMs = stored.publishedAtMs
  if (record.remaining !== undefined) state.wills.remaining.set(clientId, record.remaining)
  const isLargeWill =
    measureMessage(stored.topic, stored.payload.length, stored.properties) > state.settings.maxWillBytesInMemory
  if (isLargeWill && isInternalName(clientId)) {
    const will = new SessionWill({ name: clientId, message: undefined, delaySeconds, createdAtMs })
    countWill(state.memory, will)
    return will
  }
  const message = createMessageFromStored(stored, state.topics.internName(topic))
  const name = isLargeWill ? reserveInternalName(state.ids, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs })
  if (isLargeWill) {
    deleteRecord(state.batches, { kind: 'will', clientId })
    moveRemaining(state.wills, clientId, name)
    recordWill(state, will, message, record.dueAtMs)
    state.wills.unwritten.push({ batch: state.batches.openBatch.number, will })
  }
  countWill(state.memory, will)
  return will
}

function moveRemaining({ remaining }: WillState, from: string, to: string): void {
  const receivers = remaining.get(from)
  remaining.delete(from)
  if (receivers !== undefined) remaining.set(to, receivers)
}

/** Stores when the will is due. For a large will the session record contains this: `disconnectedAtMs` and the delay. */
export function recordDueTime(state: WillRecordParts, will: SessionWill, dueAtMs: number): void {
  if (will.message !== undefined && !isInternalName(will.name)) recordWill(state, will, will.message, dueAtMs)
}

function recordWill(
  state: WillRecordParts,
  { name, delaySeconds }: SessionWill,
  message: Message,
  dueAtMs?: number,
): void {
  if (!isInternalName(name)) renamePendingWill(state, name)
  const remaining = state.wills.remaining.get(name)
  putRecord(state.batches, {
    kind: 'will',
    clientId: name,
    message: toStored(message),
    delaySeconds,
    dueAtMs,
    remaining,
  })
}

function isLarge(settings: CoreSettings, { topic, payloadBytes, properties }: Message): boolean {
  return measureMessage(topic.name, payloadBytes, properties) > settings.maxWillBytesInMemory
}

/**
 * Deletes a will that is not published, or whose publication is stored in this batch. `name` is the client ID or a
 * reserved one.
 */
export function deleteWill(state: Parts<'batches' | 'memory' | 'wills'>, name: string): void {
  removePendingWill(state, name)
  state.wills.remaining.delete(name)
  if (isInternalName(name)) state.batches.openBatch.changes.push({ change: 'delete-session', clientId: name })
  else deleteRecord(state.batches, { kind: 'will', clientId: name })
}

/** Called when the will was delivered. The will stays pending until all peers that must store it have committed it. */
export function storeUntilCommitted(
  state: ReleaseParts & Parts<'memory' | 'nowMs' | 'wills'>,
  name: string,
  message: Message,
  remaining?: RemainingReceivers,
): void {
  const barrier = state.peers.takeBarrier()
  if (barrier === undefined) return
  renamePendingWill(state, name)
  const pending = { name, message, remaining }
  recordPendingWill(state, pending)
  const onceKey = createOnceKey(name, message)
  barrier.runWhenComplete(() => {
    if (state.wills.pending.get(pending.name) !== pending) return
    deleteWill(state, pending.name)
    if (onceKey !== undefined) releaseWhenDeleted(state, onceKey)
  })
  barrier.arrive()
}

/** Packet identifier of all unique names, because each unique name is used for one message. */
const onlyPacketId = 1

/**
 * Returns the name by which peers recognise a QoS 2 delayed message that this shard publishes again after a failure;
 * undefined for others.
 */
export function createOnceKey(name: string, { qos }: Message): PeerPublish['exactlyOnce'] {
  if (qos !== 2 || !isDelayedName(name)) return undefined
  return { publisher: toDelayedPeerName(name), packetId: onlyPacketId }
}

/** Releases the key on the peers when the record is deleted. Until then, this shard may publish the message again after a failure. */
function releaseWhenDeleted(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'peers' | 'storage'>,
  onceKey: NonNullable<PeerPublish['exactlyOnce']>,
): void {
  const isDeleted = new CommitBarrier()
  state.storage.barriersByBatch.push({ batch: state.batches.openBatch.number, barrier: isDeleted })
  const release = { kind: 'release', ...onceKey } as const
  sendRelease(state, release, { peers: state.peers.all, behind: [isDeleted], barrier: new CommitBarrier() })
}

/** Stores a pending will again, because all records of its client were deleted with the session. */
export function storePendingWill(state: WillRecordParts, clientId: string): void {
  const pending = state.wills.pending.get(clientId)
  if (pending !== undefined) recordPendingWill(state, pending)
}

/** Moves a pending will to a reserved name, because another will needs the record of this client. */
function renamePendingWill(state: WillRecordParts, clientId: string): void {
  const pending = removePendingWill(state, clientId)
  if (pending === undefined) return
  pending.name = reserveInternalName(state.ids, toClientId(clientId))
  recordPendingWill(state, pending)
}

/** Stores a pending will. In its record, `isRepeat` means that the will has been published. */
function recordPendingWill(state: WillRecordParts, pending: PendingWill): void {
  const stored = { ...toStored(pending.message), isRepeat: true }
  putRecord(state.batches, {
    kind: 'will',
    clientId: pending.name,
    message: stored,
    delaySeconds: 0,
    dueAtMs: state.nowMs,
    remaining: pending.remaining,
  })
  removePendingWill(state, pending.name)
  state.wills.pending.set(pending.name, pending)
  state.memory.add('wills', measurePendingWill(pending.message))
}

function removePendingWill(state: Parts<'memory' | 'wills'>, name: string): PendingWill | undefined {
  const pending = state.wills.pending.get(name)
  if (pending === undefined) return undefined
  state.wills.pending.delete(name)
  state.memory.add('wills', -measurePendingWill(pending.message))
  return pending
}
