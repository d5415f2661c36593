// Why a client is not read from. Several reasons may hold at once; it is read from again when the last one is gone.

import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'

/** As bits of `Connection.holds`. */
export const readPauseReasons = {
  /** The disk fails, and a 3.x client can not be told to come again. */
  storage: 1,
  /** A 3.x client is ahead of the disk: it knows no Receive Maximum. */
  unanswered: 2,
  /** A packet waits for somebody to say whether it is allowed. */
  permission: 4,
  /** Another shard takes less than is published for it. */
  peers: 8,
  /** It has sent more than its listener grants it in so short a time. */
  rate: 16,
  /** It has said as much behind its CONNECT as may wait until that is decided. */
  verdict: 32,
  /** The memory of the node is short, and its client sends much. */
  memory: 64,
  /** The action of a rule that its message matches stores as much as it may. */
  actions: 128,
} as const
export type ReadPauseReason = (typeof readPauseReasons)[keyof typeof readPauseReasons]

export function pauseReading(state: BrokerState, connection: Connection, reason: ReadPauseReason): void {
  const wasPaused = connection.isPaused
  connection.readPauseReasons |= reason
  connection.isPaused = true
  if (!wasPaused) state.readers.push({ connection, isPaused: true })
}

export function resumeReading(state: BrokerState, connection: Connection, reason: ReadPauseReason): void {
  if ((connection.readPauseReasons & reason) === 0) return
  connection.readPauseReasons &= ~reason
  if (connection.readPauseReasons !== 0) return
  connection.isPaused = false
  // [MQTT5-3.1.2-22] It could not be heard until now, so its silence begins now.
  connection.lastPacketAtMs = state.nowMs
  state.readers.push({ connection, isPaused: false })
}
