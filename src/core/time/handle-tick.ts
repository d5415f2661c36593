// What becomes due by itself. Entries of the heap are looked at again when their time comes: most find that nothing
// is to be done, because something has happened meanwhile.

import { reasonCodes } from '../../protocol/index.ts'
import { isBridgeClient } from '../bridge-client.ts'
import type { BrokerState } from '../broker-state.ts'
import type { Connection } from '../connection.ts'
import { endConnection, endFarewell } from '../connections/close-connection.ts'
import { stateOf } from '../connections/connection-state.ts'
import { endReauthentication } from '../connections/handle-auth.ts'
import { handleComingAgain } from '../connections/handle-connect.ts'
import { handlePacket } from '../connections/handle-packet.ts'
import { continueStayChecks } from '../connections/handle-permissions.ts'
import { releaseRate } from '../connections/rate-limit.ts'
import type { Deadline } from '../deadlines.ts'
import { continueEnded } from '../delivery/ended-queues.ts'
import { releaseElsewhere } from '../delivery/exactly-once.ts'
import { scheduleRetry } from '../delivery/offer.ts'
import { resend } from '../delivery/pump.ts'
import { expireRetained } from '../delivery/retained-messages.ts'
import { continueLeaving } from '../delivery/leave-routes.ts'
import { continueScans } from '../delivery/retained-scans.ts'
import { answerQuestions } from '../peers/handle-retained.ts'
import { publishOrphanWill, publishWill } from '../delivery/publish-will.ts'
import { endSession, isOver } from '../delivery/session-end.ts'
import { remove } from '../delivery/stored-queue.ts'
import { forgetReceived } from './forget-received.ts'
import type { Session } from '../sessions/session.ts'

/** So many deadlines in one tick at most; the rest is due in the next. */
const maxDeadlinesPerTick = 1_000

/** Of what a client is given (one and a half times its keep alive): so long and it has missed its own by a quarter. */
const gapShare = 5 / 6

export function handleTick(state: BrokerState): void {
  // A will that were published before the others have said what they want would reach nobody there.
  if (state.neighbours?.isReady === false) return
  for (let count = 0; count < maxDeadlinesPerTick; count++) {
    const deadline = state.deadlines.takeDue(state.nowMs)
    if (deadline === undefined) break
    handleDeadline(state, deadline)
  }
  continueScans(state)
  continueLeaving(state)
  if (state.neighbours !== undefined) answerQuestions(state, state.neighbours)
  continueStayChecks(state)
  if (state.clientFilters?.isComplete === false) state.clientFilters.walk(state.sessions)
}

function handleDeadline(state: BrokerState, { kind, subject }: Deadline): void {
  if (typeof subject !== 'string') {
    if (kind === 'idle-timeout') closeIdle(state, subject)
    if (kind === 'farewell') endFarewell(state, subject)
    if (kind === 'keep-alive') checkKeepAlive(state, subject)
    if (kind === 'comes-again') handleComingAgain(state, subject, handlePacket)
    if (kind === 'rate') releaseRate(state, subject)
    if (kind === 'identity-expiry') endExpired(state, subject)
    if (kind === 'reauthentication') endReauthentication(state, subject)
    return
  }
  if (kind === 'retained-expiry') return expireRetained(state, subject)
  if (kind === 'retained-wait') return // What waited is answered in this tick.
  if (kind === 'forget-received') return forgetReceived(state)
  if (kind === 'ended-queue') return continueEnded(state)
  if (kind === 'will-due') publishDueOrphan(state, subject)
  const session = state.sessions.get(subject)
  if (session === undefined) return
  if (kind === 'session-expiry') expireSession(state, session)
  if (kind === 'will-due') publishDueWill(state, session)
  if (kind === 'retry') retry(state, session)
  if (kind === 'await-release') releaseOld(state, session)
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
  if (isOver(state, session)) endSession(state, session)
}

function publishDueWill(state: BrokerState, session: Session): void {
  if (session.connection === undefined && session.willDueAtMs <= state.nowMs) publishWill(state, session)
}

function publishDueOrphan(state: BrokerState, clientId: string): void {
  const orphan = state.orphanWills.get(clientId)
  if (orphan !== undefined && orphan.dueAtMs <= state.nowMs) publishOrphanWill(state, clientId, orphan)
}

/** More unsent bytes than this and the client is slow, not forgetful: sending again would only make it worse. */
const maxUnsentBytesForRetry = 65_536

function retry(state: BrokerState, session: Session): void {
  session.isRetryScheduled = false
  const { connection } = session
  if (connection === undefined || connection.version === 5 || session.inflightCount === 0) return
  const held = Math.max(connection.heldUntilBatch, connection.acksHeldUntilBatch)
  const isHeld = held > state.committedBatch || connection.heldAnswers !== undefined
  const isWaiting = isHeld || !state.storageIsHealthy
  if (!isWaiting && connection.unsentBytes <= maxUnsentBytesForRetry) {
    connection.hasSentAgain = true
    resend(state, session, connection, state.nowMs - state.settings.retryIntervalMs)
  }
  if (!session.isRetryScheduled) scheduleRetry(state, session)
}

function releaseOld(state: BrokerState, session: Session): void {
  session.isReleaseScheduled = false
  // The broker at the other end of a bridge knows its own ids, however long it was away.
  if (isBridgeClient(session.clientId)) return
  const { awaitReleaseTimeoutMs } = state.settings
  let oldestMs = Infinity
  for (const [packetId, sinceMs] of session.incoming?.entries() ?? []) {
    if (sinceMs + awaitReleaseTimeoutMs > state.nowMs) {
      oldestMs = Math.min(oldestMs, sinceMs)
      continue
    }
    session.incoming?.delete(packetId)
    if (session.stored !== undefined) remove(state, { kind: 'incoming', clientId: session.clientId, packetId })
    releaseElsewhere(state, session, packetId)
    const { connection } = session
    if (connection?.takesRefusals === true && connection.unansweredPublishes > 0) connection.unansweredPublishes--
  }
  if (oldestMs === Infinity || awaitReleaseTimeoutMs === 0) return
  session.isReleaseScheduled = true
  state.deadlines.set('await-release', session.clientId, oldestMs + awaitReleaseTimeoutMs)
}
