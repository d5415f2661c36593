// A client that publishes faster than its listener grants it is read from more slowly, and nobody else is: what it sends
// waits in its own network buffers, in the end on its own machine. What has been read is served as ever.

import type { PublishPacket } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Connection } from '../connection.ts'
import { holdReader, holdReasons, releaseReader } from '../delivery/reader-holds.ts'
import type { RateMeter } from '../rate-meter.ts'

/** What waits for the disk or another shard is counted once more when it is taken up again: it has waited anyway. */
export function countPublish(
  state: BrokerState,
  connection: Connection,
  meter: RateMeter,
  packet: PublishPacket,
): void {
  const waitMs = meter.take(packet.frameEnd - packet.frameStart, state.nowMs)
  if (waitMs === 0 || isOver(connection)) return
  holdReader(state, connection, holdReasons.rate)
  state.deadlines.set('rate', connection, state.nowMs + waitMs)
}

/** The bucket has room again. */
export function releaseRate(state: BrokerState, connection: Connection): void {
  if (!isOver(connection)) releaseReader(state, connection, holdReasons.rate)
}

function isOver(connection: Connection): boolean {
  return connection.now.state === 'closing' || connection.now.state === 'closed'
}
