// Runs rules after their message was delivered, in the same turn. So the changes of their actions are in the batch for which the
// acknowledgement of the message waits.

import { countLevels, hasFilterPrefix, parseTopicName, reasonCodes, type Topic } from '../../protocol/index.ts'
import type { RuleActionFailure, RuleActions, RulePublication } from '../model/rule-hook.ts'
import { copyPublisherRights, Message, never, copyWithTopic } from '../messages/message.ts'
import type { Refused } from '../model/packet-refusal.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import { isSourceTopic } from '../messages/source-topics.ts'
import { enqueueForSession } from '../queues/enqueue-for-session.ts'
import { selectMaxStored } from '../queues/persistent-queue.ts'
import { decidePublishPermit } from '../peers/peer-backpressure.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { EnqueueParts, Parts, PermitParts, WillParts } from '../state/parts.ts'
import { isStoredShard } from '../model/peer-names.ts'
import { beginResult, type KeptResult } from './store-result.ts'
import { delayMessage, findDelayedLimit, readDelay } from './delay-message.ts'
import { matchesFullPeerSession, matchesFullSession, needsStorage } from '../delivery/check-receivers.ts'

type Route = (
  state: BrokerState,
  message: Message,
  publisher: undefined,
  packetId: 0,
  onceKey?: KeptResult['onceKey'],
  storedResult?: KeptResult,
) => number

/** Runs the rules that `deliverLocally` found. `route` is `routeMessage`. `isStored`: it is a QoS 2 message of a persistent session. */
export function runMatchedRules(state: BrokerState, message: Message, route: Route, isStored = false): void {
  const { rules } = state
  const { matched } = rules
  if (matched === undefined) return
  rules.matched = undefined
  const outer = rules.isAdmitted
  // What a rule publishes belongs to the message or event for which the rule runs.
  rules.isAdmitted ??= message.qos > 0
  rules.depth++
  const outerResults = rules.resultsOf
  rules.resultsOf ??= isStored ? 'publisher' : 'repeatable'
  if (rules.hook !== undefined) rules.costlySteps += rules.hook.run(matched, message, createRuleActions(state, route))
  rules.depth--
  rules.isAdmitted = outer
  rules.resultsOf = outerResults
}

/** Runs rules for recorded events. Their changes are in the batch of the event, unless the time limit is reached; the rest runs later. */
export function runTriggeredRules(state: BrokerState, route: Route): void {
  const { triggers, hook } = state.rules
  const lost = triggers.takeLost()
  if (lost !== undefined) hook?.recordLost(lost)
  const taken = triggers.take()
  if (taken.length === 0 || hook === undefined) return
  state.rules.isAdmitted = false
  const done = hook.runTriggers(taken, createRuleActions(state, route))
  state.rules.isAdmitted = undefined
  if (done < taken.length) triggers.requeue(taken.slice(done), state.payloads.buffers)
}

function createRuleActions(state: BrokerState, route: Route): RuleActions {
  return {
    depth: state.rules.depth,
    publish: (publication) => publishForRule(state, publication, route),
    storeInActionQueue: (clientId, publication) => storeInActionQueue(state, clientId, publication),
  }
}

/** Publishes a message of a rule. Other rules may match it; the rule hook limits the depth of such chains. */
function publishForRule(state: BrokerState, publication: RulePublication, route: Route): RuleActionFailure | undefined {
  const message = createRuleMessage(state, publication)
  const { maxPacketBytes, maxTopicLevels } = state.settings
  if (message === undefined || isForBrokerOnly(message.topic.name, publication.isEvent === true)) return 'invalid-topic'
  if (countLevels(message.topic.name) > maxTopicLevels) return 'invalid-topic'
  if (message.topic.bytes.length + publication.payload.length > maxPacketBytes) return 'too-large'
  if (message.topic.isDelayed && state.settings.delaysMessages) return delayForRule(state, message)
  const failure = findPublishFailure(state, message)
  if (failure === undefined) routeResult(state, message, route)
  return failure
}

/**
 * A QoS 0 message has no promise. Results of a message that its publisher sends again are made again. A local shard stores no results.
 */
function routeResult(state: BrokerState, message: Message, route: Route): void {
  const { rules } = state
  const isKept = message.qos > 0 && (rules.resultsOf === 'publisher' || rules.resultsOf === 'stored-message')
  const canKeep = state.peers.hasAny && isStoredShard(state.shard.own)
  if (!canKeep || !isKept || isSourceTopic(message.topic.name)) {
    route(state, message, undefined, 0)
    return
  }
  const kept = beginResult(state, message)
  route(state, message, undefined, 0, kept.onceKey, kept)
}

/** Events are published as results of rules are. */
function isForBrokerOnly(topic: string, isEvent: boolean): boolean {
  if (topic.charCodeAt(0) !== 36) return false
  const canPublish = isEvent ? topic.startsWith('$event/') : !isEventTopic(topic)
  const isReserved = isBrokerTopic(topic) || isReservedInNamespace(topic)
  return isReserved || isSourceTopic(topic) || !canPublish || hasFilterPrefix(topic)
}

/**
 * Maximum number of rules, one after the other, that lead to a delayed message. Without it, a rule that delays the message that it
 * receives would repeat forever, also after restarts. A rule hook has a limit of its own for messages that are not delayed.
 */
export const maxRuleDepth = 16

const ruleDepthReached: Refused = {
  reason: reasonCodes.quotaExceeded,
  cause: 'limit-reached',
  text: `rules have delayed the message that they receive ${maxRuleDepth} times: the loop ends here`,
}

function delayForRule(
  state: WillParts & Parts<'counts' | 'rules' | 'shard' | 'storage'>,
  message: Message,
): RuleActionFailure | undefined {
  const delay = readDelay(message.topic.name, state.nowMs)
  if (delay === undefined || isForBrokerOnly(delay.topic, false)) return 'invalid-topic'
  if (state.rules.depth >= maxRuleDepth) {
    state.counts.countRefusal(message.publisher, 'DELAYED', delay.topic, ruleDepthReached)
    return 'too-deep'
  }
  if (!state.storage.isHealthy) return 'storage-failing'
  if (findDelayedLimit(state, '') !== undefined) return 'receiver-full'
  const inner = copyWithTopic(message, state.topics.internName(delay.topic))
  copyPublisherRights(inner, message)
  delayMessage(state, inner, { dueAtMs: delay.dueAtMs, ruleDepth: state.rules.depth })
  return undefined
}

function createRuleMessage(state: Parts<'nowMs' | 'topics'>, publication: RulePublication): Message | undefined {
  const { topic, payload, qos, retain, properties } = publication
  const name = parseTopicName(topic)
  if (name === undefined) return undefined
  const expiry = properties?.messageExpiryIntervalSeconds
  const message = new Message(state.topics.internName(name), {
    qos,
    retain,
    properties,
    publisher: '',
    publishedAtMs: state.nowMs,
    expiresAtMs: expiry === undefined ? never : state.nowMs + expiry * 1_000,
    chunk: payload,
    payloadStart: 0,
    payloadEnd: payload.length,
  })
  message.isOwned = true
  // The administrator who configured the rule allowed this topic; permissions of clients do not apply.
  message.isByOwnRight = true
  return message
}

/** Returns why a message for which no publisher can wait is not published now. */
export function findPublishFailure(
  state: PermitParts & Parts<'storage'>,
  message: Message,
): RuleActionFailure | undefined {
  const { topic, qos, retain } = message
  if (retain && !state.settings.retainAvailable) return 'not-available'
  if (!state.storage.isHealthy && (retain || needsStorage(state, message))) return 'storage-failing'
  if (matchesFullSession(state, message) || matchesFullPeerSession(state, message)) return 'receiver-full'
  return decidePublishPermit(state, { topic, qos, retain }) === 'go' ? undefined : 'shard-behind'
}

const none: readonly (Message | undefined)[] = []

/**
 * Adds a result of a rule to an action queue. Returns undefined if it succeeded. The queue may exceed its limit by the results of one
 * message: whether there is space is decided once for all of them, before the message is routed. `further`: the other results of the message,
 * if they are stored together.
 */
export function storeInActionQueue(
  state: EnqueueParts & Parts<'rules' | 'storage'>,
  clientId: string,
  publication: RulePublication,
  further?: readonly RulePublication[],
): Exclude<RuleActionFailure, 'too-deep'> | undefined {
  const session = state.sessions.get(clientId)
  const message = createRuleMessage(state, publication)
  const others = further === undefined ? none : further.map((each) => createRuleMessage(state, each))
  if (message === undefined || others.includes(undefined)) return 'invalid-topic'
  if (session?.stored === undefined) return 'no-action-queue'
  if (!state.storage.isHealthy) return 'storage-failing'
  const isFull = session.stored.count >= selectMaxStored(state.settings, session)
  const { dropsOldest = false, dropsNewest = false } = session.internal?.spool ?? {}
  const isAdmitted = state.rules.isAdmitted === true && !dropsNewest
  if (isFull && !dropsOldest && !isAdmitted) {
    state.counts.countDrop(session, message, 'storage-full')
    return 'action-queue-full'
  }
  const how = { qos: 1, retain: false, subscriptionIdentifiers: undefined, group: undefined } as const
  enqueueForSession(state, session, message, how)
  for (const other of others) if (other !== undefined) enqueueForSession(state, session, other, how)
  return undefined
}

/** Returns whether a rule for the message uses an action queue that is full. The publisher then waits. */
export function isBlockedByActions({ sessions, router }: Parts<'router' | 'sessions'>, topic: Topic): boolean {
  const { rules } = router.resolvePlan(topic)
  if (rules === undefined) return false
  const isBlocked = (clientId: string): boolean => {
    const session = sessions.get(clientId)
    return session !== undefined && sessions.full.has(session)
  }
  return rules.some(({ actionQueues }) => actionQueues.some(isBlocked))
}
