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

import type { BrokerState, OwedWill } from '../broker-state.ts'
import { fromStored, toStored, type Message } from '../message.ts'
import { messageSize } from '../message-size.ts'
import type { WillRecord } from '../records.ts'
import { clientIdIn, isReserved, reserveName } from '../reserved-names.ts'
import { SessionWill } from '../sessions/session-will.ts'
import { parseTopicName } from '../../protocol/index.ts'
import { put, remove } from './stored-queue.ts'

/** The objects of one will without what its client has chosen, measured with 10,000 of them. */
const willObjectBytes = 200

/** A will that came with CONNECT; its record is in the batch that gathers. */
export function createWill(
  state: BrokerState,
  clientId: string,
  { message, delaySeconds }: { message: Message; delaySeconds: number },
): SessionWill {
  const name = isLarge(state, message) ? reserveName(state, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs: state.nowMs })
  recordWill(state, will, message, undefined)
  if (isReserved(name)) state.unwrittenWills.push({ batch: state.gathering.number, will })
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
  if (isLargeWill && isReserved(clientId)) {
    const will = new SessionWill({ name: clientId, message: undefined, delaySeconds, createdAtMs })
    countWill(state, will)
    return will
  }
  const message = fromStored(stored, state.topics.named(topic))
  const name = isLargeWill ? reserveName(state, clientId) : clientId
  const will = new SessionWill({ name, message, delaySeconds, createdAtMs })
  if (isLargeWill) {
    remove(state, { kind: 'will', clientId })
    recordWill(state, will, message, record.dueAtMs)
    state.unwrittenWills.push({ batch: state.gathering.number, will })
  }
  countWill(state, will)
  return will
}

/** Writes when the will is due. Of a large will the session record says the same: `disconnectedAtMs` and the delay. */
export function recordDueTime(state: BrokerState, will: SessionWill, dueAtMs: number): void {
  if (will.message !== undefined && !isReserved(will.name)) recordWill(state, will, will.message, dueAtMs)
}

function recordWill(state: BrokerState, { name, delaySeconds }: SessionWill, message: Message, dueAtMs?: number): void {
  if (!isReserved(name)) makeRoom(state, name)
  put(state, { kind: 'will', clientId: name, message: toStored(message), delaySeconds, dueAtMs })
}

function isLarge(state: BrokerState, { topic, payloadBytes, properties }: Message): boolean {
  return messageSize(topic.name, payloadBytes, properties) > state.settings.maxWillBytesInMemory
}

function countWill(state: BrokerState, will: SessionWill): void {
  changeHeld(state, will, willObjectBytes + will.name.length + sizeOf(will.message))
}

function changeHeld(state: BrokerState, will: SessionWill, heldBytes: number): void {
  state.memory.add('wills', heldBytes - will.heldBytes)
  will.heldBytes = heldBytes
}

function sizeOf(message: Message | undefined): number {
  return message === undefined ? 0 : messageSize(message.topic.name, message.payloadBytes, message.properties)
}

/** Batches up to `number` are durable: large wills in them are on disk only from now on. */
export function releaseWrittenWills(state: BrokerState, number: number): void {
  const { unwrittenWills } = state
  for (let next = unwrittenWills.peek(); next !== undefined && next.batch <= number; next = unwrittenWills.peek()) {
    unwrittenWills.shift()
    const { will } = next
    will.message = undefined
    if (will.heldBytes > 0) countWill(state, will)
  }
}

/** The will is no longer the session's: it is published or deleted. */
export function releaseWill(state: BrokerState, will: SessionWill): void {
  changeHeld(state, will, 0)
}

/** Of one that was not published, or whose publishing is stored in this batch. `name`: the client id, or a reserved one. */
export function forgetWill(state: BrokerState, name: string): void {
  forgetOwed(state, name)
  if (isReserved(name)) state.gathering.changes.push({ change: 'delete-session', clientId: name })
  else remove(state, { kind: 'will', clientId: name })
}

/** The will has just been given out: what it has to wait for on other shards, if anything, is waited for. */
export function keepUntilTaken(state: BrokerState, name: string, message: Message): void {
  const vow = state.neighbours?.takeVow()
  if (vow === undefined) return
  makeRoom(state, name)
  const owed = { name, message }
  recordOwed(state, owed)
  vow.whenKept(() => {
    if (state.owedWills.get(owed.name) === owed) forgetWill(state, owed.name)
  })
  vow.mark()
}

/** The session has been deleted, and with it all that is on disk of its client. */
export function keepOwedWill(state: BrokerState, clientId: string): void {
  const owed = state.owedWills.get(clientId)
  if (owed !== undefined) recordOwed(state, owed)
}

/** Another will needs the record that this client has. */
function makeRoom(state: BrokerState, clientId: string): void {
  const owed = forgetOwed(state, clientId)
  if (owed === undefined) return
  owed.name = reserveName(state, clientIdIn(clientId))
  recordOwed(state, owed)
}

/** `isRepeat` says of a record that the will has been published. */
function recordOwed(state: BrokerState, owed: OwedWill): void {
  const stored = { ...toStored(owed.message), isRepeat: true }
  put(state, { kind: 'will', clientId: owed.name, message: stored, delaySeconds: 0, dueAtMs: state.nowMs })
  forgetOwed(state, owed.name)
  state.owedWills.set(owed.name, owed)
  state.memory.add('wills', willObjectBytes + sizeOf(owed.message))
}

function forgetOwed(state: BrokerState, name: string): OwedWill | undefined {
  const owed = state.owedWills.get(name)
  if (owed === undefined) return undefined
  state.owedWills.delete(name)
  state.memory.add('wills', -(willObjectBytes + sizeOf(owed.message)))
  return owed
}
