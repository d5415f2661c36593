// What is on disk of the will of a client, and for how long.
//
//   its client is there ──► due at a time ──► published: gone with the batch that has what it brought to this shard
//                                       \
//                                        ╰──► published and owed, until every shard that must keep it has it on disk
//
// A client has one record of a small will. What an earlier will of it is still owed to is kept under a reserved name, where a
// later one needs the place. A large will has a reserved name from the start and leaves memory when its record is durable: see
// `publish-will.ts` for how it is read again.
//
// Should this shard die, or stop, while a will is owed, it is published to the others again when it is back; not to the sessions
// here, which have it. It may come twice to a shard that had taken it before.

import type { BrokerState, PendingWill } from '../state/broker-state.ts'
import { fromStored, toStored, type Message } from '../model/message.ts'
import { messageSize } from '../model/message-size.ts'
import type { WillRecord } from '../../records/index.ts'
import { clientIdIn, isInternalName, reserveInternalName } from '../namespaces/internal-session-names.ts'
import { countWill, pendingWillBytes } from '../outgoing/will-bytes.ts'
import { SessionWill } from '../state/sessions/session-will.ts'
import { parseTopicName } from '../../protocol/index.ts'
import { putRecord, deleteRecord } from '../queues/persistent-queue.ts'

/** A will that came with CONNECT; its record is in the batch that gathers. */
export function createWill(
  state: BrokerState,
  clientId: string,
  { message, delaySeconds }: { message: Message; delaySeconds: number },
): SessionWill {
  const name = isLarge(state, message) ? reserveInternalName(state, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs: state.nowMs })
  recordWill(state, will, message, undefined)
  if (isInternalName(name)) state.unwrittenWills.push({ batch: state.openBatch.number, will })
  countWill(state, will)
  return will
}

/**
 * A will that was stored before this start; undefined: its topic is damaged. A large will that has the record of its client ID is
 * moved to a reserved name: written by an earlier version or with a higher limit.
 */
export function restoredWill(state: BrokerState, record: WillRecord): SessionWill | undefined {
  const { clientId, delaySeconds, message: stored } = record
  const topic = parseTopicName(stored.topic)
  if (topic === undefined) return undefined
  const createdAtMs = stored.publishedAtMs
  const isLargeWill =
    messageSize(stored.topic, stored.payload.length, stored.properties) > state.settings.maxWillBytesInMemory
  if (isLargeWill && isInternalName(clientId)) {
    const will = new SessionWill({ name: clientId, message: undefined, delaySeconds, createdAtMs })
    countWill(state, will)
    return will
  }
  const message = fromStored(stored, state.topics.named(topic))
  const name = isLargeWill ? reserveInternalName(state, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs })
  if (isLargeWill) {
    deleteRecord(state, { kind: 'will', clientId })
    recordWill(state, will, message, record.dueAtMs)
    state.unwrittenWills.push({ batch: state.openBatch.number, will })
  }
  countWill(state, will)
  return will
}

/** Writes when the will is due. Of a large will the session record says the same: `disconnectedAtMs` and the delay. */
export function recordDueTime(state: BrokerState, will: SessionWill, dueAtMs: number): void {
  if (will.message !== undefined && !isInternalName(will.name)) recordWill(state, will, will.message, dueAtMs)
}

function recordWill(state: BrokerState, { name, delaySeconds }: SessionWill, message: Message, dueAtMs?: number): void {
  if (!isInternalName(name)) renamePendingWill(state, name)
  putRecord(state, { kind: 'will', clientId: name, message: toStored(message), delaySeconds, dueAtMs })
}

function isLarge(state: BrokerState, { topic, payloadBytes, properties }: Message): boolean {
  return messageSize(topic.name, payloadBytes, properties) > state.settings.maxWillBytesInMemory
}

/** Of one that was not published, or whose publishing is stored in this batch. `name`: the client id, or a reserved one. */
export function deleteWill(state: BrokerState, name: string): void {
  forgetOwed(state, name)
  if (isInternalName(name)) state.openBatch.changes.push({ change: 'delete-session', clientId: name })
  else deleteRecord(state, { kind: 'will', clientId: name })
}

/** The will has just been given out: what it has to wait for on other shards, if anything, is waited for. */
export function storeUntilCommitted(state: BrokerState, name: string, message: Message): void {
  const barrier = state.peerTable?.takeBarrier()
  if (barrier === undefined) return
  renamePendingWill(state, name)
  const owed = { name, message }
  recordPendingWill(state, owed)
  barrier.whenComplete(() => {
    if (state.pendingWills.get(owed.name) === owed) deleteWill(state, owed.name)
  })
  barrier.arrive()
}

/** The session has been deleted, and with it all that is on disk of its client. */
export function storePendingWill(state: BrokerState, clientId: string): void {
  const owed = state.pendingWills.get(clientId)
  if (owed !== undefined) recordPendingWill(state, owed)
}

/** Another will needs the record that this client has. */
function renamePendingWill(state: BrokerState, clientId: string): void {
  const owed = forgetOwed(state, clientId)
  if (owed === undefined) return
  owed.name = reserveInternalName(state, clientIdIn(clientId))
  recordPendingWill(state, owed)
}

/** `isRepeat` says of a record that the will has been published. */
function recordPendingWill(state: BrokerState, owed: PendingWill): void {
  const stored = { ...toStored(owed.message), isRepeat: true }
  putRecord(state, { kind: 'will', clientId: owed.name, message: stored, delaySeconds: 0, dueAtMs: state.nowMs })
  forgetOwed(state, owed.name)
  state.pendingWills.set(owed.name, owed)
  state.memory.add('wills', pendingWillBytes(owed.message))
}

function forgetOwed(state: BrokerState, name: string): PendingWill | undefined {
  const owed = state.pendingWills.get(name)
  if (owed === undefined) return undefined
  state.pendingWills.delete(name)
  state.memory.add('wills', -pendingWillBytes(owed.message))
  return owed
}
