// Deletes sessions, delayed messages and retained messages of a namespace that was deleted. Only the clients that are
// disconnected notice: nothing is published.

import { parseTopicName, reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { clearRetained, isBrokerTopic } from '../retained/retained-messages.ts'
import { endSession } from '../sessions/end-session.ts'
import { dropDelayed, dropDelayedWill, dropDueWills, dropWill } from '../sessions/publish-will.ts'
import { deleteRecord } from '../queues/persistent-queue.ts'
import { deleteWill } from '../publish/stored-wills.ts'
import type { Command, RequestId } from '../model/inputs.ts'
import { isOfNamespace } from '../namespaces/namespaced-names.ts'
import { toClientId } from '../namespaces/internal-session-names.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { endConnection } from '../connect/close-connection.ts'
import { completeCommand, completeCommandWhenCommitted } from './command-results.ts'

/** Ends the sessions; `matched` in the result is their number. */
export function endNamespaceSessions(
  state: BrokerState,
  requestId: RequestId,
  { namespace, clientIds }: Extract<Command, { name: 'end-sessions' }>,
): void {
  if (!state.storage.isHealthy)
    return completeCommand(state.outputs, requestId, { done: false, why: 'storage-failing' })
  const isSelectedName = (name: string): boolean => isOfNamespace(toClientId(name), namespace)
  for (const [key, delayed] of state.wills.delayedWills) if (isSelectedName(key)) dropDelayedWill(state, key, delayed)
  for (const name of state.wills.pending.keys()) if (isSelectedName(name)) deleteWill(state, name)
  dropDueWills(state, isSelectedName)
  for (const [id, { publisher }] of state.wills.delayedMessages) if (isSelectedName(publisher)) dropDelayed(state, id)
  let matched = 0
  for (const clientId of clientIds) {
    const session = state.sessions.get(clientId)
    if (session === undefined) continue
    matched++
    const { connection } = session
    dropWill(state, session)
    session.expirySeconds = 0
    if (connection === undefined) endSession(state, session, 'administrator')
    else {
      const text = 'its namespace was deleted'
      endConnection(state, connection, { reason: reasonCodes.administrativeAction, text, publishWill: false })
    }
  }
  completeWhenStored(state, requestId, matched)
}

/** Deletes the retained messages of the topics; `matched` in the result is their number. */
export function deleteRetainedOfTopics(
  state: Parts<'batches' | 'deadlines' | 'memory' | 'namespaces' | 'outputs' | 'retained' | 'storage'>,
  requestId: RequestId,
  { topics }: Extract<Command, { name: 'forget-retained' }>,
): void {
  if (!state.storage.isHealthy)
    return completeCommand(state.outputs, requestId, { done: false, why: 'storage-failing' })
  let matched = 0
  for (const text of topics) {
    const topic = parseTopicName(text)
    if (topic === undefined || isBrokerTopic(topic) || !clearRetained(state, topic)) continue
    deleteRecord(state.batches, { kind: 'retained', topic })
    state.deadlines.cancel('retained-expiry', topic)
    matched++
  }
  completeWhenStored(state, requestId, matched)
}

/** Deletes one delayed message; `matched` in the result is 1, or 0 if no message has that ID. */
export function deleteDelayed(
  state: Parts<'batches' | 'deadlines' | 'memory' | 'outputs' | 'storage' | 'wills'>,
  requestId: RequestId,
  { id }: Extract<Command, { name: 'delete-delayed' }>,
): void {
  if (!state.storage.isHealthy)
    return completeCommand(state.outputs, requestId, { done: false, why: 'storage-failing' })
  completeWhenStored(state, requestId, dropDelayed(state, id) ? 1 : 0)
}

function completeWhenStored(
  state: Parts<'batches' | 'outputs' | 'storage'>,
  requestId: RequestId,
  matched: number,
): void {
  const barrier = new CommitBarrier()
  if (matched > 0) addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched }, barrier })
}
