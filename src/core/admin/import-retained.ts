// Imports retained messages from a backup. The rules for published retained messages apply. Existing subscribers do not
// receive imported messages, because these are not new.

import { countLevels, parseTopicName } from '../../protocol/index.ts'
import type { StoredMessage } from '../../records/index.ts'
import type { Parts, RetainedParts } from '../state/parts.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import { isBrokerTopic, setRetained } from '../retained/retained-messages.ts'
import type { Command, RequestId } from '../model/inputs.ts'
import { createMessageFromStored, type Message, never } from '../messages/message.ts'
import { measureMessage } from '../messages/measure-message.ts'
import type { ImportedMessages } from '../model/outputs.ts'
import { StoredRetained, type RetainedMessage, toMessage } from '../messages/retained-message.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { completeCommand, completeCommandWhenCommitted } from './command-results.ts'

type ImportOutcome = 'inserted' | 'updated' | 'unchanged' | 'expired' | 'refused'

/** Maximum number of topics that the result names. */
const maxTopicsReported = 10

/** Imports the messages. Messages that exist already are skipped: a repeated import writes nothing. */
export function importRetained(
  state: RetainedParts & Parts<'outputs' | 'storage' | 'topics'>,
  requestId: RequestId,
  { messages }: Extract<Command, { name: 'import-retained' }>,
): void {
  if (!state.storage.isHealthy)
    return completeCommand(state.outputs, requestId, { done: false, why: 'storage-failing' })
  const kept: ImportedMessages = {
    inserted: 0,
    updated: 0,
    unchanged: 0,
    expired: 0,
    refused: 0,
    refusedTopics: [],
    updatedTopics: [],
  }
  for (const message of messages) {
    const outcome = importMessage(state, message)
    kept[outcome]++
    const reported = outcome === 'refused' ? kept.refusedTopics : outcome === 'updated' ? kept.updatedTopics : undefined
    if (reported !== undefined && reported.length < maxTopicsReported) reported.push(message.topic)
  }
  const barrier = new CommitBarrier()
  if (kept.inserted + kept.updated > 0) addOpenBatch(state, barrier)
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched: kept.inserted, kept }, barrier })
}

function importMessage(state: RetainedParts & Parts<'topics'>, stored: StoredMessage): ImportOutcome {
  const name = parseTopicName(stored.topic)
  const { retainAvailable, maxTopicLevels } = state.settings
  if (name === undefined || isForBrokerOnly(name) || !retainAvailable || countLevels(name) > maxTopicLevels)
    return 'refused'
  const message = createMessageFromStored(stored, state.topics.internName(name))
  if (message.expiresAtMs <= state.nowMs || message.payloadBytes === 0) return 'expired'
  const before = state.retained.tree.get(name)
  if (before !== undefined && isSameMessage(before, message)) return 'unchanged'
  if (setRetained(state, message) !== undefined) return 'refused'
  return before === undefined ? 'inserted' : 'updated'
}

/** Nothing but the broker publishes to these topics, so a file cannot contain a message of them. */
function isForBrokerOnly(topic: string): boolean {
  return isBrokerTopic(topic) || isEventTopic(topic) || isSourceTopic(topic) || isReservedInNamespace(topic)
}

/**
 * An expiry time that the settings of this broker added does not make the message different. If the payload is only on
 * disk, its size is compared: two messages with the same publisher, topic, time in milliseconds and size count as
 * equal.
 */
function isSameMessage(before: RetainedMessage, message: Message): boolean {
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
    return before.size === measureMessage(message.topic.name, message.payloadBytes, message.properties)
  return (
    toMessage(before).readPayload().equals(message.readPayload()) &&
    JSON.stringify(before.properties ?? {}) === JSON.stringify(message.properties ?? {})
  )
}
