// What the operator asks for, through the same doors as what clients do.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { awaitBatch } from '../outgoing/deferred-acks.ts'
import { endSession } from '../sessions/end-session.ts'
import type { Command, QuestionId } from '../model/inputs.ts'
import type { CommandResult } from '../model/outputs.ts'
import { Vow } from '../model/commit-barrier.ts'
import { endConnection } from '../connect/close-connection.ts'
import { keepFromBackup } from './import-retained.ts'
import { answerCommand, answerCommandWhenKept } from './command-results.ts'
import { publishFromOperator } from './admin-publish.ts'
import { subscribeFor, unsubscribeFor } from './admin-subscribe.ts'
import { endSessions, forgetTopics } from './delete-namespace-data.ts'

export function handleCommand(state: BrokerState, question: QuestionId, command: Command): void {
  switch (command.name) {
    case 'publish':
      return publishFromOperator(state, question, command)
    case 'kick':
      return kick(state, question, command)
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

function kick(
  state: BrokerState,
  question: QuestionId,
  { clientId, endsSession = false }: Extract<Command, { name: 'kick' }>,
): void {
  const session = state.sessions.get(clientId)
  const connection = session?.connection
  if (session === undefined || (connection === undefined && !endsSession))
    return answerCommand(state, question, { done: false, why: 'no-such-client' })
  if (endsSession) session.expirySeconds = 0
  if (connection === undefined) endSession(state, session)
  else {
    const text = 'disconnected by the administrator'
    endConnection(state, connection, { reason: reasonCodes.administrativeAction, text, publishWill: true })
  }
  const vow = new Vow()
  if (endsSession) awaitBatch(state, vow)
  vow.mark()
  answerCommandWhenKept(state, question, { result: { done: true, matched: 1 }, vow })
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
