// Acknowledgements that wait for commits on peers. They are sent in the order of the packets that they acknowledge.

import type { Batches } from '../model/batches.ts'
import type { AckParts, Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { Ack, DeferredAck } from '../model/deferred-ack.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import type { Refused } from '../model/packet-refusal.ts'
import { getState } from '../state/connection-state.ts'
import { reasonCodes, type ControlPacket } from '../../protocol/index.ts'
import { recordAck } from './handle-commit.ts'
import { sendAck, sendPacket } from './send-to-client.ts'

const refusedByPeer: Refused = {
  reason: reasonCodes.quotaExceeded,
  cause: 'receiver-full',
  text: 'the queue of a persistent session on another shard is full: see mqtt.max_stored_messages',
}

/**
 * Sends a packet when the barrier is complete. `waitsForBatch`: the packet also confirms changes of the open batch of this shard,
 * so that batch is added to the barrier.
 */
export function deferAck(
  state: AckParts,
  connection: Connection,
  { ack, barrier, waitsForBatch }: { ack: Ack | ControlPacket; barrier: CommitBarrier; waitsForBatch: boolean },
): void {
  if (waitsForBatch) addOpenBatch(state, barrier)
  connection.deferredAcks ??= []
  connection.deferredAcks.push({ ack, barrier, batch: 0 })
  barrier.runWhenComplete(() => release(state, connection))
}

/** Adds the commit of the open batch to the barrier; without an open batch, that of the last batch that is not committed. */
export function addOpenBatch(state: Parts<'batches' | 'storage'>, barrier: CommitBarrier): void {
  const batch = state.batches.lastOpenNumber
  if (batch <= state.batches.committed) return
  barrier.expect()
  state.storage.barriersByBatch.push({ batch, barrier })
}

/**
 * Called before the broker sends DISCONNECT, after which it may send nothing. Commits of peers have no time limit, so these packets
 * are not acknowledged: the client sends them again after it reconnects.
 */
export function dropDeferredAcks(connection: Connection): void {
  connection.deferredAcks = undefined
}

function release(state: Parts<'batches' | 'counts' | 'nowMs' | 'outputs' | 'settings'>, connection: Connection): void {
  const deferred = connection.deferredAcks
  if (deferred === undefined) return
  let count = 0
  while (count < deferred.length && deferred[count].barrier?.isComplete !== false) {
    if (isRefusedWithoutReason(connection, deferred[count])) {
      // It stays the first in the list, so nothing is acknowledged behind it until the stream has ended.
      recordRefusal(state, connection, deferred[count].ack)
      state.outputs.closes.push({ connection, afterBatch: findAwaitedBatch(state.batches, connection) })
      deferred[count] = { ...deferred[count], barrier: new CommitBarrier() }
      break
    }
    count++
  }
  if (count === 0) return
  connection.deferredAcks = undefined
  for (const ack of deferred.slice(0, count)) send(state, connection, ack)
  if (count < deferred.length) connection.deferredAcks = deferred.slice(count)
  // The client sent DISCONNECT meanwhile, and this was its last acknowledgement.
  else if (connection.now.state === 'closing') closeStream(state, connection)
}

/**
 * Another shard refused the message, and the client can get no reason code. An acknowledgement would confirm a message that is not stored, so
 * the connection is closed without it [MQTT-4.4.0-1]: the client sends the message again after it reconnects.
 */
function isRefusedWithoutReason({ canRefuseMessages }: Connection, { ack, barrier }: DeferredAck): boolean {
  return barrier?.refusal !== undefined && !canRefuseMessages && 'waits' in ack
}

function recordRefusal({ counts }: Parts<'counts'>, connection: Connection, ack: Ack | ControlPacket): void {
  const now = getState(connection)
  if (now.state === 'open' && 'waits' in ack)
    counts.countRefusal(now.session.clientId, 'PUBLISH', ack.topic ?? '', refusedByPeer)
}

/** Closes the stream after all packets for it were written. */
export function closeStream(state: Parts<'batches' | 'outputs'>, connection: Connection): void {
  state.outputs.closes.push({ connection, afterBatch: findAwaitedBatch(state.batches, connection) })
}

/** Returns the number of the batch for which packets to this connection wait; 0 if they wait for none. */
export function findAwaitedBatch(batches: Batches, connection: Connection): number {
  const batch = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  return batch > batches.committed ? batch : 0
}

function send(
  state: Parts<'batches' | 'counts' | 'nowMs' | 'outputs' | 'settings'>,
  connection: Connection,
  { ack, barrier, batch }: DeferredAck,
): void {
  const waits = batch > state.batches.committed
  // Only an `Ack` has `waits`: SUBACK and other packets do not.
  if (!('waits' in ack)) return sendPacket(state, connection, ack, waits)
  const reason = barrier?.refusal ?? ack.reason
  const text = barrier?.refusal === undefined ? ack.text : refusedByPeer.text
  if (barrier?.refusal !== undefined) recordRefusal(state, connection, ack)
  const isDeferred = sendAck(state, connection, { ...ack, reason: reason ?? reasonCodes.success, text, waits })
  const isForPublish = ack.type === 'puback' || (ack.type === 'pubrec' && !connection.canRefuseMessages)
  // An acknowledgement that waits for a commit is counted after the commit.
  if (isForPublish && !isDeferred && connection.unacknowledgedPublishes > 0) recordAck(state, connection)
}
