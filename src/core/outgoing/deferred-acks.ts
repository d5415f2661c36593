// Answers that stand for something on other shards: they leave when that is true everywhere, in the order in which
// their packets came.

import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { reasonCodes, type ControlPacket } from '../../protocol/index.ts'
import { recordAck } from './handle-commit.ts'
import { sendAck, sendPacket } from './send-to-client.ts'

/** As `sendAck` and `sendPacket`, once the vow is kept. `waits`: what is in the batch that gathers is part of it. */
export function ackWhenCommitted(
  state: BrokerState,
  connection: Connection,
  answer: { what: Ack | ControlPacket; barrier: CommitBarrier; waits: boolean },
): void {
  const { what: ack, barrier } = answer
  if (answer.waits) deferUntilBatch(state, barrier)
  connection.deferredAcks ??= []
  connection.deferredAcks.push({ ack, barrier, batch: 0 })
  barrier.whenComplete(() => release(state, connection))
}

/** The vow waits for what is on its way to the disk as well, if anything is. */
export function deferUntilBatch(state: BrokerState, barrier: CommitBarrier): void {
  const batch = state.batches.lastOpenNumber
  if (batch <= state.committedBatch) return
  barrier.expect()
  state.barriersByBatch.push({ batch, barrier })
}

/** Nothing may follow our DISCONNECT, and nobody can say how long another shard takes: the client asks again. */
export function dropDeferredAcks(connection: Connection): void {
  connection.deferredAcks = undefined
}

function release(state: BrokerState, connection: Connection): void {
  const held = connection.deferredAcks
  if (held === undefined) return
  let count = 0
  while (count < held.length && (held[count].barrier === undefined || held[count].barrier?.isComplete === true)) count++
  if (count === 0) return
  connection.deferredAcks = undefined
  for (const answer of held.slice(0, count)) send(state, connection, answer)
  if (count < held.length) connection.deferredAcks = held.slice(count)
  // Its client has said good-bye meanwhile: that was the last of it.
  else if (connection.now.state === 'closing') closeStream(state, connection)
}

/** Ends the stream behind what was sent to it. */
export function closeStream(state: BrokerState, connection: Connection): void {
  state.closes.push({ connection, afterBatch: deferredUntil(state, connection) })
}

/** The batch that what was sent to it waits for; 0: it has left. */
export function deferredUntil(state: BrokerState, connection: Connection): number {
  const held = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  return held > state.committedBatch ? held : 0
}

function send(state: BrokerState, connection: Connection, { ack, barrier, batch }: DeferredAck): void {
  const waits = batch > state.committedBatch
  if (!('waits' in ack)) return sendPacket(state, connection, ack, waits)
  const reason = barrier?.refusal ?? ack.reason
  const isHeld = sendAck(state, connection, { ...ack, reason: reason ?? reasonCodes.success, waits })
  const isAnswer = ack.type === 'puback' || (ack.type === 'pubrec' && !connection.canRefuseMessages)
  // What waits for the disk now is counted when that has it.
  if (isAnswer && !isHeld && connection.unacknowledgedPublishes > 0) recordAck(state, connection)
}
