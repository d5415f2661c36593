// Sessions and retained messages that are taken away, because the namespace that they belong to is: nobody hears of it but
// the clients who are sent away.

import { parseTopicName, reasonCodes } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { awaitBatch } from '../delivery/held-answers.ts'
import { forgetRetained, isOfBroker } from '../delivery/retained-messages.ts'
import { dropOrphanWill, dropPendingWills, dropWill } from '../delivery/publish-will.ts'
import { endSession } from '../delivery/session-end.ts'
import { remove } from '../delivery/stored-queue.ts'
import { forgetWill } from '../delivery/will-records.ts'
import type { Command, QuestionId } from '../inputs.ts'
import { isOfNamespace } from '../namespaced-names.ts'
import { clientIdIn } from '../reserved-names.ts'
import { Vow } from '../vow.ts'
import { endConnection } from './close-connection.ts'
import { answerCommand, answerCommandWhenKept } from './operator-answers.ts'

/** `matched` in the result: how many there were. */
export function endSessions(
  state: BrokerState,
  question: QuestionId,
  { namespace, clientIds }: Extract<Command, { name: 'end-sessions' }>,
): void {
  if (!state.storageIsHealthy) return answerCommand(state, question, { done: false, why: 'storage-failing' })
  const isOf = (name: string): boolean => isOfNamespace(clientIdIn(name), namespace)
  for (const [key, orphan] of state.orphanWills) if (isOf(key)) dropOrphanWill(state, key, orphan)
  for (const name of state.owedWills.keys()) if (isOf(name)) forgetWill(state, name)
  dropPendingWills(state, isOf)
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
