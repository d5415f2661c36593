// What becomes due by itself. Entries of the heap are looked at again when their time comes: most find that nothing
// is to be done, because something has happened meanwhile.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Connection } from '../model/connection.ts'
import { endConnection, endCloseDrain } from '../connect/close-connection.ts'
import { stateOf } from '../state/connection-state.ts'
import { endReauthentication } from '../packets/handle-auth.ts'
import { handleTakeoverWait } from '../packets/handle-connect.ts'
import { handlePacket, resumeWaitingForActions } from '../packets/handle-packet.ts'
import { continueAccessChecks } from '../packets/handle-permissions.ts'
import { resumeAfterRateLimit } from '../connect/rate-limit.ts'
import type { Deadline } from '../model/deadlines.ts'
import { continueEndedQueues } from '../shared/expired-session-redelivery.ts'
import { scheduleRetry } from '../queues/enqueue-for-session.ts'
import { resend } from '../sessions/drain-queue.ts'
import { expireRetained } from '../retained/retained-messages.ts'
import { continueRemovingSubscriptions } from '../sessions/remove-subscriptions.ts'
import { continueRelief } from '../memory/memory-relief.ts'
import { continueReplays } from '../retained/retained-replay.ts'
import { answerRetainedRequests } from '../peer-handlers/handle-retained.ts'
import { publishDelayed, publishDelayedWill, publishWill } from '../sessions/publish-will.ts'
import { endSession, hasExpired } from '../sessions/end-session.ts'
import { expireReceivedIds } from '../peer-handlers/expire-received-ids.ts'
import type { Session } from '../state/sessions/session.ts'

/** So many deadlines in one tick at most; the rest is due in the next. */
const maxDeadlinesPerTick = 1_000

/** Of what a client is given (one and a half times its keep alive): so long and it has missed its own by a quarter. */
const gapShare = 5 / 6

export function handleTick(state: BrokerState): void {
  // A will that were published before the others have said what they want would reach nobody there.
  if (state.peerTable?.isReady === false) return
  for (let count = 0; count < maxDeadlinesPerTick; count++) {
    const deadline = state.deadlines.takeDue(state.nowMs)
    if (deadline === undefined) break
    handleDeadline(state, deadline)
  }
  continueReplays(state)
  continueRemovingSubscriptions(state)
  continueRelief(state, endGreedy)
  if (state.peerTable !== undefined) answerRetainedRequests(state, state.peerTable)
  continueAccessChecks(state)
  if (state.hasActionRoom && state.waitingForActions.size > 0) resumeWaitingForActions(state)
  if (state.clientFilters?.isComplete === false) state.clientFilters.walk(state.sessions)
}

/** It holds more than is left to it while the memory of the node is short. */
function endGreedy(state: BrokerState, connection: Connection): void {
  const text = 'the memory of the broker is short, and this client holds much of it'
  endConnection(state, connection, { reason: reasonCodes.quotaExceeded, text, publishWill: true })
}

function handleDeadline(state: BrokerState, { kind, subject }: Deadline): void {
  if (typeof subject !== 'string') {
    if (kind === 'idle-timeout') closeIdle(state, subject)
    if (kind === 'farewell') endCloseDrain(state, subject)
    if (kind === 'keep-alive') checkKeepAlive(state, subject)
    if (kind === 'comes-again') handleTakeoverWait(state, subject, handlePacket)
    if (kind === 'rate') resumeAfterRateLimit(state, subject)
    if (kind === 'identity-expiry') endExpired(state, subject)
    if (kind === 'reauthentication') endReauthentication(state, subject)
    return
  }
  if (kind === 'retained-expiry') return expireRetained(state, subject)
  if (kind === 'retained-wait') return // What waited is answered in this tick.
  if (kind === 'forget-received') return expireReceivedIds(state)
  if (kind === 'ended-queue') return continueEndedQueues(state)
  if (kind === 'delayed-due') return publishDelayed(state, subject)
  if (kind === 'will-due') publishDueOrphan(state, subject)
  const session = state.sessions.get(subject)
  if (session === undefined) return
  if (kind === 'session-expiry') expireSession(state, session)
  if (kind === 'will-due') publishDueWill(state, session)
  if (kind === 'retry') retry(state, session)
}

function closeIdle(state: BrokerState, connection: Connection): void {
  const { state: name } = connection.now
  if (name !== 'awaiting-connect' && name !== 'awaiting-verdict' && name !== 'awaiting-auth') return
  endConnection(state, connection, {
    reason: reasonCodes.keepAliveTimeout,
    text: 'no CONNECT in time',
    publishWill: false,
  })
}

/** What the client has shown to be let in (a token) does not hold any longer, and it has shown nothing new. */
function endExpired(state: BrokerState, connection: Connection): void {
  endConnection(state, connection, {
    reason: reasonCodes.maximumConnectTime,
    text: 'what the client was let in for has expired',
    publishWill: true,
  })
}

/** [MQTT-3.1.2-24] [MQTT5-3.1.2-22] A client silent for one and a half times its keep alive is taken for lost. */
function checkKeepAlive(state: BrokerState, connection: Connection): void {
  if (connection.now.state !== 'open') return
  const dueAtMs = connection.lastPacketAtMs + connection.keepAliveMs
  if (dueAtMs > state.nowMs) return waitForKeepAlive(state, connection, dueAtMs)
  // Whoever stands still at our wish is not silent by its own.
  if (connection.isPaused) return state.deadlines.set('keep-alive', connection, state.nowMs + connection.keepAliveMs)
  endConnection(state, connection, {
    reason: reasonCodes.keepAliveTimeout,
    text: 'silent for longer than its keep alive',
    publishWill: true,
  })
}

/** Looks once before the end is due: a client that comes close to it now and then is worth a word. */
function waitForKeepAlive(state: BrokerState, connection: Connection, dueAtMs: number): void {
  const now = stateOf(connection)
  const gapAtMs = connection.lastPacketAtMs + connection.keepAliveMs * gapShare
  if (gapAtMs > state.nowMs) return state.deadlines.set('keep-alive', connection, gapAtMs)
  state.deadlines.set('keep-alive', connection, dueAtMs)
  if (connection.isPaused || now.state !== 'open') return
  state.events.push({ event: 'keep-alive-gap', connection, clientId: now.session.clientId })
}

function expireSession(state: BrokerState, session: Session): void {
  // It was there in between: another deadline stands for it.
  if (hasExpired(state, session)) endSession(state, session)
}

function publishDueWill(state: BrokerState, session: Session): void {
  if (session.connection === undefined && session.willDueAtMs <= state.nowMs) publishWill(state, session)
}

function publishDueOrphan(state: BrokerState, clientId: string): void {
  const orphan = state.delayedWills.get(clientId)
  if (orphan !== undefined && orphan.dueAtMs <= state.nowMs) publishDelayedWill(state, clientId, orphan)
}

/** More unsent bytes than this and the client is slow, not forgetful: sending again would only make it worse. */
const maxUnsentBytesForRetry = 65_536

function retry(state: BrokerState, session: Session): void {
  session.isRetryScheduled = false
  const { connection } = session
  if (connection === undefined || connection.version === 5 || session.inflightCount === 0) return
  const held = Math.max(connection.sendsDeferredUntilBatch, connection.acksDeferredUntilBatch)
  const isHeld = held > state.committedBatch || connection.deferredAcks !== undefined
  const isWaiting = isHeld || !state.storageIsHealthy
  if (!isWaiting && connection.unsentBytes <= maxUnsentBytesForRetry) {
    connection.hasRedelivered = true
    resend(state, session, connection, state.nowMs - state.settings.retryIntervalMs)
  }
  if (!session.isRetryScheduled) scheduleRetry(state, session)
}
