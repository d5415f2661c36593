// What sessions give up while the memory of the node is short: all of them are walked through, a slice in each tick, whenever
// the level is told again. What a client may hold becomes less each time (`MemoryAccount.share`), so those that hold most are met
// first, and those that hold little are left alone.
//
//   soft:  persistent sessions: what waits in memory waits on disk, and so does what is in flight to a client that is away
//   hard:  clean sessions: what waits goes, oldest first ── greedy publishers are not read from until the next look
//          ── a client that acknowledges nothing, or has many aliases, is disconnected with 0x97

import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { MemoryLevel } from '../model/memory-account.ts'
import type { Session, PersistentQueue } from '../state/sessions/session.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'
import { lightenDelivery, waitingBytes } from '../outgoing/held-bytes.ts'
import { dropOldestWaiting } from '../queues/enqueue-for-session.ts'
import { noteGapsBelow } from '../queues/queue-gaps.ts'
import { drainQueue } from '../sessions/drain-queue.ts'
import { moveQueueToDisk } from '../sessions/end-session.ts'
import { maxAliasNameBytes } from '../outgoing/topic-aliases.ts'

/** Places of sessions that are looked at in one tick. */
const placesInSlice = 1_024
/** At the level `hard` a client that sends more between two looks is not read from until the next one. */
const greedyBytes = 1_048_576

/** A client that lets a message wait so long for its acknowledgement is not about to free the memory. */
const slowAnswerMs = 5_000

/** Less in flight to a client that is away is not worth a read when it comes back. */
const worthReadingBytes = 4_096

/** Told of connections that hold more than is left to them. */
export type EndGreedy = (state: BrokerState, connection: Connection) => void

/** The level is another one, or it has been found again: who waits is released, and the walk begins. */
export function startRelief(state: BrokerState, found: { readonly level: MemoryLevel; readonly step: number }): void {
  state.memory.setLevel(found.level, found.step)
  for (const connection of state.waitingForMemory) resumeReading(state, connection, readPauseReasons.memory)
  state.waitingForMemory.clear()
  state.reliefFrom = state.memory.level === 'normal' ? undefined : 0
}

/** The next slice. */
export function continueRelief(state: BrokerState, endGreedy: EndGreedy): void {
  const from = state.reliefFrom
  if (from === undefined) return
  const end = Math.min(from + placesInSlice, state.sessions.places)
  for (let place = from; place < end; place++) {
    const session = state.sessions.at(place)
    if (session !== undefined) relieve(state, session, endGreedy)
  }
  state.reliefFrom = end < state.sessions.places ? end : undefined
}

function relieve(state: BrokerState, session: Session, endGreedy: EndGreedy): void {
  const maxWaitingBytes = state.settings.maxQueuedBytes * state.memory.queuesShare
  const isHard = state.memory.level === 'hard'
  if (waitingBytes(session) > maxWaitingBytes) {
    if (session.stored !== undefined) waitOnDisk(state, session)
    else if (isHard) dropDownTo(state, session, maxWaitingBytes)
  }
  const { connection } = session
  if (connection === undefined && session.stored !== undefined) leaveOnDisk(state, session, session.stored)
  if (connection === undefined || !isHard || connection.listener.isBridge === true) return
  if (isGreedy(state, session, connection)) return endGreedy(state, connection)
  const received = connection.receivedBytes - connection.receivedAtLookBytes
  connection.receivedAtLookBytes = connection.receivedBytes
  if (state.memory.step > 0 && received > greedyBytes) waitForMemory(state, connection)
}

/** It holds more than is left to it, and gives nothing of it back by itself. */
function isGreedy(state: BrokerState, session: Session, connection: Connection): boolean {
  if (connection.incomingAliasNameBytes > maxAliasNameBytes(state)) return true
  const { outgoing } = session
  if (outgoing === undefined || outgoing.bytes <= state.settings.maxInflightBytes * state.memory.queuesShare)
    return false
  let oldestMs = state.nowMs
  outgoing.forEach(({ heldBytes, sentAtMs }) => {
    if (heldBytes > 0 && sentAtMs > 0) oldestMs = Math.min(oldestMs, sentAtMs)
  })
  return state.nowMs - oldestMs > slowAnswerMs
}

function dropDownTo(state: BrokerState, session: Session, maxWaitingBytes: number): void {
  while (waitingBytes(session) > maxWaitingBytes && dropOldestWaiting(state, session, 'memory-full'));
}

function waitOnDisk(state: BrokerState, session: Session): void {
  moveQueueToDisk(state, session)
  drainQueue(state, session)
}

/**
 * What is in flight to a client that is away is read again when it comes back, and keeps its packet id. What a shared group gave
 * may have to go to another member then, and a bridge's is kept whole until PUBCOMP: these stay.
 */
function leaveOnDisk(state: BrokerState, session: Session, stored: PersistentQueue): void {
  const { outgoing } = session
  if (outgoing === undefined || outgoing.bytes < worthReadingBytes || session.spool !== undefined) return
  outgoing.forEach((delivery) => {
    const { message, sequence, packetId, stage, group } = delivery
    if (message === undefined || sequence === 0 || stage !== 'sent' || group !== undefined) return
    lightenDelivery(state, session, delivery)
    if (message.bodyId !== 0) {
      stored.payloadsOnDisk ??= new Map()
      stored.payloadsOnDisk.set(sequence, message.bodyId)
    }
    delivery.message = undefined
    delivery.stage = 'waiting'
    stored.packetIds ??= new Map()
    stored.packetIds.set(sequence, packetId)
    // What was acknowledged between them has no record.
    if (sequence < stored.diskFrom) noteGapsBelow(stored, stored.diskFrom)
    stored.diskFrom = Math.min(stored.diskFrom, sequence)
  })
}

function waitForMemory(state: BrokerState, connection: Connection): void {
  state.waitingForMemory.add(connection)
  pauseReading(state, connection, readPauseReasons.memory)
}
