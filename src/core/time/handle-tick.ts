// Handles deadlines that are due. The handler of a deadline checks whether it still applies: usually the state has changed
// meanwhile and nothing is to do.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, Parts, RedeliverParts } from '../state/parts.ts'
import type { Connection } from '../model/connection.ts'
import { endConnection, endCloseDrain } from '../connect/close-connection.ts'
import { getState } from '../state/connection-state.ts'
import { endReauthentication } from '../packets/handle-auth.ts'
import { handleTakeoverWait } from '../packets/handle-connect.ts'
import { handlePacket, resumeNextPart, resumeWaitingForActions } from '../packets/handle-packet.ts'
import { continueAccessChecks } from '../packets/handle-permissions.ts'
import { resumeAfterRateLimit } from '../connect/rate-limit.ts'
import { endDeferral } from '../outgoing/deliveries-rate.ts'
import type { Deadline } from '../model/deadlines.ts'
import { continueEndedSessionQueues } from '../shared/expired-session-redelivery.ts'
import { scheduleRetry } from '../queues/enqueue-for-session.ts'
import { drainQueue, resend } from '../sessions/drain-queue.ts'
import { expireRetained } from '../retained/retained-messages.ts'
import { continueRemovingSubscriptions } from '../sessions/remove-subscriptions.ts'
import { continueRelief } from '../memory/memory-relief.ts'
import { continueReplays } from '../retained/retained-replay.ts'
import { continueRemainingSteps } from '../peer-handlers/end-link.ts'
import { sendRetainedResponses } from '../peer-handlers/handle-retained.ts'
import { publishDelayed, publishDelayedWill, publishWill } from '../sessions/publish-will.ts'
import { endSession, hasExpired } from '../sessions/end-session.ts'
import { expireReceivedIds } from '../peer-handlers/expire-received-ids.ts'
import type { Session } from '../state/sessions/session.ts'

/** Maximum number of deadlines in one tick; the others follow in the next tick. */
const maxDeadlinesPerTick = 1_000

/**
 * Part of the allowed silence (1.5 times the keep alive) after which the client has exceeded its keep alive by a
 * quarter.
 */
const gapShare = 5 / 6

export function handleTick(state: BrokerState): void {
  if (state.peers.hasRemainingSteps) continueRemainingSteps(state)
  // A will that is published before the peers have sent their filters would not reach their subscribers.
  if (!state.peers.isReady) return
  for (let count = 0; count < maxDeadlinesPerTick; count++) {
    const deadline = state.deadlines.takeDue(state.nowMs)
    if (deadline === undefined) break
    handleDeadline(state, deadline)
  }
  continueReplays(state)
  continueRemovingSubscriptions(state)
  continueRelief(state, disconnectForMemory)
  sendRetainedResponses(state)
  continueAccessChecks(state)
  const { forActions, forQueues, forTurn } = state.waiting
  if (forTurn.size > 0) resumeNextPart(state)
  if (state.rules.hasActionCapacity && forActions.size + forQueues.size > 0) resumeWaitingForActions(state)
  if (state.bridges.clientFilters?.isComplete === false) state.bridges.clientFilters.walk(state.sessions)
}

/** Disconnects a client that uses more than its share while the node is short of memory. */
function disconnectForMemory(state: BrokerState, connection: Connection): void {
  const text = 'the broker is short of memory, and this client uses much memory'
  endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
}

/** Continues deliveries to a client when `deliveries_rate` allows more. */
function resumeDeliveries(state: DrainParts, connection: Connection): void {
  const now = getState(connection)
  if (now.state === 'open' && endDeferral(now.session, connection)) drainQueue(state, now.session)
}

function handleDeadline(state: BrokerState, { kind, subject }: Deadline): void {
  if (typeof subject !== 'string') {
    if (kind === 'idle-timeout') closeIdle(state, subject)
    if (kind === 'close-drain') endCloseDrain(state.outputs, subject)
    if (kind === 'keep-alive') checkKeepAlive(state, subject)
    if (kind === 'takeover-wait') handleTakeoverWait(state, subject, handlePacket)
    if (kind === 'rate') resumeAfterRateLimit(state, subject)
    if (kind === 'deliveries-rate') resumeDeliveries(state, subject)
    if (kind === 'identity-expiry') endExpired(state, subject)
    if (kind === 'reauthentication') endReauthentication(state, subject)
    return
  }
  if (kind === 'retained-expiry') return expireRetained(state, subject)
  if (kind === 'expire-received-ids') return expireReceivedIds(state)
  if (kind === 'ended-session-queue') return continueEndedSessionQueues(state)
  if (kind === 'delayed-due') return publishDelayed(state, subject)
  if (kind === 'will-due') publishDueDelayedWill(state, subject)
  const session = state.sessions.get(subject)
  if (session === undefined) return
  if (kind === 'session-expiry') expireSession(state, session)
  if (kind === 'will-due') publishDueWill(state, session)
  if (kind === 'retry') retry(state, session)
}

function closeIdle(state: BrokerState, connection: Connection): void {
  const { state: name } = connection.now
  if (name !== 'awaiting-connect' && name !== 'awaiting-authentication' && name !== 'awaiting-auth') return
  endConnection(state, connection, {
    reason: reasonCodes.keepAliveTimeout,
    text: 'no CONNECT in time',
    publishWill: false,
  })
}

/** The credentials of the client (a token) have expired, and it did not re-authenticate. */
function endExpired(state: BrokerState, connection: Connection): void {
  endConnection(state, connection, {
    reason: reasonCodes.maximumConnectTime,
    text: 'the credentials of the client have expired',
    publishWill: true,
  })
}

/** [MQTT-3.1.2-24] [MQTT5-3.1.2-22] A client that is silent for 1.5 times its keep alive is disconnected. */
function checkKeepAlive(state: BrokerState, connection: Connection): void {
  if (connection.now.state !== 'open') return
  const dueAtMs = connection.lastPacketAtMs + connection.keepAliveMs
  if (dueAtMs > state.nowMs) return waitForKeepAlive(state, connection, dueAtMs)
  // Reading is paused, so the silence is not the client's.
  if (connection.isPaused) return state.deadlines.set('keep-alive', connection, state.nowMs + connection.keepAliveMs)
  endConnection(state, connection, {
    reason: reasonCodes.keepAliveTimeout,
    text: 'silent for longer than its keep alive',
    publishWill: true,
  })
}

/** Checks once before the deadline, to log clients that often come close to it. */
function waitForKeepAlive(
  state: Parts<'deadlines' | 'nowMs' | 'outputs'>,
  connection: Connection,
  dueAtMs: number,
): void {
  const now = getState(connection)
  const gapAtMs = connection.lastPacketAtMs + connection.keepAliveMs * gapShare
  if (gapAtMs > state.nowMs) return state.deadlines.set('keep-alive', connection, gapAtMs)
  state.deadlines.set('keep-alive', connection, dueAtMs)
  if (connection.isPaused || now.state !== 'open') return
  state.outputs.events.push({ event: 'keep-alive-gap', connection, clientId: now.session.clientId })
}

function expireSession(state: BrokerState, session: Session): void {
  // If the client was connected in between, another deadline exists.
  if (hasExpired(state.nowMs, session)) endSession(state, session, 'expired')
}

function publishDueWill(state: BrokerState, session: Session): void {
  const { connection, will } = session
  if (connection === undefined && will !== undefined && will.dueAtMs <= state.nowMs) publishWill(state, session)
}

function publishDueDelayedWill(state: BrokerState, clientId: string): void {
  const delayed = state.wills.delayedWills.get(clientId)
  if (delayed !== undefined && delayed.dueAtMs <= state.nowMs) publishDelayedWill(state, clientId, delayed)
}

/** With more unsent bytes the client is slow: redelivery would make it slower. */
const maxUnsentBytesForRetry = 65_536

function retry(state: RedeliverParts, session: Session): void {
  session.outgoing.isRetryScheduled = false
  const { connection } = session
  if (connection === undefined || connection.version === 5 || session.outgoing.inflightCount === 0) return
  const held = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  const isHeld = held > state.batches.committed || connection.deferredAcks !== undefined
  const isWaiting = isHeld || !state.storage.isHealthy
  if (!isWaiting && connection.unsentBytes <= maxUnsentBytesForRetry) {
    connection.hasRedelivered = true
    resend(state, session, connection, state.nowMs - state.settings.retryIntervalMs)
  }
  if (!session.outgoing.isRetryScheduled) scheduleRetry(state, session)
}
