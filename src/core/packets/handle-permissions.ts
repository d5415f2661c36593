// Access decisions changed or arrived: waiting packets continue, and state that depends on earlier decisions is checked
// again.
//
// Match plans and the decisions cached by connections (by the epoch) are dropped at once. Queued and retained messages
// are checked when they are sent. To disconnect clients that are no longer allowed, the core visits all sessions, one
// slice per tick.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import type { RequestId } from '../model/inputs.ts'
import { endConnection } from '../connect/close-connection.ts'
import { getState } from '../state/connection-state.ts'
import { handleWillAuthorization } from './handle-connect.ts'
import { handlePacket, handleParked } from './handle-packet.ts'
import { recordAuthorization } from '../connect/authorization-wait.ts'

/** Sessions that are checked in one slice. */
const sliceSessions = 1_000

/** Handles the response to `authorize`. */
export function handleAuthorization(state: BrokerState, connection: Connection, requestId: RequestId): void {
  const now = getState(connection)
  if (now.state === 'awaiting-authentication') return handleWillAuthorization(state, connection, handlePacket)
  if (now.state !== 'open' || !recordAuthorization(state, connection, now, requestId)) return
  handleParked(state, connection, now)
  // Unless the packet waits again, it was handled completely. A later packet with the same bytes is a different packet.
  if (now.waiting?.requestIds.size === 0) now.waiting = undefined
}

export function handlePermissionsChanged(state: Parts<'access' | 'router' | 'sessions'>): void {
  state.router.forgetPlans()
  if (state.access.checks === undefined) state.access.checks = { sessions: state.sessions.values(), isStale: false }
  // If each change restarted the visit of all sessions, frequent changes would prevent its end.
  else state.access.checks.isStale = true
}

export function continueAccessChecks(state: BrokerState): void {
  const checks = state.access.checks
  if (checks === undefined) return
  for (let count = 0; count < sliceSessions; count++) {
    const next = checks.sessions.next()
    if (next.done === true) {
      state.access.checks = checks.isStale ? { sessions: state.sessions.values(), isStale: false } : undefined
      return
    }
    const { connection, identity } = next.value
    if (connection === undefined || state.access.permissions.canStay(identity)) continue
    // [MQTT5-3.14.2.1] 0x8A (banned) is allowed in CONNACK only.
    const text = 'the client is banned or no longer allowed to be connected'
    endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  }
}
