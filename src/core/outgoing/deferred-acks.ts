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
  answer: { what: Ack | ControlPacket; vow: CommitBarrier; waits: boolean },
): void {
  const { what, vow } = answer
  if (answer.waits) deferUntilBatch(state, vow)
  connection.heldAnswers ??= []
  connection.heldAnswers.push({ what, vow, batch: 0 })
  vow.whenKept(() => release(state, connection))
}

/** The vow waits for what is on its way to the disk as well, if anything is. */
export function deferUntilBatch(state: BrokerState, vow: CommitBarrier): void {
  const batch = state.batches.lastBegun
  if (batch <= state.committedBatch) return
  vow.await()
  state.untilBatch.push({ batch, vow })
}

/** Nothing may follow our DISCONNECT, and nobody can say how long another shard takes: the client asks again. */
export function dropDeferredAcks(connection: Connection): void {
  connection.heldAnswers = undefined
}

function release(state: BrokerState, connection: Connection): void {
  const held = connection.heldAnswers
  if (held === undefined) return
  let count = 0
  while (count < held.length && (held[count].vow === undefined || held[count].vow?.isKept === true)) count++
  if (count === 0) return
  connection.heldAnswers = undefined
  for (const answer of held.slice(0, count)) send(state, connection, answer)
  if (count < held.length) connection.heldAnswers = held.slice(count)
  // Its client has said good-bye meanwhile: that was the last of it.
  else if (connection.now.state === 'closing') closeStream(state, connection)
}

/** Ends the stream behind what was sent to it. */
export function closeStream(state: BrokerState, connection: Connection): void {
  state.closes.push({ connection, afterBatch: deferredUntil(state, connection) })
}

/** The batch that what was sent to it waits for; 0: it has left. */
export function deferredUntil(state: BrokerState, connection: Connection): number {
  const held = Math.max(connection.heldUntilBatch, connection.acksHeldUntilBatch)
  return held > state.committedBatch ? held : 0
}

function send(state: BrokerState, connection: Connection, { what, vow, batch }: DeferredAck): void {
  const waits = batch > state.committedBatch
  if (!('waits' in what)) return sendPacket(state, connection, what, waits)
  const reason = vow?.refusal ?? what.reason
  const isHeld = sendAck(state, connection, { ...what, reason: reason ?? reasonCodes.success, waits })
  const isAnswer = what.type === 'puback' || (what.type === 'pubrec' && !connection.takesRefusals)
  // What waits for the disk now is counted when that has it.
  if (isAnswer && !isHeld && connection.unansweredPublishes > 0) recordAck(state, connection)
}
