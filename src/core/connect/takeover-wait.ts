// A client reconnects while the broker has paused reading from its older connection. The packets that are still unread there
// come first: a last message, or the DISCONNECT that cancels the will. So the new connection waits until the older one was
// read to its end. The wait is limited, because the end may never arrive.
//
//   older:  PUBLISH (paused)  . . . . . . .  PUBLISH DISCONNECT end
//   newer:               CONNECT . . . . . . . . . . . . . . . . . CONNACK
//
// An older connection that is not paused is taken over at once.
//
// The will of the older connection may be on disk only. It is read and published first, and the new connection waits for that as
// well: otherwise the will would follow messages that the client publishes now ("online", then "offline").

import type { Parts, TakeoverParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { moveTo, stateOf, type AwaitingAuthentication, type GrantedAccess } from '../state/connection-state.ts'

/** Maximum wait after authentication. Clients wait longer than this for CONNACK. */
export const takeoverWaitMs = 3_000

/** Starts the wait and returns true if the connection must wait. The deadline `takeover-wait` says when to check again. */
export function waitForTakeover(
  state: TakeoverParts,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): boolean {
  const { clientId, waitsUntilMs = state.nowMs + takeoverWaitMs } = awaiting
  if (!mustWaitForTakeover(state, clientId, waitsUntilMs)) return false
  wait(state, connection, awaiting, { granted, waitsUntilMs })
  return true
}

/** Starts the wait and returns true if an earlier will of this client must be read from disk first. */
export function waitForWill(
  state: TakeoverParts,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  granted: GrantedAccess,
): boolean {
  if (!state.wills.loads.has(awaiting.clientId)) return false
  wait(state, connection, awaiting, { granted, waitsUntilMs: state.nowMs + takeoverWaitMs })
  return true
}

function wait(
  state: Parts<'deadlines' | 'waiting'>,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  { granted, waitsUntilMs }: { granted: GrantedAccess; waitsUntilMs: number },
): void {
  const { clientId } = awaiting
  moveTo(connection, { ...awaiting, granted, waitsUntilMs })
  const waiting = state.waiting.forTakeover.get(clientId)
  if (waiting === undefined) state.waiting.forTakeover.set(clientId, new Set([connection]))
  else waiting.add(connection)
  state.deadlines.set('takeover-wait', connection, waitsUntilMs)
  // The broker, not the client, causes the silence, and this wait has its own deadline.
  state.deadlines.cancel('idle-timeout', connection)
}

/**
 * Handles the deadline `takeover-wait`. Returns false if the connection may proceed: the older one ended, or the wait
 * is over.
 */
export function continueTakeoverWait(state: TakeoverParts, connection: Connection): boolean {
  const now = stateOf(connection)
  if (now.state !== 'awaiting-authentication' || now.waitsUntilMs === undefined) return true
  if (mustWaitForTakeover(state, now.clientId, now.waitsUntilMs)) {
    state.deadlines.set('takeover-wait', connection, now.waitsUntilMs)
    return true
  }
  endTakeoverWait(state, connection)
  return false
}

function mustWaitForTakeover(
  { sessions, wills, nowMs }: Parts<'nowMs' | 'sessions' | 'wills'>,
  clientId: string,
  untilMs: number,
): boolean {
  return nowMs < untilMs && (wills.loads.has(clientId) || sessions.get(clientId)?.connection?.isPaused === true)
}

/** A will was read and published: the next connection of the client may proceed, unless another will must be read. */
export function wakeAfterWill(state: TakeoverParts, clientId: string): void {
  if (!state.wills.loads.has(clientId)) wakeFirstWaiting(state, clientId)
}

/** Ends the wait of a connection for any reason, and wakes the next connection with the same client ID. */
export function endTakeoverWait(state: Parts<'deadlines' | 'nowMs' | 'waiting'>, connection: Connection): void {
  const now = stateOf(connection)
  if (now.state !== 'awaiting-authentication') return
  const { clientId } = now
  const waiting = state.waiting.forTakeover.get(clientId)
  if (waiting?.delete(connection) !== true) return
  state.deadlines.cancel('takeover-wait', connection)
  if (waiting.size === 0) state.waiting.forTakeover.delete(clientId)
  else wakeFirstWaiting(state, clientId)
}

/**
 * Wakes the first waiting connection at the next tick; it wakes the next one when its wait ends. Thousands may wait, and waking
 * all of them each time would be quadratic.
 */
export function wakeFirstWaiting(state: Parts<'deadlines' | 'nowMs' | 'waiting'>, clientId: string): void {
  const [first] = state.waiting.forTakeover.get(clientId) ?? []
  if (first !== undefined) state.deadlines.set('takeover-wait', first, state.nowMs)
}
