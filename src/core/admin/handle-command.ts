// Commands of the HTTP API. They use the same functions as the packets of clients.

import { reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { SessionTable } from '../state/sessions/session-table.ts'
import type { EnqueueParts, Parts } from '../state/parts.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { endSession } from '../sessions/end-session.ts'
import type { Command, RequestId } from '../model/inputs.ts'
import type { CommandResult } from '../model/outputs.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { endConnection } from '../connect/close-connection.ts'
import { storeInActionQueue } from '../publish/run-rules.ts'
import { importRetained } from './import-retained.ts'
import { completeCommand, completeCommandWhenCommitted } from './command-results.ts'
import { publishAsAdmin } from './admin-publish.ts'
import { subscribeAsAdmin, unsubscribeAsAdmin } from './admin-subscribe.ts'
import { drainClients } from './drain-clients.ts'
import { deleteDelayed, endNamespaceSessions, deleteRetainedOfTopics } from './delete-namespace-data.ts'

export function handleCommand(state: BrokerState, requestId: RequestId, command: Command): void {
  switch (command.name) {
    case 'publish':
      return publishAsAdmin(state, requestId, command)
    case 'kick':
      return kick(state, requestId, command)
    case 'drain':
      return completeCommand(state.outputs, requestId, { done: true, matched: drainClients(state, command) })
    case 'keep-alive':
      return completeCommand(state.outputs, requestId, changeKeepAlive(state, command.clientId, command.seconds))
    case 'clear-authorization-cache':
      return completeCommand(state.outputs, requestId, clearAuthorizationCache(state.sessions, command.clientId))
    case 'subscribe':
      return subscribeAsAdmin(state, requestId, command)
    case 'unsubscribe':
      return unsubscribeAsAdmin(state, requestId, command)
    case 'import-retained':
      return importRetained(state, requestId, command)
    case 'end-sessions':
      return endNamespaceSessions(state, requestId, command)
    case 'forget-retained':
      return deleteRetainedOfTopics(state, requestId, command)
    case 'keep-facts':
      return storeFacts(state, requestId, command)
    case 'delete-delayed':
      return deleteDelayed(state, requestId, command)
    case 'store-in-action-queue':
      return storeAsAdmin(state, requestId, command)
    default:
      command satisfies never
  }
}

function storeAsAdmin(
  state: EnqueueParts & Parts<'storage'>,
  requestId: RequestId,
  { clientId, publication, further }: Extract<Command, { name: 'store-in-action-queue' }>,
): void {
  const failure = storeInActionQueue(state, clientId, publication, further)
  if (failure !== undefined) {
    const why =
      failure === 'action-queue-full' ? 'receiver-full' : failure === 'no-action-queue' ? 'no-such-client' : failure
    return completeCommand(state.outputs, requestId, { done: false, why })
  }
  const barrier = new CommitBarrier()
  addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched: 1 }, barrier: barrier })
}

function storeFacts(
  state: Parts<'batches' | 'outputs' | 'storage'>,
  requestId: RequestId,
  { facts }: Extract<Command, { name: 'keep-facts' }>,
): void {
  const { changes } = state.batches.openBatch
  for (const { name, value } of facts) {
    if (value === undefined) changes.push({ change: 'delete', key: { kind: 'fact', name } })
    else changes.push({ change: 'put', record: { kind: 'fact', name, value } })
  }
  const barrier = new CommitBarrier()
  addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched: facts.length }, barrier })
}

function kick(
  state: BrokerState,
  requestId: RequestId,
  { clientId, endsSession = false }: Extract<Command, { name: 'kick' }>,
): void {
  const session = state.sessions.get(clientId)
  const connection = session?.connection
  if (session === undefined || (connection === undefined && !endsSession))
    return completeCommand(state.outputs, requestId, { done: false, why: 'no-such-client' })
  if (endsSession) session.expirySeconds = 0
  if (connection === undefined) endSession(state, session, 'administrator')
  else {
    const text = 'disconnected by the administrator'
    endConnection(state, connection, { reason: reasonCodes.administrativeAction, text, publishWill: true })
  }
  const barrier = new CommitBarrier()
  if (endsSession) addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched: 1 }, barrier })
}

function changeKeepAlive(
  state: Parts<'deadlines' | 'sessions' | 'settings'>,
  clientId: string,
  seconds: number,
): CommandResult {
  const session = state.sessions.get(clientId)
  const connection = session?.connection
  if (session === undefined || connection === undefined) return { done: false, why: 'no-such-client' }
  session.lastConnect.keepAliveSeconds = seconds
  connection.keepAliveMs = seconds * 1_000 * state.settings.keepAliveMultiplier
  if (seconds === 0) state.deadlines.cancel('keep-alive', connection)
  else state.deadlines.set('keep-alive', connection, connection.lastPacketAtMs + connection.keepAliveMs)
  return { done: true, matched: 1 }
}

function clearAuthorizationCache(sessions: SessionTable, clientId: string): CommandResult {
  const connection = sessions.get(clientId)?.connection
  if (connection === undefined) return { done: false, why: 'no-such-client' }
  connection.authorizationCache = undefined
  return { done: true, matched: 1 }
}
