// Reasons for which the broker does not read from a client. Several may apply; reading resumes when none is left.

import type { Parts } from '../state/parts.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { Connection } from '../model/connection.ts'

/** Bits of `Connection.readPauseReasons`. */
export const readPauseReasons = {
  /** The store fails, and a 3.x client cannot be told to retry. */
  storage: 1,
  /** Too many messages of a 3.x client wait for the disk; it has no Receive Maximum. */
  unacknowledged: 2,
  /** A packet waits for an authorization. */
  permission: 4,
  /** A peer receives more slowly than clients publish for it. */
  peers: 8,
  /** The client exceeded the rate limit of its listener. */
  rate: 16,
  /** The maximum of packets after CONNECT waits for its authentication. */
  decision: 32,
  /** Memory is short, and the client sends much. */
  memory: 64,
  /** The action queue of a rule that matches its message is full. */
  actions: 128,
  /** The queue of a session is full, and the publisher cannot be refused with a reason. */
  queues: 256,
  /** A packet with many filters is handled in parts. */
  turn: 512,
  /** Publications wait for hooks of plugins. */
  hooks: 1024,
} as const
export type ReadPauseReason = (typeof readPauseReasons)[keyof typeof readPauseReasons]

export function pauseReading(outputs: OutputLists, connection: Connection, reason: ReadPauseReason): void {
  const wasPaused = connection.isPaused
  connection.readPauseReasons |= reason
  connection.isPaused = true
  if (!wasPaused) outputs.readerChanges.push({ connection, isPaused: true })
}

export function resumeReading(
  state: Parts<'nowMs' | 'outputs'>,
  connection: Connection,
  reason: ReadPauseReason,
): void {
  if ((connection.readPauseReasons & reason) === 0) return
  connection.readPauseReasons &= ~reason
  if (connection.readPauseReasons !== 0) return
  connection.isPaused = false
  // [MQTT5-3.1.2-22] Nothing was read until now, so the keep alive starts again.
  connection.lastPacketAtMs = state.nowMs
  state.outputs.readerChanges.push({ connection, isPaused: false })
}
