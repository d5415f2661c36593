// A client that publishes faster than its listener grants it is read from more slowly, and nobody else is: what it sends
// waits in its own network buffers, in the end on its own machine. What has been read is served as ever. So are the
// clients of a namespace who together publish faster than that may, each as soon as it publishes.

import type { PublishPacket } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { pauseReading, readPauseReasons, resumeReading } from '../outgoing/read-pause-reasons.ts'

/** What waits for the disk or another shard is counted once more when it is taken up again: it has waited anyway. */
export function countPublish(state: BrokerState, connection: Connection, packet: PublishPacket): void {
  const { rateLimiter, namespace } = connection
  const ownMs = rateLimiter?.take(packet.frameEnd - packet.frameStart, state.nowMs) ?? 0
  const sharedMs = namespace === undefined ? 0 : (state.quotas?.takeMessage(namespace, state.nowMs) ?? 0)
  const waitMs = Math.max(ownMs, sharedMs)
  if (waitMs === 0 || hasClosed(connection)) return
  pauseReading(state, connection, readPauseReasons.rate)
  state.deadlines.set('rate', connection, state.nowMs + waitMs)
}

/** The bucket has room again. */
export function resumeAfterRateLimit(state: BrokerState, connection: Connection): void {
  if (!hasClosed(connection)) resumeReading(state, connection, readPauseReasons.rate)
}

function hasClosed(connection: Connection): boolean {
  return connection.now.state === 'closing' || connection.now.state === 'closed'
}
