// A client that comes again before all is heard that it said on the connection before. What we hold back there (its
// reader stands still at our wish) came first: perhaps a last message, perhaps the good-bye that takes its will back. So the
// new connection waits until the older one has been heard to its end, and is let in then; for a while, as nobody knows
// whether that end will ever come.
//
//   older:  PUBLISH  (held)  . . . . . . .  PUBLISH DISCONNECT end
//   newer:               CONNECT . . . . . . . . . . . . . . . . . CONNACK
//
// An older connection that we do not hold back is taken over at once.
//
// The will of the older connection may be on disk only. It is read and published first, and the new connection waits for that as
// well: otherwise the will would come behind what the client publishes now ("online", then "offline").

import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { moveTo, stateOf, type AwaitingAuthentication, type GrantedAccess } from '../state/connection-state.ts'

/** From when it could have been let in: less than clients wait for their CONNACK. */
export const takeoverWaitMs = 3_000

/** True: not yet, `comes-again` is due when it is to be looked at once more. */
export function waitForTakeover(
  state: BrokerState,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): boolean {
  const { clientId, waitsUntilMs = state.nowMs + takeoverWaitMs } = awaiting
  if (!mustWaitForTakeover(state, clientId, waitsUntilMs)) return false
  wait(state, connection, awaiting, { granted, waitsUntilMs })
  return true
}

/** True: an earlier will of this client is read from disk first. */
export function waitsForWill(
  state: BrokerState,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): boolean {
  if (!state.willLoads.has(awaiting.clientId)) return false
  wait(state, connection, awaiting, { granted, waitsUntilMs: state.nowMs + takeoverWaitMs })
  return true
}

function wait(
  state: BrokerState,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  { granted, waitsUntilMs }: { granted: GrantedAccess; waitsUntilMs: number },
): void {
  const { clientId } = awaiting
  moveTo(connection, { ...awaiting, granted, waitsUntilMs })
  const waiting = state.waitingForTakeover.get(clientId)
  if (waiting === undefined) state.waitingForTakeover.set(clientId, new Set([connection]))
  else waiting.add(connection)
  state.deadlines.set('comes-again', connection, waitsUntilMs)
  // It is not silent by its own wish, and this wait has an end as well.
  state.deadlines.cancel('idle-timeout', connection)
}

/** `comes-again` was due. False: it may try to come in, for the older one is gone or is not waited for any longer. */
export function continueTakeoverWait(state: BrokerState, connection: Connection): boolean {
  const now = stateOf(connection)
  if (now.state !== 'awaiting-verdict' || now.waitsUntilMs === undefined) return true
  if (mustWaitForTakeover(state, now.clientId, now.waitsUntilMs)) {
    state.deadlines.set('comes-again', connection, now.waitsUntilMs)
    return true
  }
  endTakeoverWait(state, connection)
  return false
}

function mustWaitForTakeover({ sessions, willLoads, nowMs }: BrokerState, clientId: string, untilMs: number): boolean {
  return nowMs < untilMs && (willLoads.has(clientId) || sessions.get(clientId)?.connection?.isPaused === true)
}

/** A will has been read and published: the next connection of its client may be let in, unless another will is read. */
export function wakeAfterWill(state: BrokerState, clientId: string): void {
  if (!state.willLoads.has(clientId)) wakeFirstWaiting(state, clientId)
}

/** It does not wait any longer, for whatever reason: nobody who waits behind it has to wait for that. */
export function endTakeoverWait(state: BrokerState, connection: Connection): void {
  const now = stateOf(connection)
  if (now.state !== 'awaiting-verdict') return
  const { clientId } = now
  const waiting = state.waitingForTakeover.get(clientId)
  if (waiting?.delete(connection) !== true) return
  state.deadlines.cancel('comes-again', connection)
  if (waiting.size === 0) state.waitingForTakeover.delete(clientId)
  else wakeFirstWaiting(state, clientId)
}

/** With the next tick. Each wakes the one behind it: thousands may wait, and those that are not first would be looked at for each that is. */
export function wakeFirstWaiting(state: BrokerState, clientId: string): void {
  const [first] = state.waitingForTakeover.get(clientId) ?? []
  if (first !== undefined) state.deadlines.set('comes-again', first, state.nowMs)
}
