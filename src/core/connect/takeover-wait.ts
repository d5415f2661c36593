// A client reconnects while packets of its older connection are unread. They come first: a last message, or the DISCONNECT that
// cancels the will. So the new connection waits until they were handled, or the older connection has ended. The wait is limited,
// because the end may never arrive.
//
//   older:  PUBLISH (unread)  . . . . . . .  PUBLISH DISCONNECT end
//   newer:               CONNECT . . . . . . . . . . . . . . . . . CONNACK
//
// Packets are unread for two reasons. The broker has paused reading: it has read them when the pause is over. Or, with several
// shards, the two connections have different sockets and ways to this shard, of which the way of the newer one was shorter. So the
// driver is asked to handle everything that has arrived on the older one (`outputs.drains`). A node of one shard reads its sockets
// in the order in which their data arrives, so an older connection that is not paused is taken over at once.
//
// The will of the older connection may be on disk only. It is read and published first, and the new connection waits for that as
// well: otherwise the will would follow messages that the client publishes now ("online", then "offline").

import type { Parts, TakeoverParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { moveTo, getState, type AwaitingAuthentication, type GrantedAccess } from '../state/connection-state.ts'

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
  requestDrain(state, clientId)
  const mustConfirm = awaiting.mustConfirm === true || state.sessions.get(clientId)?.stored !== undefined
  startWait(state, connection, awaiting, { granted, waitsUntilMs, mustConfirm })
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
  startWait(state, connection, awaiting, { granted, waitsUntilMs: state.nowMs + takeoverWaitMs, mustConfirm: true })
  return true
}

function startWait(
  state: Parts<'deadlines' | 'waiting'>,
  connection: Connection,
  awaiting: AwaitingAuthentication,
  waitOptions: { granted: GrantedAccess; waitsUntilMs: number; mustConfirm: boolean },
): void {
  const { clientId } = awaiting
  const { waitsUntilMs } = waitOptions
  moveTo(connection, { ...awaiting, ...waitOptions })
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
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication' || now.waitsUntilMs === undefined) return true
  if (mustWaitForTakeover(state, now.clientId, now.waitsUntilMs)) {
    state.deadlines.set('takeover-wait', connection, now.waitsUntilMs)
    return true
  }
  endTakeoverWait(state, connection)
  // The wait is over, also for the check that follows when the connection is accepted.
  moveTo(connection, { ...now, waitsUntilMs: state.nowMs })
  return false
}

function mustWaitForTakeover(state: TakeoverParts, clientId: string, untilMs: number): boolean {
  return state.nowMs < untilMs && (state.wills.loads.has(clientId) || hasUnreadInput(state, clientId))
}

function hasUnreadInput(state: TakeoverParts, clientId: string): boolean {
  const older = state.sessions.get(clientId)?.connection
  if (older === undefined) return false
  return older.isPaused || (mustDrain(older) && state.waiting.drains.get(clientId) !== 'done')
}

/** Connections within the process have no socket. */
function mustDrain({ listener }: Connection): boolean {
  return listener.isInternal !== true
}

/** Asks the driver to handle the unread input of the older connection. A drain that has begun also serves a further connection. */
function requestDrain(state: TakeoverParts, clientId: string): void {
  const older = state.sessions.get(clientId)?.connection
  if (older === undefined || !mustDrain(older) || state.waiting.drains.has(clientId)) return
  state.waiting.drains.set(clientId, 'requested')
  state.outputs.drains.push(older)
}

/**
 * Everything that had arrived on the older connection is handled. Returns the connection that waits for it; undefined: none. The end of
 * the older connection wakes it otherwise.
 */
export function recordDrained({ waiting }: Parts<'waiting'>, older: Connection): Connection | undefined {
  const now = getState(older)
  if (now.state !== 'open') return undefined
  const { clientId } = now.session
  if (!waiting.drains.has(clientId)) return undefined
  waiting.drains.set(clientId, 'done')
  const [first] = waiting.forTakeover.get(clientId) ?? []
  return first
}

/** A will was read and published: the next connection of the client may proceed, unless another will must be read. */
export function wakeAfterWill(state: TakeoverParts, clientId: string): void {
  if (!state.wills.loads.has(clientId)) wakeFirstWaiting(state, clientId)
}

/** Ends the wait of a connection for any reason, and wakes the next connection with the same client ID. */
export function endTakeoverWait(state: Parts<'deadlines' | 'nowMs' | 'waiting'>, connection: Connection): void {
  const now = getState(connection)
  if (now.state !== 'awaiting-authentication') return
  const { clientId } = now
  const waiting = state.waiting.forTakeover.get(clientId)
  if (waiting?.delete(connection) !== true) return
  state.deadlines.cancel('takeover-wait', connection)
  if (waiting.size > 0) return wakeFirstWaiting(state, clientId)
  state.waiting.forTakeover.delete(clientId)
  state.waiting.drains.delete(clientId)
}

/**
 * Wakes the first waiting connection at the next tick; it wakes the next one when its wait ends. Thousands may wait, and waking
 * all of them each time would be quadratic.
 */
export function wakeFirstWaiting(state: Parts<'deadlines' | 'nowMs' | 'waiting'>, clientId: string): void {
  const [first] = state.waiting.forTakeover.get(clientId) ?? []
  if (first !== undefined) state.deadlines.set('takeover-wait', first, state.nowMs)
}
