// Publishes wills. The message of a large will is on disk only and is read first:
//
//   due ──► in memory ───────────────────────────────────────────► published, its record deleted in the same batch
//       ──► on disk: `load-message` ──► `message-loaded` ──► the same
//
// Until then its record remains. If the client reconnects meanwhile, its connection waits (`connect/takeover-wait.ts`), so that
// the will comes before anything that the client publishes then. If the shard fails meanwhile, the will is published at the
// next start.

import { parseTopicName, reasonCodes, type Topic, type TopicTable } from '../../protocol/index.ts'
import { hasEndedToken, type Identity, createIdentity } from '../messages/identity.ts'
import { tokenEndsBefore } from '../publish/refuse-publish.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { isEventTopic, isReservedInNamespace, isReservedInside } from '../messages/reserved-roots.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { DrainParts, Parts, RedeliverParts, WillParts } from '../state/parts.ts'
import type { SessionWill } from '../state/sessions/session-will.ts'
import type { Refused } from '../model/packet-refusal.ts'
import type { DueWill } from '../state/will-state.ts'
import { createMessageFromStored, Message, copyPublisherRights, copyWithTopic } from '../messages/message.ts'
import { addMountpoint, removeMountpoint } from '../namespaces/mountpoint.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'
import type { RemainingReceivers, StoredMessage } from '../../records/index.ts'
import { markDoneHere } from '../peers/remaining-receivers.ts'
import { toClientId, toDelayedPublisher, isDelayedName } from '../namespaces/internal-session-names.ts'
import type { Session } from '../state/sessions/session.ts'
import { forwardToPeers } from '../delivery/forward-to-peers.ts'
import { createKeptResult } from '../publish/store-result.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import { delayMessage, findDelayedLimit, takeDelayed } from '../publish/delay-message.ts'
import { resolvePublication, type ResolvedTopic, rewritePublication } from '../publish/resolve-publication.ts'
import { routeMessage, routePartial, routeRemaining } from '../publish/route-message.ts'
import { isReservedTopic } from '../publish/reserved-topics.ts'
import { releaseWill } from '../outgoing/will-memory.ts'
import { deleteWill, createOnceKey, storeUntilCommitted } from '../publish/stored-wills.ts'

/** [MQTT-3.1.2-10] [MQTT5-3.1.2-10] Deletes the will without publishing it. */
export function dropWill(state: Parts<'batches' | 'memory' | 'wills'>, session: Session): void {
  const { will } = session
  if (will === undefined) return
  session.will = undefined
  releaseWill(state.memory, will)
  deleteWill(state, will.name)
}

export function publishWill(state: BrokerState, session: Session): void {
  const { will, clientId } = session
  if (will === undefined) return
  session.will = undefined
  releaseWill(state.memory, will)
  publishNext(state, { clientId, name: will.name, message: will.message, session })
}

/**
 * [MQTT-3.1.2-8] [MQTT5-3.1.2-8] Publishes the will of a client without a session, or one that was published before and
 * did not reach all shards.
 */
export function publishDelayedWill(state: BrokerState, key: string, will: SessionWill): void {
  const { name, message } = will
  state.wills.delayedWills.delete(key)
  releaseWill(state.memory, will)
  publishNext(state, { clientId: toClientId(name), name, message, session: undefined })
}

/** Messages of one publisher are published in the order of their times; its CONNECT does not wait for them. */
export function publishDelayed(state: BrokerState, id: string): void {
  const delayed = takeDelayed(state, id)
  if (delayed === undefined) return
  const { will, publisher } = delayed
  const session = state.sessions.get(publisher)
  publishNext(state, {
    clientId: toDelayedPublisher(publisher),
    name: will.name,
    message: will.message,
    session,
    ruleDepth: will.delaySeconds,
  })
}

/** Deletes the message without publishing it. */
export function dropDelayed(state: Parts<'batches' | 'deadlines' | 'memory' | 'wills'>, id: string): boolean {
  const delayed = takeDelayed(state, id)
  if (delayed !== undefined) deleteWill(state, delayed.will.name)
  return delayed !== undefined
}

/** Deletes the will without publishing it. */
export function dropDelayedWill(state: Parts<'batches' | 'memory' | 'wills'>, key: string, will: SessionWill): void {
  state.wills.delayedWills.delete(key)
  releaseWill(state.memory, will)
  deleteWill(state, will.name)
}

/** Deletes wills that are being read. */
export function dropDueWills(state: Parts<'batches' | 'memory' | 'wills'>, isOf: (clientId: string) => boolean): void {
  for (const { name } of state.wills.loads.drop(isOf)) deleteWill(state, name)
}

/** Publishes the will at once, or after an earlier will of the same client. */
function publishNext(state: BrokerState, will: DueWill): void {
  const { message, clientId } = will
  if (message !== undefined && !state.wills.loads.has(clientId)) return publishLoaded(state, will, message)
  state.wills.loads.add(will)
  loadNext(state)
}

function loadNext(state: Parts<'outputs' | 'requests' | 'wills'>): void {
  for (let will = state.wills.loads.next(); will !== undefined; will = state.wills.loads.next()) {
    const requestId = state.requests.add({ for: 'will', will })
    state.outputs.requests.push({ kind: 'load-message', requestId, of: { kind: 'will', clientId: will.name } })
  }
}

/** Batches up to `number` are durable: wills in them need no memory any more, and further wills may be read. */
export function continueWillLoads(state: Parts<'outputs' | 'requests' | 'wills'>, number: number): void {
  state.wills.loads.recordCommitted(number)
  loadNext(state)
}

/** Handles the response to `load-message`; undefined if the record is damaged, which the store reported. */
export function handleWillLoaded(state: BrokerState, will: DueWill, stored: StoredMessage | undefined): void {
  const isDropped = !state.wills.loads.isFirst(will)
  const topic = stored === undefined ? undefined : parseTopicName(stored.topic)
  if (!isDropped && stored !== undefined && topic !== undefined)
    publishLoaded(state, will, createMessageFromStored(stored, state.topics.internName(topic)))
  else deleteWill(state, will.name)
  let next = state.wills.loads.end(will)
  for (; next?.message !== undefined; next = state.wills.loads.end(next)) publishLoaded(state, next, next.message)
  state.wills.loads.recordRead(state.batches.openBatch.number)
  loadNext(state)
}

function publishLoaded(state: BrokerState, { name, session, ruleDepth = 0 }: DueWill, message: Message): void {
  const remaining = state.wills.remaining.get(name)
  deleteWill(state, name)
  if (message.isRepeat && remaining !== undefined) publishRemaining(state, { name, remaining }, message)
  else if (message.isRepeat) forwardWillAgain(state, name, message)
  else publishWillMessage(state, { name, session, remaining, ruleDepth }, message)
}

/** Deliveries on this shard were stored together with the fact that it was published. */
function forwardWillAgain(
  state: RedeliverParts & Parts<'namespaces' | 'topics' | 'wills'>,
  name: string,
  message: Message,
): void {
  const clientTopic = removeMountpoint(state.topics, message.publisherMountpoint, message.topic)
  if (!isStillAllowed(state, message, undefined, { clientTopic, target: message.topic }))
    return state.counts.countDrop(undefined, message, 'not-allowed')
  const plan = state.router.resolvePlan(message.topic)
  const onceKey = createOnceKey(name, message)
  forwardToPeers(state, { message, plan }, { publisher: undefined, packetId: 0, isAgain: false, onceKey })
  storeUntilCommitted(state, name, message)
}

/** The will was published before the number of shards changed. */
function publishRemaining(
  state: DrainParts & Parts<'namespaces' | 'shard' | 'wills'>,
  { name, remaining }: { name: string; remaining: RemainingReceivers },
  message: Message,
): void {
  const clientTopic = removeMountpoint(state.topics, message.publisherMountpoint, message.topic)
  if (!isStillAllowed(state, message, undefined, { clientTopic, target: message.topic }))
    return state.counts.countDrop(undefined, message, 'not-allowed')
  const onceKey = createOnceKey(name, message)
  routeRemaining(state, message, { publisher: undefined, packetId: 0, onceKey, remaining })
  storeUntilCommitted(state, name, message, markDoneHere(remaining, state.shard))
}

interface PublishedWill {
  readonly name: string
  /** The session of the will, if it still exists. */
  readonly session: Session | undefined
  /** Set if other shards had a delayed message, and this one had not stored that, before the number of shards changed. */
  readonly remaining: RemainingReceivers | undefined
  readonly ruleDepth: number
}

const notAllowed: Refused = {
  reason: reasonCodes.notAuthorized,
  cause: 'not-authorized',
  text: 'not published: its client is no longer allowed to publish to its topic',
}

function publishWillMessage(
  state: BrokerState,
  { name, session, remaining, ruleDepth }: PublishedWill,
  message: Message,
): void {
  const isDelayed = isDelayedName(name)
  if (isDelayed && message.expiresAtMs <= state.nowMs) return state.counts.countDrop(undefined, message, 'expired')
  // The client may have reconnected with another identity since it sent the message.
  const owner = isDelayed ? undefined : session
  const resolved = isDelayed ? resolveDelayed(state, message) : resolveWill(state, message)
  if (resolved === undefined || !isStillAllowed(state, message, owner, resolved)) {
    state.counts.countDrop(undefined, message, 'not-allowed')
    return state.counts.countRefusal(message.publisher, isDelayed ? 'DELAYED' : 'WILL', message.topic.name, notAllowed)
  }
  const { target, delay } = resolved
  const renamed = target === message.topic ? message : copyToTopic(message, target)
  const timed = isDelayed ? renamed : copyWithExpiryFrom(renamed, state.nowMs)
  if (delay !== undefined) return delayWill(state, timed, delay.dueAtMs, session?.identity)
  // [MQTT5-3.8.3-3] The will is the client's own message: with No Local it is not queued for the client.
  const onceKey = createOnceKey(name, timed)
  state.rules.depth = ruleDepth
  if (timed.qos > 0) state.rules.resultsOf = 'stored-message'
  if (remaining !== undefined) routePartial(state, timed, { publisher: session, packetId: 0, onceKey, remaining })
  // A will is not sent after the commit: messages of its client, which may have reconnected, must not come before it.
  else if (isDelayed && timed.qos > 0) routeMessage(state, timed, session, 0, onceKey, createKeptResult(name, onceKey))
  else routeMessage(state, timed, session, 0, onceKey)
  state.rules.resultsOf = undefined
  state.rules.depth = 0
  storeUntilCommitted(state, name, timed, remaining && markDoneHere(remaining, state.shard))
}

/** Resolves the topic of a will, which is stored before it is rewritten: see `resolveStoredWillTopic`. */
function resolveWill(
  state: Parts<'matchRegex' | 'nowMs' | 'settings' | 'topics'>,
  { topic, publisher, publisherUsername, publisherMountpoint: mountpoint }: Message,
): ResolvedTopic | undefined {
  const sent = toSentTopic(state.topics, topic, mountpoint)
  const { name: clientId } = splitNamespacedName(publisher)
  const client = { clientId, username: publisherUsername, mountpoint, isInternal: isInternalClient(publisher) }
  const resolved = sent === undefined ? undefined : resolvePublication(state, sent, client)
  return typeof resolved === 'string' ? undefined : resolved
}

/** Returns the topic as the client sent it. */
function toSentTopic(topics: TopicTable, topic: Topic, mountpoint: string): Topic | undefined {
  const [delay = ''] = /^\$delayed\/\d+\//.exec(topic.name) ?? []
  const rest = topic.name.slice(delay.length)
  if (mountpoint === '' || !rest.startsWith(mountpoint)) return removeMountpoint(topics, mountpoint, topic)
  const name = parseTopicName(delay + rest.slice(mountpoint.length))
  return name === undefined ? undefined : topics.internName(name)
}

/** Resolves the topic of a message that was delayed. Messages of bridges, rules and the API are not rewritten. */
function resolveDelayed(
  state: Parts<'matchRegex' | 'settings' | 'topics'>,
  { topic, publisher, publisherUsername, publisherMountpoint: mountpoint, isByOwnRight }: Message,
): ResolvedTopic | undefined {
  const clientTopic = removeMountpoint(state.topics, mountpoint, topic)
  if (mountpoint !== '' && isReservedInside(clientTopic.name)) return undefined
  if (isByOwnRight || publisher === '' || isInternalClient(publisher))
    return { clientTopic, target: topic, delay: undefined }
  const client = { clientId: splitNamespacedName(publisher).name, username: publisherUsername }
  const renamed = rewritePublication(state, clientTopic, client)
  if (renamed === undefined) return undefined
  const target = renamed === clientTopic ? topic : addMountpoint(state.topics, mountpoint, renamed)
  return target === undefined ? undefined : { clientTopic, target, delay: undefined }
}

function copyToTopic(message: Message, topic: Topic): Message {
  const copy = copyWithTopic(message, topic)
  copyPublisherRights(copy, message)
  return copy
}

/** A will to `$delayed/...`. Its permission is checked again when it is due. */
function delayWill(
  state: WillParts & Parts<'counts' | 'shard'>,
  message: Message,
  dueAtMs: number,
  identity: Identity | undefined,
): void {
  if (identity !== undefined && hasEndedToken(identity, dueAtMs)) {
    state.counts.countDrop(undefined, message, 'not-allowed')
    return state.counts.countRefusal(message.publisher, 'WILL', message.topic.name, tokenEndsBefore)
  }
  const limit = findDelayedLimit(state, message.publisher)
  if (limit !== undefined) {
    state.counts.countDrop(undefined, message, 'storage-full')
    return state.counts.countRefusal(message.publisher, 'WILL', message.topic.name, {
      reason: reasonCodes.quotaExceeded,
      cause: 'limit-reached',
      text: `not delayed: the limit of delayed messages is reached, see ${limit}`,
    })
  }
  delayMessage(state, message, { dueAtMs })
}

/**
 * The will was authorized at CONNECT, which may have changed. If the decision is not known at once, the authorization
 * of CONNECT applies. For a client known from a record only, the check for retained messages is used.
 */
function isStillAllowed(
  state: Parts<'access' | 'namespaces' | 'sessions' | 'topics'>,
  message: Message,
  session: Session | undefined,
  { clientTopic, target }: Pick<ResolvedTopic, 'clientTopic' | 'target'>,
): boolean {
  const { permissions } = state.access
  const { name } = target
  if (isBrokerTopic(name) || isSourceTopic(name) || isEventTopic(name) || isReservedInNamespace(name)) return false
  if (session?.identity.isSuperuser !== true && isReservedTopic(state, name, message.publisher)) return false
  // A ban applies to what is published in the name of the client as well.
  if (!permissions.canStay(session?.identity ?? createPublisherIdentity(message))) return false
  if (permissions.allowsEverything || session?.identity.isSuperuser === true) return true
  if (session === undefined || session.restored?.identityIsFromDisk === true) {
    if (message.isByOwnRight) return true
    return permissions.canRetain({ clientId: message.publisher, username: message.publisherUsername }, clientTopic)
  }
  const permission = permissions.canPublish(session.identity, clientTopic, message)
  return permission === 'allow' || permission === 'unknown'
}

/** Returns what is known of the client of a record: not its address. */
function createPublisherIdentity({ publisher, publisherUsername }: Message): Identity {
  return createIdentity(publisher, publisherUsername, '')
}

/** [MQTT5-3.1.3.2.4] The expiry interval of a will starts when it is published. */
function copyWithExpiryFrom(will: Message, nowMs: number): Message {
  const expiry = will.properties?.messageExpiryIntervalSeconds
  if (expiry === undefined) return will
  const message = new Message(will.topic, {
    qos: will.qos,
    retain: will.retain,
    properties: will.properties,
    publisher: will.publisher,
    publishedAtMs: nowMs,
    expiresAtMs: nowMs + expiry * 1_000,
    chunk: will.chunk,
    payloadStart: will.payloadStart,
    payloadEnd: will.frameEnd,
  })
  copyPublisherRights(message, will)
  message.isOwned = true
  return message
}
