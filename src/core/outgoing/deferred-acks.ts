// Acknowledgements that wait for commits on peers. They are sent in the order of the packets that they acknowledge.

import type { Batches } from '../model/batches.ts'
import type { AckParts, Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { reasonCodes, type ControlPacket } from '../../protocol/index.ts'
import { recordAck } from './handle-commit.ts'
import { sendAck, sendPacket } from './send-to-client.ts'

/**
 * Sends a packet when the barrier is complete. `waits`: the packet also confirms changes of the open batch of this shard, so the
 * barrier includes that batch.
 */
export function ackWhenCommitted(
  state: AckParts,
  connection: Connection,
  answer: { what: Ack | ControlPacket; barrier: CommitBarrier; waits: boolean },
): void {
  const { what: ack, barrier } = answer
  if (answer.waits) addOpenBatch(state, barrier)
  connection.deferredAcks ??= []
  connection.deferredAcks.push({ ack, barrier, batch: 0 })
  barrier.whenComplete(() => release(state, connection))
}

/** Adds the commit of the open batch, or of the last batch that is not committed, to the barrier. */
export function addOpenBatch(state: Parts<'batches' | 'storage'>, barrier: CommitBarrier): void {
  const batch = state.batches.lastOpenNumber
  if (batch <= state.batches.committed) return
  barrier.expect()
  state.storage.barriersByBatch.push({ batch, barrier })
}

/**
 * Called before the broker sends DISCONNECT, which no packet may follow. The commit of a peer may take any time, so these packets
 * are not acknowledged: the client sends them again after it reconnects.
 */
export function dropDeferredAcks(connection: Connection): void {
  connection.deferredAcks = undefined
}

function release(state: Parts<'batches' | 'nowMs' | 'outputs' | 'settings'>, connection: Connection): void {
  const deferred = connection.deferredAcks
  if (deferred === undefined) return
  let count = 0
  while (count < deferred.length && deferred[count].barrier?.isComplete !== false) count++
  if (count === 0) return
  connection.deferredAcks = undefined
  for (const ack of deferred.slice(0, count)) send(state, connection, ack)
  if (count < deferred.length) connection.deferredAcks = deferred.slice(count)
  // The client sent DISCONNECT meanwhile, and this was its last acknowledgement.
  else if (connection.now.state === 'closing') closeStream(state, connection)
}

/** Closes the stream after everything sent to it was written. */
export function closeStream(state: Parts<'batches' | 'outputs'>, connection: Connection): void {
  state.outputs.closes.push({ connection, afterBatch: deferredUntil(state.batches, connection) })
}

/** Returns the batch for which the packets to this connection wait; 0: none. */
export function deferredUntil(batches: Batches, connection: Connection): number {
  const batch = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  return batch > batches.committed ? batch : 0
}

function send(
  state: Parts<'batches' | 'nowMs' | 'outputs' | 'settings'>,
  connection: Connection,
  { ack, barrier, batch }: DeferredAck,
): void {
  const waits = batch > state.batches.committed
  // An `Ack` has `waits`; any other packet, such as SUBACK, has not.
  if (!('waits' in ack)) return sendPacket(state, connection, ack, waits)
  const reason = barrier?.refusal ?? ack.reason
  const isDeferred = sendAck(state, connection, { ...ack, reason: reason ?? reasonCodes.success, waits })
  const isForPublish = ack.type === 'puback' || (ack.type === 'pubrec' && !connection.canRefuseMessages)
  // An acknowledgement that waits for a commit is counted after the commit.
  if (isForPublish && !isDeferred && connection.unacknowledgedPublishes > 0) recordAck(state, connection)
}
