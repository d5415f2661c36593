// Sessions and retained messages that are taken away, because the namespace that they belong to is: nobody hears of it but
// the clients who are sent away.

import { parseTopicName, reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { awaitBatch } from '../outgoing/deferred-acks.ts'
import { forgetRetained, isOfBroker } from '../retained/retained-messages.ts'
import { dropWill, endSession } from '../sessions/end-session.ts'
import { remove } from '../queues/persistent-queue.ts'
import { forgetWill } from '../sessions/stored-wills.ts'
import type { Command, QuestionId } from '../model/inputs.ts'
import { isOfNamespace } from '../namespaces/namespaced-names.ts'
import { clientIdIn } from '../namespaces/internal-session-names.ts'
import { Vow } from '../model/commit-barrier.ts'
import { endConnection } from '../connect/close-connection.ts'
import { answerCommand, answerCommandWhenKept } from './command-results.ts'

/** `matched` in the result: how many there were. */
export function endSessions(
  state: BrokerState,
  question: QuestionId,
  { namespace, clientIds }: Extract<Command, { name: 'end-sessions' }>,
): void {
  if (!state.storageIsHealthy) return answerCommand(state, question, { done: false, why: 'storage-failing' })
  for (const wills of [state.orphanWills, state.owedWills])
    for (const name of wills.keys()) if (isOfNamespace(clientIdIn(name), namespace)) dropOrphan(state, name)
  let matched = 0
  for (const clientId of clientIds) {
    const session = state.sessions.get(clientId)
    if (session === undefined) continue
    matched++
    const { connection } = session
    dropWill(state, session)
    session.expirySeconds = 0
    if (connection === undefined) endSession(state, session)
    else {
      const text = 'its namespace is taken away'
      endConnection(state, connection, { reason: reasonCodes.administrativeAction, text, publishWill: false })
    }
  }
  answerWhenStored(state, question, matched)
}

function dropOrphan(state: BrokerState, name: string): void {
  state.orphanWills.delete(name)
  forgetWill(state, name)
}

/** `matched` in the result: how many there were. */
export function forgetTopics(
  state: BrokerState,
  question: QuestionId,
  { topics }: Extract<Command, { name: 'forget-retained' }>,
): void {
  if (!state.storageIsHealthy) return answerCommand(state, question, { done: false, why: 'storage-failing' })
  let matched = 0
  for (const text of topics) {
    const topic = parseTopicName(text)
    if (topic === undefined || isOfBroker(topic) || !forgetRetained(state, topic)) continue
    remove(state, { kind: 'retained', topic })
    state.deadlines.cancel('retained-expiry', topic)
    matched++
  }
  answerWhenStored(state, question, matched)
}

function answerWhenStored(state: BrokerState, question: QuestionId, matched: number): void {
  const vow = new Vow()
  if (matched > 0) awaitBatch(state, vow)
  vow.mark()
  answerCommandWhenKept(state, question, { result: { done: true, matched }, vow })
}
