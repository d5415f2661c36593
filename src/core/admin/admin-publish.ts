// A publication of the operator, in the name of a client or of nobody: through the doors of a client's PUBLISH, but for
// what is a client's alone (permissions, packet ids, its quotas).

import { countLevels, parseTopicName, type Topic } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { awaitBatch } from '../outgoing/deferred-acks.ts'
import { passageFor } from '../peers/peer-backpressure.ts'
import { meetsFullSession, meetsFullSessionElsewhere, needsStorage, publish } from '../publish/deliver-locally.ts'
import { isOfBroker } from '../retained/retained-messages.ts'
import { spreadFurther } from '../publish/route-message.ts'
import type { Command, QuestionId } from '../model/inputs.ts'
import { Message, never } from '../model/message.ts'
import type { CommandFailure, Deliveries } from '../model/outputs.ts'
import { Vow } from '../model/commit-barrier.ts'
import { answerCommand, answerCommandWhenKept } from './command-results.ts'

type Publication = Extract<Command, { name: 'publish' }>

/** To all of its topics or to none. */
export function publishFromOperator(state: BrokerState, question: QuestionId, command: Publication): void {
  const messages: Message[] = []
  for (const text of [command.topic, ...(command.furtherTopics ?? [])]) {
    const message = messageFor(state, text, command)
    const why = typeof message === 'string' ? message : refusalOf(state, message)
    if (why !== undefined) return answerCommand(state, question, { done: false, why })
    if (typeof message !== 'string') messages.push(message)
  }
  const vow = new Vow()
  const deliveries: Deliveries = { matched: 0, sent: 0, queued: 0, dropped: 0, dealtToPresent: 0, dealtToAbsent: 0 }
  let matched = 0
  for (const message of messages) matched += giveOut(state, message, { command, vow, deliveries })
  const counted = command.wantsDeliveries === true ? { deliveries } : undefined
  vow.mark()
  answerCommandWhenKept(state, question, { result: { done: true, matched, ...counted }, vow })
}

function messageFor(state: BrokerState, text: string, command: Publication): Message | CommandFailure {
  const topic = topicFor(state, text)
  if (topic === undefined) return 'invalid-topic'
  if (topic.bytes.length + command.payload.length > state.settings.maxPacketBytes) return 'too-large'
  const expiry = command.properties?.messageExpiryIntervalSeconds
  const message = new Message(topic, {
    qos: command.qos,
    retain: command.retain,
    properties: command.properties,
    publisher: command.clientId,
    publishedAtMs: state.nowMs,
    expiresAtMs: expiry === undefined ? never : state.nowMs + expiry * 1_000,
    chunk: command.payload,
    payloadStart: 0,
    payloadEnd: command.payload.length,
  })
  message.isOwned = true
  // What the client whose name it has may publish itself is another question, also when its topic remembers it.
  message.isByOwnRight = true
  return message
}

/** What the broker says of itself may be as deep as the client ids in it. */
function topicFor(state: BrokerState, text: string): Topic | undefined {
  const name = parseTopicName(text)
  if (name === undefined || (!isOfBroker(name) && countLevels(name) > state.settings.maxTopicLevels)) return undefined
  return state.topics.named(name)
}

/** Why it is not taken, if it is not: nobody has heard it then. */
function refusalOf(state: BrokerState, message: Message): CommandFailure | undefined {
  const { topic, qos, retain } = message
  if (isOfBroker(topic.name)) return undefined
  if (retain && !state.settings.retainAvailable) return 'not-available'
  if (!state.storageIsHealthy && (retain || needsStorage(state, message))) return 'storage-failing'
  if (meetsFullSession(state, message) || meetsFullSessionElsewhere(state, message)) return 'receiver-full'
  const { neighbours } = state
  if (neighbours === undefined) return undefined
  // As for clients: what others want is not known before they have said it.
  if (!neighbours.isReady) return 'shard-behind'
  return passageFor(state, neighbours, { topic, qos, retain }) === 'go' ? undefined : 'shard-behind'
}

/** The number of sessions here and shards elsewhere that are to have it; what has to be awaited is added to the vow. */
function giveOut(
  state: BrokerState,
  message: Message,
  { command, vow, deliveries }: { command: Publication; vow: Vow; deliveries: Deliveries },
): number {
  const publisher = state.sessions.get(command.clientId)
  const changesBefore = state.gathering.changes.length
  const before = countsOf(state)
  const matchedHere = publish(state, message, publisher)
  const dealtBefore = takenOf(state)
  const matched = matchedHere + spreadFurther(state, message, publisher, 0)
  const now = countsOf(state)
  // A shared subscription with members on several shards may have been served here as well.
  deliveries.matched += matchedHere + takenOf(state) - dealtBefore
  deliveries.sent += now.sent - before.sent
  deliveries.queued += now.queued - before.queued
  deliveries.dropped += now.dropped - before.dropped
  deliveries.dealtToPresent += now.dealtToPresent - before.dealtToPresent
  deliveries.dealtToAbsent += now.dealtToAbsent - before.dealtToAbsent
  if (state.gathering.changes.length > changesBefore) awaitBatch(state, vow)
  awaitOthers(state, vow)
  return matched
}

function awaitOthers(state: BrokerState, vow: Vow): void {
  const forwarded = state.neighbours?.takeVow()
  if (forwarded === undefined) return
  vow.await()
  forwarded.whenKept(() => vow.mark(forwarded.refusal))
  forwarded.mark()
}

/** Of deliveries to sessions, so far. */
function countsOf({ counts, neighbours }: BrokerState): Omit<Deliveries, 'matched'> {
  const { dropped } = counts
  const toSessions =
    dropped['queue-full'] + dropped['storage-full'] + dropped['too-large'] + dropped['not-reading'] + dropped.expired
  const { dealtToPresent = 0, dealtToAbsent = 0 } = neighbours ?? {}
  return {
    sent: counts.publishesSent,
    queued: counts.publishesLeftWaiting,
    dropped: toSessions,
    dealtToPresent,
    dealtToAbsent,
  }
}

function takenOf(state: BrokerState): number {
  const { sent, queued, dropped } = countsOf(state)
  return sent + queued + dropped
}
