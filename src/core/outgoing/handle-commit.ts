// Handles the commit of a batch. The shard sends the packets that waited for it; the core counts the acknowledgements among
// these packets.

import type { AckParts, Parts } from '../state/parts.ts'
import type { StorageState } from '../state/storage-state.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading } from './read-pause-reasons.ts'
import { releaseWrittenWills } from './will-memory.ts'
import { headBits, sendKinds, type SendList } from '../model/send-list.ts'

export function handleCommitted(
  state: AckParts & Parts<'memory' | 'peers' | 'retained' | 'wills'>,
  number: number,
): void {
  const batch = state.batches.commit(number)
  recordCommittedAcks(state, batch.sendsAfterCommit)
  markCommitted(state.storage, number)
  releaseWrittenWills(state, number)
  state.retained.payloads.releaseWritten(number)
  state.peers.recordCommitted(number)
}

/** Completes this commit in all barriers. A barrier that also waits for peers continues to wait for them. */
function markCommitted({ barriersByBatch }: StorageState, number: number): void {
  for (let next = barriersByBatch.peek(); next !== undefined && next.batch <= number; next = barriersByBatch.peek()) {
    barriersByBatch.shift()
    next.barrier.arrive()
  }
}

/** Counts PUBLISH packets whose acknowledgement was sent: PUBACK and, for 3.x clients and bridges, PUBREC. */
function recordCommittedAcks(state: Parts<'nowMs' | 'outputs' | 'settings'>, sends: SendList): void {
  for (let index = 0; index < sends.length; index++) {
    const connection = sends.getConnection(index)
    if (connection.unacknowledgedPublishes === 0) continue
    if (isFinalAck(sends, index, connection)) recordAck(state, connection)
  }
}

function isFinalAck(sends: SendList, index: number, connection: Connection): boolean {
  const kind = headBits.kind(sends.head[index])
  const what = sends.what[index]
  const isPuback = kind === sendKinds.puback || (kind === sendKinds.packet && isPacketOfType(what, 'puback'))
  const isPubrec = kind === sendKinds.pubrec || (kind === sendKinds.packet && isPacketOfType(what, 'pubrec'))
  return isPuback || (isPubrec && !connection.canRefuseMessages)
}

function isPacketOfType(item: SendList['what'][number], type: string): boolean {
  return item !== undefined && 'type' in item && item.type === type
}

/** Counts one acknowledged PUBLISH. */
export function recordAck(state: Parts<'nowMs' | 'outputs' | 'settings'>, connection: Connection): void {
  connection.unacknowledgedPublishes--
  const canResume = connection.unacknowledgedPublishes * 2 <= state.settings.receiveMaximum
  if (connection.isPaused && canResume) resumeReading(state, connection, readPauseReasons.unacknowledged)
}

/**
 * Counts a PUBLISH that is not acknowledged yet, and pauses reading if there are too many. 3.x clients have no Receive Maximum, and
 * clients behind a bridge may not have one, so the pause limits how many of their messages wait for the disk.
 */
export function countUnacknowledged(state: Parts<'outputs' | 'settings'>, connection: Connection): void {
  connection.unacknowledgedPublishes++
  if (connection.canRefuseMessages || connection.unacknowledgedPublishes <= state.settings.receiveMaximum) return
  pauseReading(state.outputs, connection, readPauseReasons.unacknowledged)
}
