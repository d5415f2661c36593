// Frees memory of sessions while the node is short of memory. The core visits all sessions, one slice per tick, each time
// the memory level is reported. The share of each client decreases each time (`MemoryAccount.shareOf`), so the clients that use most
// memory are affected first, and clients with little memory are not affected.
//
//   soft:  persistent sessions: queued messages move to disk, and in-flight messages of disconnected clients as well
//   hard:  clean sessions: queued messages are dropped, oldest first ── reading from fast publishers pauses until the next
//          visit ── a client that does not acknowledge, or has many aliases, is disconnected with 0x97

import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { MemoryLevel, MemoryAccount } from '../model/memory-account.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import { releaseInFlightMemory, countWaitingBytes } from '../outgoing/delivery-memory.ts'
import { dropOldestWaiting } from '../queues/enqueue-for-session.ts'
import { recordGapsBelow } from '../queues/queue-gaps.ts'
import { drainQueue } from '../sessions/drain-queue.ts'
import { moveQueueToDisk } from '../sessions/end-session.ts'
import { computeMaxAliasNameBytes } from '../outgoing/topic-aliases.ts'

/** Maximum number of sessions that are visited in one tick. */
const maxSessionsPerTick = 1_024
/** At the level `hard`, reading pauses for a client that sent more bytes than this since the last visit. */
const maxReceivedBytes = 1_048_576

/** A client whose oldest unacknowledged message is older than this is not expected to free memory. */
const slowAckMs = 5_000

/** If fewer bytes are in flight to a disconnected client, they stay in memory, because reading them again costs more. */
const minReleasedBytes = 4_096

/** Disconnects a client that uses more than its share. */
export type DisconnectClient = (state: BrokerState, connection: Connection) => void

/** Called when the level changed or was reported again. Paused clients may continue, and the visit of all sessions starts. */
export function startRelief(
  state: Parts<'memory' | 'nowMs' | 'outputs' | 'sessions' | 'waiting'>,
  found: { readonly level: MemoryLevel; readonly step: number },
): void {
  state.memory.setLevel(found.level, found.step)
  for (const connection of state.waiting.forMemory) resumeReading(state, connection, readPauseReasons.memory)
  state.waiting.forMemory.clear()
  state.sessions.reliefFrom = state.memory.level === 'normal' ? undefined : 0
}

/** Visits the next sessions. */
export function continueRelief(state: BrokerState, disconnectForMemory: DisconnectClient): void {
  const from = state.sessions.reliefFrom
  if (from === undefined) return
  const end = Math.min(from + maxSessionsPerTick, state.sessions.places)
  for (let place = from; place < end; place++) {
    const session = state.sessions.at(place)
    if (session !== undefined) relieve(state, session, disconnectForMemory)
  }
  state.sessions.reliefFrom = end < state.sessions.places ? end : undefined
}

function relieve(state: BrokerState, session: Session, disconnectForMemory: DisconnectClient): void {
  const maxWaitingBytes = state.settings.maxQueuedBytes * state.memory.queuesShare
  const isHard = state.memory.level === 'hard'
  if (countWaitingBytes(session) > maxWaitingBytes) {
    if (session.stored !== undefined) moveToDisk(state, session)
    else if (isHard) dropToLimit(state, session, maxWaitingBytes)
  }
  const { connection } = session
  if (connection === undefined && session.stored !== undefined) unloadInFlight(state.memory, session, session.stored)
  if (connection === undefined || !isHard || connection.listener.isInternal === true) return
  if (exceedsShare(state, session, connection)) return disconnectForMemory(state, connection)
  const received = connection.receivedBytes - connection.receivedAtLookBytes
  connection.receivedAtLookBytes = connection.receivedBytes
  if (state.memory.step > 0 && received > maxReceivedBytes) waitForMemory(state, connection)
}

/** Returns whether a client holds more than its share and does not free any of it. */
function exceedsShare(
  state: Parts<'memory' | 'nowMs' | 'settings'>,
  session: Session,
  connection: Connection,
): boolean {
  if (connection.incomingAliasNameBytes > computeMaxAliasNameBytes(state)) return true
  const { inflight } = session.outgoing
  if (inflight === undefined || inflight.bytes <= state.settings.maxInflightBytes * state.memory.queuesShare)
    return false
  let oldestMs = state.nowMs
  inflight.forEach(({ heldBytes, sentAtMs }) => {
    if (heldBytes > 0 && sentAtMs > 0) oldestMs = Math.min(oldestMs, sentAtMs)
  })
  return state.nowMs - oldestMs > slowAckMs
}

function dropToLimit(state: Parts<'counts' | 'memory'>, session: Session, maxWaitingBytes: number): void {
  while (countWaitingBytes(session) > maxWaitingBytes && dropOldestWaiting(state, session, 'memory-full'));
}

function moveToDisk(state: DrainParts, session: Session): void {
  moveQueueToDisk(state.memory, session)
  drainQueue(state, session)
}

/**
 * Removes in-flight messages of a disconnected client from memory. They are read again when it reconnects, and keep
 * their packet identifiers. Messages of shared subscriptions may have to go to another member, and those of bridges
 * stay complete until PUBCOMP: both remain in memory.
 */
function unloadInFlight(memory: MemoryAccount, session: Session, stored: PersistentQueue): void {
  const { inflight } = session.outgoing
  if (inflight === undefined || inflight.bytes < minReleasedBytes || session.internal?.spool !== undefined) return
  inflight.forEach((delivery) => {
    const { message, sequence, packetId, stage, group } = delivery
    if (message === undefined || sequence === 0 || stage !== 'sent' || group !== undefined) return
    releaseInFlightMemory(memory, session, delivery)
    if (message.payloadId !== 0) {
      stored.payloadsOnDisk ??= new Map()
      stored.payloadsOnDisk.set(sequence, message.payloadId)
    }
    delivery.message = undefined
    delivery.stage = 'waiting'
    stored.packetIds ??= new Map()
    stored.packetIds.set(sequence, packetId)
    // Acknowledged messages in between have no record.
    if (sequence < stored.diskFrom) recordGapsBelow(stored, stored.diskFrom)
    stored.diskFrom = Math.min(stored.diskFrom, sequence)
  })
}

function waitForMemory(state: Parts<'outputs' | 'waiting'>, connection: Connection): void {
  state.waiting.forMemory.add(connection)
  pauseReading(state.outputs, connection, readPauseReasons.memory)
}
