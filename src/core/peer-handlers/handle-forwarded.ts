// Delivers a message of another shard, to the sessions of this shard only. The changes are in the open batch, and the sender gets an
// acknowledgement when the batch is durable.

import { type ReasonCode, reasonCodes, splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { Batches } from '../model/batches.ts'
import type { DeliverParts, DrainParts, EnqueueParts, ForwardParts, Parts, RedeliverParts } from '../state/parts.ts'
import { chooseOtherShard, forwardSharedOnce, forwardShared } from '../delivery/forward-shared.ts'
import { isGroupOverfull, matchesOverfullSession } from '../delivery/check-receivers.ts'
import { deliverToGroup, deliverFromPeer, deliverToRemaining } from '../delivery/deliver-locally.ts'
import { removeReceivedId, scheduleExpiry } from './expire-received-ids.ts'
import { retainForTopic } from '../publish/route-message.ts'
import { putRecord } from '../queues/persistent-queue.ts'
import type { Message } from '../messages/message.ts'
import { SharedAssignments, type SharedAssignment } from '../state/sessions/shared-assignments.ts'
import type { LinkState } from '../state/peers/peer.ts'
import type { PeerPublish, PeerRelease } from '../model/peer-messages.ts'
import { isStoredShard, type PeerNumber } from '../model/peer-names.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'

export function handleForwarded(
  state: DrainParts & Parts<'namespaces' | 'shard'>,
  { from, link }: { from: PeerNumber; link: LinkState },
  send: PeerPublish,
): void {
  const number = ++link.received
  const { isAwaited, exactlyOnce } = send
  const isKnown = exactlyOnce !== undefined && state.peers.received.has(exactlyOnce.publisher, exactlyOnce.packetId)
  if (send.isRepeat === true) send.message.isRepeat = true
  const changesBefore = state.batches.openBatch.changes.length
  if (!isKnown) deliverNew(state, send, { from, link, number })
  else if (send.isRetained && link.redeliveredTopics?.has(send.message.topic.name) === true)
    retainForTopic(state, send.message, { shard: from, link, number })
  const outcome = assignGroups(state, send, { link, number })
  // Deleting a retained message that does not exist changes nothing, but repeated after a crash it could delete a later
  // message.
  const mustBeKnown = outcome.isAssignedNow || (exactlyOnce !== undefined && !isKnown && send.isRetained)
  const isStored = state.batches.openBatch.changes.length > changesBefore || (mustBeKnown && canStore(state.peers))
  if (exactlyOnce !== undefined && (!isKnown || outcome.isNew))
    storeReceivedId(state, exactlyOnce, { isStored, assignments: outcome.assignments })
  if (exactlyOnce !== undefined && send.tried === undefined && !isStoredShard(from))
    state.peers.received.recordLocal(exactlyOnce.publisher, state.peers.requirePeer(from))
  // A duplicate: its changes may be in a batch that is not committed yet.
  const batch = isStored ? state.batches.openBatch.number : isKnown ? findUncommittedBatch(state.batches) : 0
  link.acks.recordHandled(number, { batch, isAwaited, barrier: outcome.barrier })
  outcome.barrier?.arrive()
}

/** A local shard stores nothing, and never restarts. */
function canStore({ shard }: PeerTable): boolean {
  return isStoredShard(shard.own)
}

/** Delivers a message that this shard has not received before. */
function deliverNew(
  state: DeliverParts & Parts<'namespaces' | 'retained' | 'shard'>,
  { message, hasSubscribers, isRetained, isRepeat, exactlyOnce, remaining }: PeerPublish,
  { from, link, number }: { from: PeerNumber; link: LinkState; number: number },
): void {
  if (hasSubscribers && matchesOverfullSession(state, message)) link.acks.refuse(number, reasonCodes.quotaExceeded)
  if (hasSubscribers && remaining !== undefined) deliverToRemaining(state, message, { publisher: undefined, remaining })
  else if (hasSubscribers) deliverFromPeer(state, message)
  if (!isRetained) return
  retainForTopic(state, message, { shard: from, link, number })
  // Retained messages sent again after this one may be known duplicates (QoS 2), and still the last of one must be
  // stored for the topic.
  if (isRepeat === true && exactlyOnce === undefined) (link.redeliveredTopics ??= new Set()).add(message.topic.name)
}

/**
 * Handles a message for non-shared subscribers for which the sender expects no acknowledgement. It may be stored nevertheless, if a
 * subscriber has just become persistent.
 */
export function handlePlainPublish(state: EnqueueParts & Parts<'router'>, link: LinkState, message: Message): void {
  const number = ++link.received
  if (message.qos === 0) {
    deliverFromPeer(state, message)
    return link.acks.recordUnawaited(number, 0)
  }
  const changesBefore = state.batches.openBatch.changes.length
  deliverFromPeer(state, message)
  const isStored = state.batches.openBatch.changes.length > changesBefore
  link.acks.recordUnawaited(number, isStored ? state.batches.openBatch.number : 0)
}

type RefuseMessage = (why: ReasonCode) => void

/** The result of the delivery of a message for shared subscriptions. */
interface SharedOutcome {
  /** Undefined if the acknowledgement waits for no other shard. Its creator has not called `arrive`. */
  barrier: CommitBarrier | undefined
  /** For QoS 2 messages that must not be duplicated: the shards that they went to, now and before. */
  assignments: SharedAssignments | undefined
  /** The message is new for at least one of its shared subscriptions. */
  isNew: boolean
  /** True if this call chose another shard for the message, which is sent when the choice is durable. */
  isAssignedNow: boolean
}

function assignGroups(
  state: RedeliverParts,
  send: PeerPublish,
  { link, number }: { link: LinkState; number: number },
): SharedOutcome {
  const { exactlyOnce, groups, isAwaited, tried } = send
  const known = exactlyOnce && state.peers.received.findAssignments(exactlyOnce.publisher, exactlyOnce.packetId)
  const outcome: SharedOutcome = { barrier: undefined, assignments: known, isNew: false, isAssignedNow: false }
  // The publisher is acknowledged in any case. If no member can receive a reassigned message, the session that had it still
  // stores it.
  const isReassigned = isAwaited && tried !== undefined
  if (groups === undefined) return outcome
  const refuse: RefuseMessage = (why) => link.acks.refuse(number, why)
  const onRefused = isReassigned ? refuse : undefined
  const onFull = isAwaited ? refuse : undefined
  for (const filter of groups) {
    const forwarded = assignGroup(state, send, { filter, outcome, onRefused, onFull })
    forwarded?.runWhenComplete(() => {
      const { refusal } = forwarded
      if (refusal === reasonCodes.quotaExceeded) onFull?.(refusal)
      else if (refusal !== undefined) onRefused?.(refusal)
    })
    if (forwarded === undefined || forwarded.isComplete) continue
    const barrier = (outcome.barrier ??= new CommitBarrier())
    barrier.expect()
    forwarded.runWhenComplete(() => barrier.arrive())
  }
  return outcome
}

interface AssignOptions {
  readonly filter: TopicFilter
  readonly outcome: SharedOutcome
  /** Undefined: the message is counted as dropped if there is no member. */
  readonly onRefused: RefuseMessage | undefined
  /** Called if the queues of all members are full. Undefined: the sender waits for no confirmation. */
  readonly onFull: RefuseMessage | undefined
}

/**
 * Gives the message to a member on this shard, or forwards it to another shard. Returns the barrier for which the acknowledgement
 * waits, or undefined.
 */
function assignGroup(
  state: RedeliverParts,
  send: PeerPublish,
  { filter, outcome, onRefused, onFull }: AssignOptions,
): CommitBarrier | undefined {
  const { message, isAwaited, exactlyOnce, tried = [] } = send
  const before = outcome.assignments?.get(filter)
  if (before !== undefined && (before.to < state.peers.shard.count || !isStoredShard(before.to)))
    return repeatAssignment(state, send, { filter, outcome, before })
  const group = splitSharedFilter(filter)
  if (group === undefined) return undefined
  const here = state.router.findGroup(group.group, group.filter)
  if (here !== undefined && onFull !== undefined && isGroupOverfull(state, here, message)) {
    onFull(reasonCodes.quotaExceeded)
    return undefined
  }
  if (message.payloadId !== 0 && state.payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
  if (here !== undefined && deliverToGroup(state, here, message, undefined)) {
    if (exactlyOnce !== undefined) recordAssignment(outcome, filter, { to: state.peers.shard.own, barrier: undefined })
    return undefined
  }
  const wanted = { group: { name: group.group, filter: group.filter }, tried, canBeStored: message.qos > 0 }
  const to = chooseOtherShard(state.router, state.peers, wanted)
  if (to === undefined) {
    // If the sender still stores the message, it is not lost.
    if (onRefused === undefined) state.counts.countDrop(undefined, message, 'session-ended')
    else onRefused(reasonCodes.noMatchingSubscribers)
    return undefined
  }
  if (exactlyOnce === undefined) return forwardShared(state, to, { message, filter, tried, isAwaited })
  const barrier = forwardSharedOnce(state, to, {
    message,
    filter,
    tried,
    exactlyOnce,
    isCommitted: !canStore(state.peers),
  })
  recordAssignment(outcome, filter, { to: to.number, barrier })
  outcome.isAssignedNow = true
  return isAwaited ? barrier : undefined
}

function recordAssignment(outcome: SharedOutcome, filter: TopicFilter, assignment: SharedAssignment): void {
  outcome.assignments ??= new SharedAssignments()
  outcome.assignments.set(filter, assignment)
  outcome.isNew = true
}

/**
 * Repeats an earlier assignment. A delivery on this shard was stored together with its assignment. A message for another shard goes to the
 * same shard again, in case it did not arrive.
 */
function repeatAssignment(
  state: ForwardParts,
  { message, exactlyOnce, tried = [] }: PeerPublish,
  { filter, outcome, before }: { filter: TopicFilter; outcome: SharedOutcome; before: SharedAssignment },
): CommitBarrier | undefined {
  if (before.to === state.peers.shard.own || before.barrier !== undefined) return before.barrier
  const to = state.peers.requirePeer(before.to)
  const barrier = forwardSharedOnce(state, to, { message, filter, tried, exactlyOnce, isCommitted: true })
  outcome.assignments?.set(filter, { to: before.to, barrier })
  return barrier
}

/** Returns the number of the batch with which all changes so far are durable; 0 if they are durable. */
function findUncommittedBatch(batches: Batches): number {
  const last = batches.lastOpenNumber
  return last > batches.committed ? last : 0
}

/** Stores the identifier in the batch of the message, so that after a crash both exist or neither. */
function storeReceivedId(
  state: Parts<'batches' | 'deadlines' | 'nowMs' | 'peers' | 'settings'>,
  { publisher, packetId }: NonNullable<PeerPublish['exactlyOnce']>,
  { isStored, assignments }: { isStored: boolean; assignments: SharedAssignments | undefined },
): void {
  state.peers.received.add(publisher, packetId, { isStored, nowMs: state.nowMs, assignments })
  const shard = state.peers.shard.own
  if (isStored)
    putRecord(state.batches, {
      kind: 'forwarded',
      shard,
      publisher,
      packetId,
      assignments: assignments?.toRecords(shard) ?? [],
    })
  scheduleExpiry(state)
}

/** Handles the release of a packet identifier. The client may reuse it: the next message with it is a different one. */
export function handleReleased(
  state: Parts<'batches' | 'outputs' | 'payloads' | 'peers' | 'storage'>,
  link: LinkState,
  { publisher, packetId }: PeerRelease,
): void {
  const number = ++link.received
  const { batch, barrier } = removeReceivedId(state, { publisher, packetId })
  link.acks.recordHandled(number, { batch, isAwaited: true, barrier })
}
