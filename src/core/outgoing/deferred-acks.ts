// Acknowledgements that wait for commits on peers. They are sent in the order of the packets that they acknowledge.

import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { reasonCodes, type ControlPacket } from '../../protocol/index.ts'
import { recordAck } from './handle-commit.ts'
import { sendAck, sendPacket } from './send-to-client.ts'

/**
 * Does what `sendAck` and `sendPacket` do, after the barrier is complete. `waits`: the packet confirms changes of the
 * open batch, too.
 */
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

/** Adds the open batch, or the last one that is not committed, to the barrier. */
export function deferUntilBatch(state: BrokerState, barrier: CommitBarrier): void {
  const batch = state.batches.lastOpenNumber
  if (batch <= state.batches.committed) return
  barrier.expect()
  state.storage.barriersByBatch.push({ batch, barrier })
}

/**
 * Called before the broker's DISCONNECT, which nothing may follow: the time of a peer is unknown, so the client sends
 * its packets again after it reconnects.
 */
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
  // The client sent DISCONNECT meanwhile, and this was its last acknowledgement.
  else if (connection.now.state === 'closing') closeStream(state, connection)
}

/** Closes the stream after everything sent to it was written. */
export function closeStream(state: BrokerState, connection: Connection): void {
  state.outputs.closes.push({ connection, afterBatch: deferredUntil(state, connection) })
}

/** Returns the batch that the packets sent to it wait for; 0: none. */
export function deferredUntil(state: BrokerState, connection: Connection): number {
  const held = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  return held > state.batches.committed ? held : 0
}

function send(state: BrokerState, connection: Connection, { ack, barrier, batch }: DeferredAck): void {
  const waits = batch > state.batches.committed
  if (!('waits' in ack)) return sendPacket(state, connection, ack, waits)
  const reason = barrier?.refusal ?? ack.reason
  const isHeld = sendAck(state, connection, { ...ack, reason: reason ?? reasonCodes.success, waits })
  const isAnswer = ack.type === 'puback' || (ack.type === 'pubrec' && !connection.canRefuseMessages)
  // An acknowledgement that waits for a commit is counted after the commit.
  if (isAnswer && !isHeld && connection.unacknowledgedPublishes > 0) recordAck(state, connection)
}
