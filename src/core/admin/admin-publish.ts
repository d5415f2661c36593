// Publications of the API, in the name of a client or of no client. They take the path of a client's PUBLISH, without
// the checks that concern a connection: permissions, packet identifiers, the client's own quotas.

import { countLevels, hasFilterPrefix, parseTopicName, type Topic } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Parts, PermitParts } from '../state/parts.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { decidePublishPermit } from '../peers/peer-backpressure.ts'
import { matchesFullSession, matchesFullPeerSession, needsStorage } from '../delivery/check-receivers.ts'
import { deliverLocally } from '../delivery/deliver-locally.ts'
import { delayMessage, findDelayedLimit, readDelay } from '../publish/delay-message.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import { routeMessage, routeToPeers } from '../publish/route-message.ts'
import type { Command, RequestId } from '../model/inputs.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import { Message, never } from '../messages/message.ts'
import type { CommandFailure, DeliveryCounts } from '../model/outputs.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { isBlockedByActions, maxRuleDepth, runMatchedRules } from '../publish/run-rules.ts'
import { parseTopicNamespace, removeNamespacePrefix, toNamespacePrefix } from '../namespaces/namespaced-names.ts'
import type { HookedPublication, PublicationSource, PublishHookResult } from '../model/publish-hook.ts'
import { changeMessage } from '../publish/change-message.ts'
import { isHookedTopic } from '../publish/publish-hooks.ts'
import { completeCommand, completeCommandWhenCommitted } from './command-results.ts'

type Publication = Extract<Command, { name: 'publish' }>

/** Publishes to all topics of the command or to none. */
export function publishAsAdmin(state: BrokerState, requestId: RequestId, command: Publication): void {
  const messages: AdminMessage[] = []
  for (const text of [command.topic, ...(command.furtherTopics ?? [])]) {
    const message = createAdminMessage(state, text, command)
    const why =
      typeof message === 'string' ? message : (checkAdminMessage(state, message) ?? checkRuleDepth(command, message))
    if (why !== undefined) return completeCommand(state.outputs, requestId, { done: false, why })
    if (typeof message !== 'string') messages.push(message)
  }
  if (command.isOfBroker !== true && state.hooks.publish.isActive)
    return publishAfterHooks(state, requestId, { command, messages })
  publishMessages(state, requestId, { command, messages })
}

interface AdminPublication {
  readonly command: Publication
  readonly messages: readonly AdminMessage[]
}

/** Publishes all of the messages. */
function publishMessages(state: BrokerState, requestId: RequestId, { command, messages }: AdminPublication): void {
  const barrier = new CommitBarrier()
  const deliveries = createDeliveryCounts()
  let matched = 0
  for (const { message, dueAtMs } of messages) {
    if (dueAtMs === undefined) {
      state.rules.depth = command.ruleDepth ?? 0
      state.hooks.depth = command.plugin?.depth ?? 0
      matched += routeToSubscribers(state, message, { command, barrier, deliveries })
      state.rules.depth = 0
      state.hooks.depth = 0
    } else {
      delayMessage(state, message, { dueAtMs, ruleDepth: command.ruleDepth })
      addOpenBatch(state, barrier)
    }
  }
  const counted = command.wantsDeliveries === true ? { deliveries } : undefined
  barrier.arrive()
  completeCommandWhenCommitted(state, requestId, { result: { done: true, matched, ...counted }, barrier })
}

/** Gives the messages to hooks of plugins, and publishes what these make of them when all have answered. */
function publishAfterHooks(state: BrokerState, requestId: RequestId, { command, messages }: AdminPublication): void {
  const results: (AdminMessage | 'denied' | undefined)[] = [...messages]
  let waiting = 1
  const settleOne = (): void => {
    if (--waiting === 0) publishHooked(state, requestId, { command, results })
  }
  for (const [index, admin] of messages.entries()) {
    if (!matchesHook(state, command, admin)) continue
    waiting++
    requestHooks(state, { command, admin }, (result) => {
      results[index] = applyHookResult(state, admin, result)
      settleOne()
    })
  }
  settleOne()
}

function publishHooked(
  state: BrokerState,
  requestId: RequestId,
  {
    command,
    results,
  }: { readonly command: Publication; readonly results: readonly (AdminMessage | 'denied' | undefined)[] },
): void {
  if (results.includes('denied')) return completeCommand(state.outputs, requestId, { done: false, why: 'not-allowed' })
  const messages = results.filter((result) => typeof result === 'object')
  for (const message of messages) {
    const why = checkAdminMessage(state, message)
    if (why !== undefined) return completeCommand(state.outputs, requestId, { done: false, why })
  }
  publishMessages(state, requestId, { command, messages })
}

function matchesHook({ hooks }: Parts<'hooks'>, { plugin }: Publication, { message }: AdminMessage): boolean {
  const { name } = message.topic
  return isHookedTopic(name) && hooks.publish.matches(undefined, removeNamespacePrefix(name) ?? name, plugin?.name)
}

function requestHooks(
  state: Parts<'nowMs' | 'outputs' | 'requests'>,
  { command, admin }: { readonly command: Publication; readonly admin: AdminMessage },
  onResult: (result: PublishHookResult) => void,
): void {
  const { message, dueAtMs } = admin
  const { name } = message.topic
  const publication: HookedPublication = {
    client: undefined,
    topic: removeNamespacePrefix(name) ?? name,
    payload: message.readPayload(),
    qos: message.qos,
    retain: message.retain,
    dup: false,
    delaySeconds: dueAtMs === undefined ? 0 : Math.ceil((dueAtMs - state.nowMs) / 1_000),
    properties: message.properties,
    source: findSource(command),
    depth: command.plugin?.depth ?? 0,
    plugin: command.plugin?.name,
  }
  const requestId = state.requests.add({ for: 'command-hooks', onResult })
  state.outputs.requests.push({ kind: 'publish-hooks', requestId, publication })
}

function findSource({ plugin, ruleDepth }: Publication): PublicationSource {
  if (plugin !== undefined) return 'plugin'
  return ruleDepth === undefined ? 'http' : 'rule'
}

/** Undefined: the message is dropped. */
function applyHookResult(
  state: Parts<'counts' | 'topics'>,
  { message, dueAtMs }: AdminMessage,
  result: PublishHookResult,
): AdminMessage | 'denied' | undefined {
  if (result.action === 'pass') return { message, dueAtMs }
  if (result.action === 'change') {
    const prefix = toNamespacePrefix(parseTopicNamespace(message.topic.name))
    const name = result.topic === undefined ? undefined : parseTopicName(prefix + result.topic)
    const topic = name === undefined ? message.topic : state.topics.internName(name)
    return { message: changeMessage(message, topic, result), dueAtMs }
  }
  state.counts.countDrop(undefined, message, 'plugin', result.plugin)
  return result.action === 'deny' ? 'denied' : undefined
}

/** A fallback that delays the message that its rule receives would repeat forever. */
function checkRuleDepth({ ruleDepth = 0 }: Publication, { dueAtMs }: AdminMessage): CommandFailure | undefined {
  return dueAtMs !== undefined && ruleDepth >= maxRuleDepth ? 'quota-exceeded' : undefined
}

function createDeliveryCounts(): DeliveryCounts {
  return { matched: 0, sent: 0, queued: 0, dropped: 0, missed: 0, sentToShared: 0, queuedForShared: 0 }
}

interface AdminMessage {
  readonly message: Message
  /** Undefined if the message is published at once. */
  readonly dueAtMs: number | undefined
}

function createAdminMessage(
  state: Parts<'nowMs' | 'settings' | 'topics'>,
  text: string,
  command: Publication,
): AdminMessage | CommandFailure {
  const named = parseAdminTopic(state, text)
  if (named === undefined) return 'invalid-topic'
  const isDelayed = named.isDelayed && state.settings.delaysMessages
  const delay = isDelayed ? readDelay(named.name, state.nowMs) : undefined
  const topic = isDelayed ? delay && parseAdminTopic(state, delay.topic) : named
  if (topic === undefined || (command.isOfBroker !== true && isBrokerTopic(topic.name))) return 'invalid-topic'
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
  // The right of the named client to publish is not checked, neither now nor later for the retained message.
  message.isByOwnRight = true
  return { message, dueAtMs: delay?.dueAtMs }
}

/**
 * Topics of broker events may have more levels than the limit allows, because they contain client IDs. Topics of
 * sources are refused: rules must be able to rely on the service as the origin of these messages.
 */
function parseAdminTopic(state: Parts<'settings' | 'topics'>, text: string): Topic | undefined {
  const name = parseTopicName(text)
  if (name === undefined || isSourceTopic(name) || isEventTopic(name)) return undefined
  if (hasFilterPrefix(name) || isReservedInNamespace(name)) return undefined
  if (!isBrokerTopic(name) && countLevels(name) > state.settings.maxTopicLevels) return undefined
  return state.topics.internName(name)
}

/** Returns why the message is refused. It is called before the message is routed. */
function checkAdminMessage(
  state: PermitParts & Parts<'shard' | 'storage' | 'wills'>,
  { message, dueAtMs }: AdminMessage,
): CommandFailure | undefined {
  const { topic, qos, retain } = message
  if (dueAtMs !== undefined && !state.storage.isHealthy) return 'storage-failing'
  if (dueAtMs !== undefined && findDelayedLimit(state, '') !== undefined) return 'receiver-full'
  if (isBrokerTopic(topic.name)) return dueAtMs === undefined ? undefined : 'invalid-topic'
  if (retain && !state.settings.retainAvailable) return 'not-available'
  if (!state.storage.isHealthy && (retain || needsStorage(state, message))) return 'storage-failing'
  if (matchesFullSession(state, message) || matchesFullPeerSession(state, message)) return 'receiver-full'
  // No publisher can be held up, so the message is refused.
  if (qos > 0 && dueAtMs === undefined && isBlockedByActions(state, topic)) return 'receiver-full'
  // As for clients: before all peers have sent their filters, the broker cannot tell who subscribes.
  if (!state.peers.isReady) return 'shard-behind'
  return decidePublishPermit(state, { topic, qos, retain }) === 'go' ? undefined : 'shard-behind'
}

/** Returns the number of local sessions and peers that receive it; commits to wait for are added to the barrier. */
function routeToSubscribers(
  state: BrokerState,
  message: Message,
  { command, barrier, deliveries }: { command: Publication; barrier: CommitBarrier; deliveries: DeliveryCounts },
): number {
  const publisher = state.sessions.get(command.clientId)
  const changesBefore = state.batches.openBatch.changes.length
  const before = readDeliveryCounts(state)
  const matchedHere = deliverLocally(state, message, publisher)
  const deliveriesBefore = countSharedDeliveries(state)
  const matched = matchedHere + routeToPeers(state, message, publisher, 0, { awaitsRetained: true })
  if (state.rules.matched !== undefined) runMatchedRules(state, message, routeMessage)
  if (matched === 0 && state.rules.triggers.wanted['message-dropped'])
    state.rules.triggers.addMessageDropped(message, 'no-subscribers', state.nowMs)
  const now = readDeliveryCounts(state)
  // A cross-shard group may have chosen a member on this shard.
  const matchedSessions = matchedHere + countSharedDeliveries(state) - deliveriesBefore
  deliveries.matched += matchedSessions
  deliveries.sent += now.sent - before.sent
  deliveries.queued += now.queued - before.queued
  deliveries.dropped += now.dropped - before.dropped
  // Messages of rules are counted as sent or queued, but do not match.
  deliveries.missed += Math.max(0, matchedSessions - (now.reached - before.reached))
  deliveries.sentToShared += now.sentToShared - before.sentToShared
  deliveries.queuedForShared += now.queuedForShared - before.queuedForShared
  if (state.batches.openBatch.changes.length > changesBefore) addOpenBatch(state, barrier)
  awaitPeers(state.peers, barrier)
  return matched
}

function awaitPeers(peers: PeerTable, barrier: CommitBarrier): void {
  const forwarded = peers.takeBarrier()
  if (forwarded === undefined) return
  barrier.expect()
  forwarded.runWhenComplete(() => barrier.arrive(forwarded.refusal))
  forwarded.arrive()
}

interface SessionCounts extends Omit<DeliveryCounts, 'matched' | 'missed'> {
  /** Sent, queued or dropped, without older messages that were dropped for queued ones. */
  readonly reached: number
}

/** Returns the counters of deliveries to sessions. The caller compares two readings. */
function readDeliveryCounts({ counts, peers }: Parts<'counts' | 'peers'>): SessionCounts {
  const { dropped } = counts
  const toSessions =
    dropped['queue-full'] +
    dropped['storage-full'] +
    dropped['too-large'] +
    dropped['not-reading'] +
    dropped['rate-limited'] +
    dropped.expired
  return {
    sent: counts.publishesSent,
    queued: counts.publishesLeftWaiting,
    dropped: toSessions,
    reached: counts.publishesSent + counts.publishesLeftWaiting + toSessions - counts.droppedForNewer,
    sentToShared: peers.sentToShared,
    queuedForShared: peers.queuedForShared,
  }
}

function countSharedDeliveries(state: Parts<'counts' | 'peers'>): number {
  return readDeliveryCounts(state).reached
}
