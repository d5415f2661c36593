// The broker reads more slowly from a client that publishes faster than its listener allows. Other clients are not
// affected: the data waits in the network buffers of that client. Packets that were read are handled as usual. A
// namespace can have a common limit; each of its clients is paused at its next PUBLISH after the limit is exceeded.

import type { PublishPacket } from '../../protocol/index.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'

/**
 * Counts a PUBLISH. A packet that waited for the disk or for a peer is counted twice, which is harmless, because it
 * waited.
 */
export function countPublish(
  state: Parts<'deadlines' | 'namespaces' | 'nowMs' | 'outputs'>,
  connection: Connection,
  packet: PublishPacket,
): void {
  const { rateLimiter, namespace } = connection
  const ownMs = rateLimiter?.take(packet.frameEnd - packet.frameStart, state.nowMs) ?? 0
  const sharedMs = namespace === undefined ? 0 : (state.namespaces.quotas?.takeMessage(namespace, state.nowMs) ?? 0)
  const waitMs = Math.max(ownMs, sharedMs)
  if (waitMs === 0 || hasClosed(connection)) return
  pauseReading(state.outputs, connection, readPauseReasons.rate)
  state.deadlines.set('rate', connection, state.nowMs + waitMs)
}

/** Resumes reading: the token bucket has tokens again. */
export function resumeAfterRateLimit(state: Parts<'nowMs' | 'outputs'>, connection: Connection): void {
  if (!hasClosed(connection)) resumeReading(state, connection, readPauseReasons.rate)
}

function hasClosed(connection: Connection): boolean {
  return connection.now.state === 'closing' || connection.now.state === 'closed'
}
