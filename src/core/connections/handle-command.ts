// What the operator asks for, through the same doors as what clients do.

import { reasonCodes, splitExclusiveFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { awaitBatch } from '../delivery/held-answers.ts'
import { seenEverywhere } from '../delivery/note-interest.ts'
import { startRetained } from '../delivery/retained-scans.ts'
import type { Command, QuestionId } from '../inputs.ts'
import { mountedFilter } from '../mountpoint.ts'
import type { CommandFailure, CommandResult } from '../outputs.ts'
import type { Session } from '../sessions/session.ts'
import { Vow } from '../vow.ts'
import { endConnection } from './close-connection.ts'
import { refusalOf, subscribe, unsubscribe } from './handle-subscribe.ts'
import { answerCommand, answerCommandWhenKept } from './operator-answers.ts'
import { keepFromBackup } from './keep-from-backup.ts'
import { publishFromOperator } from './operator-publish.ts'
import { endSessions, forgetTopics } from './take-away.ts'

export function handleCommand(state: BrokerState, question: QuestionId, command: Command): void {
  switch (command.name) {
    case 'publish':
      return publishFromOperator(state, question, command)
    case 'kick':
      return answerCommand(state, question, kick(state, command.clientId))
    case 'keep-alive':
      return answerCommand(state, question, changeKeepAlive(state, command.clientId, command.seconds))
    case 'forget-verdicts':
      return answerCommand(state, question, forgetVerdicts(state, command.clientId))
    case 'subscribe':
      return subscribeFor(state, question, command)
    case 'unsubscribe':
      return unsubscribeFor(state, question, command)
    case 'keep-retained':
      return keepFromBackup(state, question, command)
    case 'end-sessions':
      return endSessions(state, question, command)
    case 'forget-retained':
      return forgetTopics(state, question, command)
    default:
      command satisfies never
  }
}

/** As a SUBSCRIBE of the client would be, but that permissions are not asked. */
function subscribeFor(
  state: BrokerState,
  question: QuestionId,
  { clientId, filter, qos }: Extract<Command, { name: 'subscribe' }>,
): void {
  const session = state.sessions.get(clientId)
  if (session === undefined) return answerCommand(state, question, { done: false, why: 'no-such-client' })
  const mounted = mountedFilter(session.mountpoint, filter)
  if (mounted === undefined) return answerCommand(state, question, { done: false, why: 'invalid-topic' })
  const refusal = refusalOf(state, session, mounted)
  // Who holds a filter on another shard would have to be asked first: that the client does for itself.
  const isUnknown = state.neighbours !== undefined && splitExclusiveFilter(mounted) !== undefined
  if (refusal !== undefined || isUnknown) {
    return answerCommand(state, question, { done: false, why: isUnknown ? 'not-available' : whyOf(state, refusal) })
  }
  const granted = qos < state.settings.maximumQoS ? qos : state.settings.maximumQoS
  const options = { qos: granted, noLocal: false, retainAsPublished: false, retainHandling: 0 } as const
  const added = subscribe(state, session, mounted, { ...options, identifier: undefined, raisesTo: 0 })
  const seen = state.neighbours === undefined ? undefined : seenEverywhere(state.neighbours, [mounted])
  answerWithDisk(state, question, { session, result: { done: true, matched: 1 }, seen })
  startRetained(state, session, mounted, added)
}

function whyOf(state: BrokerState, reason: number | undefined): CommandFailure {
  if (reason === reasonCodes.quotaExceeded) return 'quota-exceeded'
  return reason === reasonCodes.unspecifiedError && !state.storageIsHealthy ? 'storage-failing' : 'not-available'
}

function unsubscribeFor(
  state: BrokerState,
  question: QuestionId,
  { clientId, filter }: Extract<Command, { name: 'unsubscribe' }>,
): void {
  const session = state.sessions.get(clientId)
  if (session === undefined) return answerCommand(state, question, { done: false, why: 'no-such-client' })
  const mounted = mountedFilter(session.mountpoint, filter)
  const wasThere = mounted !== undefined && unsubscribe(state, session, mounted)
  answerWithDisk(state, question, { session, result: { done: true, matched: wasThere ? 1 : 0 }, seen: undefined })
}

/** When a crash can not take it back, and where it is a matter of other shards when they know. */
function answerWithDisk(
  state: BrokerState,
  question: QuestionId,
  { session, result, seen }: { session: Session; result: CommandResult; seen: Vow | undefined },
): void {
  const vow = seen ?? new Vow()
  if (session.stored !== undefined) awaitBatch(state, vow)
  vow.mark()
  answerCommandWhenKept(state, question, { result, vow })
}

function kick(state: BrokerState, clientId: string): CommandResult {
  const connection = state.sessions.get(clientId)?.connection
  if (connection === undefined) return { done: false, why: 'no-such-client' }
  endConnection(state, connection, {
    reason: reasonCodes.administrativeAction,
    text: 'disconnected by the operator',
    publishWill: true,
  })
  return { done: true, matched: 1 }
}

function changeKeepAlive(state: BrokerState, clientId: string, seconds: number): CommandResult {
  const session = state.sessions.get(clientId)
  const connection = session?.connection
  if (session === undefined || connection === undefined) return { done: false, why: 'no-such-client' }
  session.keepAliveSeconds = seconds
  connection.keepAliveMs = seconds * 1_000 * state.settings.keepAliveMultiplier
  if (seconds === 0) state.deadlines.cancel('keep-alive', connection)
  else state.deadlines.set('keep-alive', connection, connection.lastPacketAtMs + connection.keepAliveMs)
  return { done: true, matched: 1 }
}

function forgetVerdicts(state: BrokerState, clientId: string): CommandResult {
  const connection = state.sessions.get(clientId)?.connection
  if (connection === undefined) return { done: false, why: 'no-such-client' }
  connection.verdicts = undefined
  return { done: true, matched: 1 }
}
