// Converts mosquitto.db of mosquitto 1.4 to 2.0: retained messages, and persistent sessions with their queues.

import { parseTopicName } from '../../../src/protocol/index.ts'
import type { RetainedRecord, StoredMessage } from '../../../src/records/index.ts'
import { InvalidArchive } from '../../../src/archives/index.ts'
import type { Converted } from './converted.ts'
import {
  readChunks,
  type ClientChunk,
  type MessageChunk,
  type QueuedChunk,
  type SubscriptionChunk,
} from './database-chunks.ts'
import { SkippedItems } from './skipped-items.ts'
import { type ImportedSession, SessionDrafts, type SessionSource } from './sessions.ts'

export interface ConvertedDatabase {
  readonly retained: readonly RetainedRecord[]
  readonly sessions: readonly ImportedSession[]
}

/** Maximum number of chunks, which are in memory at the same time. */
const maxChunks = 4_000_000

/** Facts that only mosquitto.conf has, if it is missing: no mount points, unverified user names, no bridges. */
export const withoutConfiguration: SessionSource = {
  mountpoints: new Map(),
  verifiesUsernames: false,
  isBridge: () => false,
}

/** Throws InvalidArchive if the file is not a mosquitto.db or is truncated. */
export function convertDatabase(
  bytes: Buffer,
  nowMs: number,
  source: SessionSource = withoutConfiguration,
): Converted<ConvertedDatabase> {
  const skippedItems = new SkippedItems()
  const messages = new Map<bigint, StoredMessage | 'unusable'>()
  const retainedIds: bigint[] = []
  const clients: ClientChunk[] = []
  const queued: QueuedChunk[] = []
  const subscriptions: SubscriptionChunk[] = []
  let count = 0
  for (const chunk of readChunks(bytes)) {
    if (++count > maxChunks)
      throw new InvalidArchive(`it has more than ${maxChunks} messages, sessions and subscriptions`)
    if (chunk.chunk === 'message') messages.set(chunk.id, toStoredMessage(chunk, nowMs, skippedItems))
    else if (chunk.chunk === 'retained') retainedIds.push(chunk.messageId)
    else if (chunk.chunk === 'client') clients.push(chunk)
    else if (chunk.chunk === 'queued') queued.push(chunk)
    else subscriptions.push(chunk)
  }
  const retained = collectRetained(retainedIds, messages, skippedItems)
  const drafts = new SessionDrafts(source, { nowMs, skippedItems })
  for (const chunk of clients) drafts.addClient(chunk)
  for (const chunk of subscriptions) drafts.addSubscription(chunk)
  for (const chunk of queued) {
    const message = messages.get(chunk.messageId)
    // mosquitto deletes expired messages, but may keep references to them.
    if (message === undefined) skippedItems.add('queued messages have expired or are missing', chunk.clientId)
    else if (message !== 'unusable') drafts.addMessage(chunk, message)
  }
  for (const message of drafts.deliverUnreleased()) if (message.retain) retain(retained, message)
  return {
    value: {
      retained: [...retained.values()].map((message) => ({ kind: 'retained', message })),
      sessions: drafts.listSessions(),
    },
    skipped: skippedItems.formatSentences(),
    stricter: [],
  }
}

function collectRetained(
  ids: readonly bigint[],
  messages: ReadonlyMap<bigint, StoredMessage | 'unusable'>,
  skippedItems: SkippedItems,
): Map<string, StoredMessage> {
  const retained = new Map<string, StoredMessage>()
  for (const id of ids) {
    const message = messages.get(id)
    if (message === undefined) skippedItems.add('retained messages have expired or are missing', String(id))
    else if (message === 'unusable') continue
    else if (message.topic.startsWith('$'))
      skippedItems.add('retained messages have topics that begin with $', message.topic)
    else retained.set(message.topic, { ...message, retain: true })
  }
  return retained
}

/** [MQTT-3.3.1-10] A retained message without payload deletes the earlier one. */
function retain(retained: Map<string, StoredMessage>, message: StoredMessage): void {
  if (message.payload.length === 0) retained.delete(message.topic)
  else retained.set(message.topic, message)
}

function toStoredMessage(chunk: MessageChunk, nowMs: number, skippedItems: SkippedItems): StoredMessage | 'unusable' {
  const { topic, publisher, publisherUsername, payload, qos, retain: isRetained } = chunk
  if (parseTopicName(topic) === undefined) {
    skippedItems.add('messages have no valid topic', topic)
    return 'unusable'
  }
  const expiresAtMs = chunk.expiresAtSeconds > 0 ? chunk.expiresAtSeconds * 1_000 : undefined
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) {
    skippedItems.add('messages have expired', topic)
    return 'unusable'
  }
  const seconds = expiresAtMs === undefined ? undefined : Math.ceil((expiresAtMs - nowMs) / 1_000)
  const properties = { ...chunk.properties, ...(seconds !== undefined && { messageExpiryIntervalSeconds: seconds }) }
  return {
    topic,
    payload,
    qos: qos as 0 | 1 | 2,
    retain: isRetained,
    properties: Object.keys(properties).length === 0 ? undefined : properties,
    publisher,
    publisherUsername: publisherUsername === '' ? undefined : publisherUsername,
    isByOwnRight: false,
    publisherMountpoint: '',
    isRepeat: false,
    publishedAtMs: nowMs,
    expiresAtMs,
  }
}
