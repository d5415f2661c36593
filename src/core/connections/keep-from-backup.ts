// Retained messages that come out of a backup: kept by the rules of those that are published, and told to nobody who has
// subscribed already. They are memories and no news.

import { countLevels, parseTopicName } from '../../protocol/index.ts'
import type { BrokerState } from '../broker-state.ts'
import { awaitBatch } from '../delivery/held-answers.ts'
import { isOfBroker, retain } from '../delivery/retained-messages.ts'
import type { Command, QuestionId } from '../inputs.ts'
import { fromStored, type Message, never } from '../message.ts'
import { messageSize } from '../message-size.ts'
import type { KeptMessages } from '../outputs.ts'
import type { StoredMessage } from '../records.ts'
import { StoredRetained, type RetainedMessage } from '../stored-retained.ts'
import { Vow } from '../vow.ts'
import { answerCommand, answerCommandWhenKept } from './operator-answers.ts'

type Fate = 'inserted' | 'updated' | 'unchanged' | 'expired' | 'refused'

/** Topics told by name. */
const topicsTold = 10

/** Those that are there already are passed over: carrying the same out again costs no write. */
export function keepFromBackup(
  state: BrokerState,
  question: QuestionId,
  { messages }: Extract<Command, { name: 'keep-retained' }>,
): void {
  if (!state.storageIsHealthy) return answerCommand(state, question, { done: false, why: 'storage-failing' })
  const kept: KeptMessages = {
    inserted: 0,
    updated: 0,
    unchanged: 0,
    expired: 0,
    refused: 0,
    refusedTopics: [],
    updatedTopics: [],
  }
  for (const message of messages) {
    const fate = keep(state, message)
    kept[fate]++
    const told = fate === 'refused' ? kept.refusedTopics : fate === 'updated' ? kept.updatedTopics : undefined
    if (told !== undefined && told.length < topicsTold) told.push(message.topic)
  }
  const vow = new Vow()
  if (kept.inserted + kept.updated > 0) awaitBatch(state, vow)
  vow.mark()
  answerCommandWhenKept(state, question, { result: { done: true, matched: kept.inserted, kept }, vow })
}

function keep(state: BrokerState, stored: StoredMessage): Fate {
  const name = parseTopicName(stored.topic)
  const { retainAvailable, maxTopicLevels } = state.settings
  if (name === undefined || isOfBroker(name) || !retainAvailable || countLevels(name) > maxTopicLevels) return 'refused'
  const message = fromStored(stored, state.topics.named(name))
  if (message.expiresAtMs <= state.nowMs || message.payloadBytes === 0) return 'expired'
  const before = state.retained.get(name)
  if (before !== undefined && isSame(before, message)) return 'unchanged'
  if (retain(state, message) !== undefined) return 'refused'
  return before === undefined ? 'inserted' : 'updated'
}

/**
 * An expiry that the settings here have given it makes no other message of it. Where the payload is on disk only, its size counts:
 * two messages of one publisher, topic, millisecond and size are taken for one.
 */
function isSame(before: RetainedMessage, message: Message): boolean {
  return (
    before.publishedAtMs === message.publishedAtMs &&
    before.qos === message.qos &&
    before.publisher === message.publisher &&
    before.publisherUsername === message.publisherUsername &&
    before.isByOwnRight === message.isByOwnRight &&
    before.publisherMountpoint === message.publisherMountpoint &&
    (message.expiresAtMs === never || before.expiresAtMs === message.expiresAtMs) &&
    hasSameContent(before, message)
  )
}

function hasSameContent(before: RetainedMessage, message: Message): boolean {
  if (before instanceof StoredRetained)
    return before.size === messageSize(message.topic.name, message.payloadBytes, message.properties)
  return (
    before.payload().equals(message.payload()) &&
    JSON.stringify(before.properties ?? {}) === JSON.stringify(message.properties ?? {})
  )
}
