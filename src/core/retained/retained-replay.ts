// Sends retained messages for new subscriptions. A filter may match a million topics, so they are found in slices, as
// fast as the client receives them. With several shards, each stores the retained messages of its topics; they are
// requested in the same way (retained-from-peers.ts).

import { removeFilterPrefix, hasWildcard, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import type { RetainedState } from '../state/retained-state.ts'
import type { EnqueueParts, Parts } from '../state/parts.ts'
import { removeMountpoint } from '../namespaces/mountpoint.ts'
import { canReceive, isHiddenBelowMountpoint } from '../state/sessions/can-receive.ts'
import { type RetainedReplay, RetainedReplayQueue } from '../state/sessions/retained-replay-queue.ts'
import type { Session } from '../state/sessions/session.ts'
import { StoredRetained, type RetainedMessage } from '../messages/retained-message.ts'
import type { SubscriptionOptions } from '../topics/index.ts'
import { countWaitingBytes } from '../outgoing/delivery-memory.ts'
import { sendPingresp } from '../outgoing/send-to-client.ts'
import { isDeferred } from '../outgoing/deliveries-rate.ts'
import { enqueueForSession, createUpgradedDelivery } from '../queues/enqueue-for-session.ts'
import { computeEffectiveQoS } from '../queues/enqueue-for-session.ts'
import {
  requestMoreRetained,
  cancelRetainedRequest,
  arrivesLive,
  endRetainedWait,
  hasMarks,
  createRetainedSources,
} from '../peers/retained-from-peers.ts'
import { resolveRetainedMessage, readAhead, releasePayload, stopReading, wakeNextReader } from './retained-reads.ts'

/** Maximum memory of large retained messages that one client has not acknowledged. */
const maxUnacknowledgedBytes = 8 * 1_024 * 1_024

/** Number of topics that one slice visits. It takes about a millisecond. */
const sliceTopics = 1_000
/** Number of filters without wildcards that one slice handles. */
const sliceFilters = 100

/**
 * [MQTT5-3.3.1-9 to -11] Starts to send retained messages for a subscription, as its retain handling requires. A shared subscription gets
 * none [MQTT5-4.8.2].
 */
export function startRetainedReplay(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained' | 'storage'>,
  session: Session,
  filter: TopicFilter,
  subscription: { options: SubscriptionOptions; isNew: boolean },
): void {
  const { retainHandling } = subscription.options
  if (retainHandling === 2 || (retainHandling === 1 && !subscription.isNew)) return
  if (splitSharedFilter(filter) !== undefined) return
  if (!state.peers.hasAny && state.retained.tree.count === 0) return
  cancelReplays(state, session, filter)
  session.retainedReplays ??= new RetainedReplayQueue()
  const { options } = subscription
  for (const source of createRetainedSources(state, session, filter))
    session.retainedReplays.add({ filter, options, source, found: [], isAtEnd: false })
  state.retained.replaying.add(session)
}

/** Cancels the replays of a subscription that was removed or replaced. `filter` undefined: of all, because the client disconnected. */
export function cancelReplays(
  state: Parts<'batches' | 'outputs' | 'peers' | 'retained'>,
  session: Session,
  filter: TopicFilter | undefined,
): void {
  const { retainedReplays } = session
  if (retainedReplays === undefined) return
  const dropped = filter === undefined ? [...retainedReplays.all()] : retainedReplays.drop(filter)
  for (const scan of dropped) cancelRetainedRequest(state.outputs, state.peers, scan)
  if (filter === undefined || retainedReplays.isEmpty) return endReplays(state, session)
  // Messages may have been read in advance for these subscriptions. The others request again what they need.
  stopReading(state.retained, session)
  state.retained.replaying.add(session)
}

function endReplays(state: Parts<'batches' | 'outputs' | 'peers' | 'retained'>, session: Session): void {
  const { connection, retainedReplays } = session
  session.retainedReplays = undefined
  for (let ping = retainedReplays?.pingsAtEnd ?? 0; ping > 0; ping--)
    if (connection !== undefined) sendPingresp(state, connection)
  stopReading(state.retained, session)
  state.retained.replaying.delete(session)
  endRetainedWait(state.peers, session)
}

/** Continues with one slice for each session that has space in its queue. */
export function continueReplays(state: EnqueueParts & Parts<'access' | 'ids' | 'retained'>): void {
  for (const session of state.retained.replaying) {
    if (!hasQueueCapacity(state, session)) {
      waitForSpace(state.retained, session)
      continue
    }
    for (let filters = 0; filters < sliceFilters; filters++) if (!continueFirstReplay(state, session)) break
    if (session.retainedReplays?.first === undefined) endReplays(state, session)
  }
  wakeNextReader(state.retained)
}

/** `drainQueue` adds the session again when there is space. */
function waitForSpace(retained: RetainedState, session: Session): void {
  stopReading(retained, session)
  retained.replaying.delete(session)
}

/** Returns true if the replay is complete and was about one topic, so that there is time for the next. */
function continueFirstReplay(state: EnqueueParts & Parts<'access' | 'ids' | 'retained'>, session: Session): boolean {
  const { retainedReplays } = session
  const scan = retainedReplays?.first
  if (retainedReplays === undefined || scan === undefined) return false
  continueReplay(state, session, scan)
  if (!scan.isAtEnd || scan.found.length > 0) return false
  retainedReplays.end(scan)
  return !hasWildcard(scan.filter)
}

function continueReplay(
  state: EnqueueParts & Parts<'access' | 'ids' | 'retained'>,
  session: Session,
  scan: RetainedReplay,
): void {
  if (scan.found.length === 0 && !scan.isAtEnd && !findMore(state, session, scan)) return
  let given = 0
  for (const message of scan.found) {
    if (!hasQueueCapacity(state, session)) break
    const outcome = deliverRetained(state, session, scan, message)
    if (outcome === 'must-wait') waitForSpace(state.retained, session)
    if (outcome === 'is-read') {
      state.retained.replaying.delete(session)
      readAhead(state, session, scan.found, given)
    }
    if (outcome !== 'done') break
    releasePayload(state.retained, session, message)
    given++
  }
  scan.found = given === scan.found.length ? [] : scan.found.slice(given)
}

/** Returns false if peers must respond first; the replay continues after that. */
function findMore(
  state: Parts<'ids' | 'outputs' | 'peers' | 'retained'>,
  session: Session,
  scan: RetainedReplay,
): boolean {
  const { source } = scan
  if (!hasMarks(source)) {
    state.retained.replaying.delete(session)
    return false
  }
  if (!('cursor' in source)) {
    requestMoreRetained(state, session, { scan, source })
    state.retained.replaying.delete(session)
    return false
  }
  const slice = source.cursor.next(sliceTopics)
  scan.isAtEnd = slice.isEnd
  scan.found = slice.messages
  return true
}

/** `is-read`: the message is being read from disk. `must-wait`: the client has too many unacknowledged messages. */
function deliverRetained(
  state: EnqueueParts & Parts<'access' | 'retained'>,
  session: Session,
  scan: RetainedReplay,
  found: RetainedMessage,
): 'done' | 'is-read' | 'must-wait' {
  if (!isForSession(state, session, scan, found)) return 'done'
  const qos = computeEffectiveQoS(state.settings, found.qos, scan.options.qos)
  const { raisesTo } = scan.options
  if (found instanceof StoredRetained && !hasMemoryForLarge(session, found, Math.max(qos, raisesTo))) return 'must-wait'
  const message = resolveRetainedMessage(state.retained, found)
  if (message === 'waits') return 'is-read'
  if (message === 'stale') return 'done'
  if (qos < raisesTo) {
    enqueueForSession(state, session, message, createUpgradedDelivery(message, { raisesTo, retain: true }))
    return 'done'
  }
  enqueueForSession(state, session, message, {
    qos,
    retain: true, // [MQTT-3.3.1-8] [MQTT5-3.3.1-9]
    subscriptionIdentifiers: scan.options.identifier === undefined ? undefined : [scan.options.identifier],
    group: undefined,
  })
  return 'done'
}

function isForSession(
  state: Parts<'access' | 'nowMs' | 'peers' | 'retained' | 'topics'>,
  session: Session,
  scan: RetainedReplay,
  message: RetainedMessage,
): boolean {
  if (message.expiresAtMs <= state.nowMs) return false
  // No Local concerns live messages: a client gets its own retained message, as from other brokers. A bridge does not,
  // otherwise every message of the remote broker would be sent back when the bridge connects.
  if (message.publisher === session.clientId && isOfBridge(session)) return false
  // Deleted or replaced since the slice was found: a new message is delivered separately.
  if ('cursor' in scan.source && state.retained.tree.get(message.topicName) !== message) return false
  if (session.mountpoint !== '' && isHidden(session, scan, message)) return false
  return !arrivesLive(state.peers, session, { scan, message }) && canDeliverRetained(state, session, message)
}

function isHidden(session: Session, scan: RetainedReplay, message: RetainedMessage): boolean {
  return isHiddenBelowMountpoint(session, message.topic, removeFilterPrefix(scan.filter).search(/[+#]/))
}

function isOfBridge({ clientId, connection }: Session): boolean {
  return isInternalClient(clientId) || connection?.hasNoLocal === true
}

/** Checks the receiver's permission and the publisher's: both may have changed since the message was stored. */
function canDeliverRetained(state: Parts<'access' | 'topics'>, session: Session, message: RetainedMessage): boolean {
  const { permissions } = state.access
  if (permissions.allowsEverything) return true
  if (!canReceive(state, session, message.topic)) return false
  // Published by the broker, by the API, or by a client whose rights cannot be looked up any more.
  if (message.publisher === '' || message.isByOwnRight) return true
  const publisher = { clientId: message.publisher, username: message.publisherUsername }
  return permissions.canRetain(publisher, removeMountpoint(state.topics, message.publisherMountpoint, message.topic))
}

/** Returns whether the queue has space for a retained message. They use at most half of it, so that live messages have space. */
function hasQueueCapacity(state: Parts<'memory' | 'settings'>, session: Session): boolean {
  const connection = session.connection
  if (connection === undefined || connection.unsentBytes * 2 > state.settings.maxUnsentBytes) return false
  if (!connection.isPlain && isDeferred(session)) return false
  const { maxQueuedBytes, maxQueuedMessages } = state.settings
  if (session.onDiskCount > 0 || session.outgoing.pendingCount * 2 >= maxQueuedMessages) return false
  return (
    session.outgoing.pendingCount === 0 || countWaitingBytes(session) * 2 < maxQueuedBytes * state.memory.queuesShare
  )
}

/** Returns whether a large message may be read into memory. A client that does not acknowledge must not have all of them in memory. */
function hasMemoryForLarge(session: Session, { size }: StoredRetained, qos: number): boolean {
  const unacknowledged = session.outgoing.inflightCount + session.outgoing.pendingCount
  return qos === 0 || unacknowledged * size <= maxUnacknowledgedBytes
}
