// The access room knows more than before: what waited for it goes on, what rests on older answers is looked at again.
//
// Plans are forgotten at once, and so is what connections remember (by the epoch). What waits in queues and what topics
// remember is asked about when it leaves. Who may not stay is found by going through the sessions, a slice for each tick.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import type { RequestId } from '../model/inputs.ts'
import { endConnection } from '../connect/close-connection.ts'
import { stateOf } from '../state/connection-state.ts'
import { handleWillAuthorization } from './handle-connect.ts'
import { handlePacket, handleParked } from './handle-packet.ts'
import { recordAuthorization } from '../connect/authorization-wait.ts'

/** Sessions that one slice looks at. */
const sliceSessions = 1_000

/** The answer to `may-do`. */
export function handleAuthorization(state: BrokerState, connection: Connection, question: RequestId): void {
  const now = stateOf(connection)
  if (now.state === 'awaiting-verdict') return handleWillAuthorization(state, connection, handlePacket)
  if (now.state !== 'open' || !recordAuthorization(state, connection, now, question)) return
  handleParked(state, connection, now)
  // Unless it waits again the packet is done with, and the same bytes another time are another packet.
  if (now.waiting?.questions.size === 0) now.waiting = undefined
}

export function handlePermissionsChanged(state: BrokerState): void {
  state.router.forgetPlans()
  if (state.accessChecks === undefined) state.accessChecks = { sessions: state.sessions.values(), isStale: false }
  // Begun anew each time it would never come to an end while changes keep coming.
  else state.accessChecks.isStale = true
}

export function continueAccessChecks(state: BrokerState): void {
  const checks = state.accessChecks
  if (checks === undefined) return
  for (let count = 0; count < sliceSessions; count++) {
    const next = checks.sessions.next()
    if (next.done === true) {
      state.accessChecks = checks.isStale ? { sessions: state.sessions.values(), isStale: false } : undefined
      return
    }
    const { connection, identity } = next.value
    if (connection === undefined || state.permissions.canStay(identity)) continue
    // [MQTT5-3.14.2.1] 0x8A (banned) is a word of CONNACK only.
    const text = 'the client may not stay any longer'
    endConnection(state, connection, { reason: reasonCodes.notAuthorized, text, publishWill: true })
  }
}
