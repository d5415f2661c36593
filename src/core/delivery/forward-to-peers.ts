// Sends a message that was published on this shard to the peers that need it, once to each, for all reasons together.
//
//   plan.peerMatches      ──┐
//   plan.crossShardGroups ──┼──► needed by shard 1: for subscribers and a group;  by shard 2: as retained message
//   owner of topic        ──┘
//
// A message for a persistent session or a retained topic of a peer stays in the outbox of that peer until it is durable on the peer.
// The publisher's acknowledgement waits for that.
//
// A QoS 2 message, which its client would send again after a crash, is assigned once: for each shared subscription, the chosen
// shard is stored before the message is sent (`SharedAssignments`).

import type { PacketId, TopicFilter } from '../../protocol/index.ts'
import type { RemainingReceivers } from '../../records/index.ts'
import type { UniqueIds } from '../state/unique-ids.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { CoreSettings } from '../model/settings.ts'
import type { EnqueueParts, ForwardParts, Parts, PeerSendParts, RedeliverParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import { SharedAssignments } from '../state/sessions/shared-assignments.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { Interest, PeerPublish } from '../model/peer-messages.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan, SharedGroup, CrossShardGroup } from '../topics/index.ts'
import { chooseShard } from '../peers/choose-shard.ts'
import { effectiveQoS } from '../queues/enqueue-for-session.ts'
import { isRemainingGroup, isRemainingRetained } from '../peers/remaining-receivers.ts'
import { peerNameOf, recordForwarded } from '../peers/qos2-forwarding.ts'
import { deliverToGroup } from './deliver-locally.ts'
import { storeHandoff } from './store-handoff.ts'
import { storeAndSend, sendPlainNumbered, sendInTurn, sendNumbered } from '../peers/send-to-peer.ts'

/** A result of a rule that has records until the other shards have it. */
export interface KeptHandoffs {
  /** Complete when a shard has the message for a member of a group. */
  readonly handoffs: CommitBarrier[]
}

export interface ForwardOrigin {
  /** Undefined if the publisher is not a client, or if its session ended. */
  readonly publisher: Session | undefined
  /** 0 if the message is not a QoS 2 message of a client. */
  readonly packetId: PacketId
  /** The client sent the message again after a restart of this shard. Local sessions have the message already, peers may have it. */
  readonly isAgain: boolean
  /**
   * A command of the API has its result only after the retained message is stored, also at QoS 0. A client gets no
   * acknowledgement for that.
   */
  readonly awaitsRetained?: boolean
  /** Key by which peers recognize a duplicate. Set if this shard may publish the message again after a restart, as a new one. */
  readonly onceKey?: PeerPublish['exactlyOnce']
  /** Set for a result of a rule that has a record: it is sent after the commit of the open batch (`keep-result.ts`). */
  readonly kept?: KeptHandoffs | undefined
  /** Set if the message was delivered in part before the number of shards changed. */
  readonly remaining?: RemainingReceivers | undefined
}

/** The reasons for which one peer receives a message. */
interface PeerDelivery {
  readonly peer: Peer
  isForSubscribers: boolean
  isToBeRetained: boolean
  groups: TopicFilter[] | undefined
  /** The message is stored in the outbox until the peer has committed it. */
  isStored: boolean
  /** The assignment of its groups to the peer is durable, or need not be stored. */
  isCommitted: boolean
}

/** One entry per peer in each list. */
interface PeerDeliveries {
  readonly wanted: PeerDelivery[]
  /** For shared subscriptions of messages that may have to wait for a commit of this shard. */
  readonly shared: PeerDelivery[]
}

/**
 * Sends the message to the peers. Returns the number of receivers, including shared subscriptions served on this shard.
 * `plan` is the current plan of its topic.
 */
export function forwardToPeers(
  state: RedeliverParts,
  { message, plan }: { message: Message; plan: DeliveryPlan<Session, Peer> },
  origin: ForwardOrigin,
): number {
  const owner = ownerToNotify(state.peers, message, origin)
  const earlier = earlierAssignments(origin)
  if (owner === undefined && earlier === undefined) {
    if (!plan.hasPeers) return 0
    if (origin.remaining === undefined && isStoredNowhere(state.settings, plan, message, origin))
      return forwardUnstored(state.outputs, plan, message)
  }
  const wanted =
    earlier === undefined
      ? deliveriesFor(state.settings, plan, message, origin)
      : earlierSubscriberDeliveries(state.peers, earlier)
  if (owner !== undefined) {
    const delivery = deliveryFor(wanted, owner)
    delivery.isToBeRetained = true
    delivery.isStored ||= message.qos > 0 || origin.awaitsRetained === true
  }
  const shared = earlier === undefined ? [] : repeatAssignments(state.peers, earlier)
  const deliveries = { wanted, shared }
  let matched = plan.peerMatches.length + shared.length
  if (origin.kept !== undefined) matched += handOffToGroups(state, message, { plan, kept: origin.kept })
  else if (earlier === undefined) {
    for (const group of plan.crossShardGroups)
      if (needsGroup(origin, group.filter) && assignToMember(state, message, { group, deliveries, origin })) matched++
  }
  if (origin.kept === undefined) for (const delivery of wanted) sendDelivery(state, message, { delivery, origin })
  else for (const delivery of wanted) sendAfterCommit(state, message, { delivery, origin })
  for (const delivery of shared) sendAssigned(state, message, { delivery, origin })
  return matched
}

/** Returns the peer that stores the retained message; undefined if none has to. */
function ownerToNotify(peers: PeerTable, { retain, topic }: Message, { remaining }: ForwardOrigin): Peer | undefined {
  if (!retain || (remaining !== undefined && !isRemainingRetained(remaining, topic.name))) return undefined
  return peers.ownerOf(topic.name)
}

function needsGroup({ remaining }: ForwardOrigin, filter: TopicFilter): boolean {
  return remaining === undefined || isRemainingGroup(remaining, filter)
}

/** Returns the shards that the message went to before the restart of this shard. Undefined: the message is new. */
function earlierAssignments({ publisher, packetId, isAgain }: ForwardOrigin): SharedAssignments | undefined {
  return isAgain ? publisher?.incoming.forwarded?.get(packetId)?.assignments : undefined
}

/** Returns deliveries to the peers that had subscribers before the restart. Later subscribers must not get the message after newer ones. */
function earlierSubscriberDeliveries(peers: PeerTable, assignments: SharedAssignments): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  for (const number of assignments.toSubscribersOf) {
    if (number === peers.shard.own || number >= peers.shard.count) continue
    const delivery = deliveryFor(wanted, peers.peer(number))
    delivery.isForSubscribers = true
    delivery.isStored = true
  }
  return wanted
}

/**
 * Returns deliveries to the same shards as before the restart, whatever members they have now. Deliveries on this shard were stored with
 * the assignment.
 */
function repeatAssignments(peers: PeerTable, assignments: SharedAssignments): PeerDelivery[] {
  const shared: PeerDelivery[] = []
  for (const [filter, { to }] of assignments.entries()) {
    if (to === peers.shard.own || to >= peers.shard.count) continue
    sharedDeliveryFor(shared, peers.peer(to), filter).isStored = true
  }
  return shared
}

/**
 * Returns whether only non-shared subscribers receive the message and no peer stores it. Most messages to peers are of this kind.
 */
function isStoredNowhere(
  settings: CoreSettings,
  plan: DeliveryPlan<Session, Peer>,
  { qos }: Message,
  { packetId }: ForwardOrigin,
): boolean {
  if (packetId !== 0 || plan.crossShardGroups.length > 0) return false
  if (qos === 0) return true
  for (const { storedQoS } of plan.peerMatches) if (effectiveQoS(settings, qos, storedQoS) > 0) return false
  return true
}

/** Sends the message unchanged. */
function forwardUnstored(outputs: OutputLists, plan: DeliveryPlan<Session, Peer>, message: Message): number {
  for (const { peer } of plan.peerMatches)
    if (peer.link !== undefined) sendPlainNumbered(outputs, peer, peer.link, message)
  return plan.peerMatches.length
}

function deliveriesFor(
  settings: CoreSettings,
  plan: DeliveryPlan<Session, Peer>,
  message: Message,
  origin: ForwardOrigin,
): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  const assignments = plan.peerMatches.length === 0 ? undefined : assignmentsOf(origin)
  for (const { peer, storedQoS } of plan.peerMatches) {
    assignments?.toSubscribersOf.push(peer.number)
    const delivery = deliveryFor(wanted, peer)
    delivery.isForSubscribers = true
    delivery.isStored = message.qos > 0 && effectiveQoS(settings, message.qos, storedQoS) > 0
  }
  return wanted
}

function deliveryFor(wanted: PeerDelivery[], peer: Peer): PeerDelivery {
  const known = wanted.find((delivery) => delivery.peer === peer)
  if (known !== undefined) return known
  const how = { isForSubscribers: false, isToBeRetained: false, groups: undefined, isStored: false, isCommitted: true }
  const delivery: PeerDelivery = { peer, ...how }
  wanted.push(delivery)
  return delivery
}

function sharedDeliveryFor(shared: PeerDelivery[], peer: Peer, filter: TopicFilter): PeerDelivery {
  const delivery = deliveryFor(shared, peer)
  delivery.groups ??= []
  delivery.groups.push(filter)
  return delivery
}

/** Gives the message to one member of each group, with a record for each group whose member is on a peer. */
function handOffToGroups(
  state: RedeliverParts,
  message: Message,
  { plan, kept }: { plan: DeliveryPlan<Session, Peer>; kept: KeptHandoffs },
): number {
  let matched = 0
  for (const { filter, local, onPeers } of plan.crossShardGroups) {
    const choice = { filter, onPeers, turn: onPeers.nextTurn(), except: undefined, canBeStored: true }
    let chosen = chooseShard(state.peers, { ...choice, canBeHere: local !== undefined })
    if (chosen === 'here') {
      if (message.payloadId !== 0 && state.payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
      if (local !== undefined && deliverToGroup(state, local, message, undefined)) matched++
      else chosen = chooseShard(state.peers, { ...choice, canBeHere: false })
    }
    if (chosen === undefined || chosen === 'here') continue
    kept.handoffs.push(storeHandoff(state, chosen, { message, filter }))
    matched++
  }
  return matched
}

/** Assigns the message to one member of the group, on this shard or a peer. Returns false if no member can receive it. */
function assignToMember(
  state: EnqueueParts & Parts<'access' | 'shared'>,
  message: Message,
  {
    group,
    deliveries,
    origin,
  }: { group: CrossShardGroup<Session, Peer>; deliveries: PeerDeliveries; origin: ForwardOrigin },
): boolean {
  const { filter, local, onPeers } = group
  const choice = { filter, onPeers: onPeers, turn: onPeers.nextTurn(), except: undefined, canBeStored: message.qos > 0 }
  let chosen = chooseShard(state.peers, { ...choice, canBeHere: local !== undefined })
  if (chosen === 'here') {
    // All queues that referred to the shared payload may have released it. Then it is deleted and must not be used.
    if (message.payloadId !== 0 && state.payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
    if (local !== undefined && deliverToGroup(state, local, message, undefined)) {
      assignmentsOf(origin)?.note(filter, { to: state.peers.shard.own, barrier: undefined })
      return true
    }
    chosen = chooseShard(state.peers, { ...choice, canBeHere: false })
  }
  if (chosen === undefined || chosen === 'here') return false
  // If nothing delays the message for the group, it is combined with the message for subscribers of that peer.
  const isCombined = origin.packetId === 0 && (message.qos === 0 || chosen.uncommitted.length === 0)
  const delivery = sharedDeliveryFor(isCombined ? deliveries.wanted : deliveries.shared, chosen, filter)
  const interest = interestOf(onPeers, chosen)
  delivery.isStored ||= message.qos > 0 && (interest?.storedMembers ?? 0) > 0
  const assignments = assignmentsOf(origin)
  if (assignments !== undefined) {
    assignments.note(filter, { to: chosen.number, barrier: undefined })
    delivery.isStored = true
    delivery.isCommitted = false
  }
  if ((interest?.members ?? 0) > 0) state.peers.sentToShared++
  else state.peers.queuedForShared++
  return true
}

/**
 * Returns the assignments that are stored with the packet identifier; undefined if the client does not send the message
 * again when this shard fails.
 */
function assignmentsOf({ publisher, packetId }: ForwardOrigin): SharedAssignments | undefined {
  if (publisher?.stored === undefined || packetId === 0) return undefined
  publisher.incoming.forwarded ??= new ForwardedPacketIds()
  const known = publisher.incoming.forwarded.of(packetId)
  known.assignments ??= new SharedAssignments()
  return known.assignments
}

function interestOf(group: SharedGroup<Peer, Interest>, peer: Peer): Interest | undefined {
  for (const member of group.members()) if (member.subscriber === peer) return member.options
  return undefined
}

function sendDelivery(
  state: PeerSendParts & Parts<'peers'>,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isToBeRetained, isStored } = delivery
  const send = toSend(state.ids, message, delivery, origin)
  // A retained message is stored in the outbox while the owner of its topic is restarting, even at QoS 0.
  if (isStored || (isToBeRetained && peer.link === undefined)) {
    const barrier = isStored ? state.peers.openBarrier() : undefined
    storeAndSend(state, peer, send, barrier)
  } else if (peer.link !== undefined) sendNumbered(state.outputs, peer, peer.link, send)
}

/** Sends a message whose record is in the open batch. */
function sendAfterCommit(
  state: ForwardParts,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  delivery.isCommitted = false
  sendAssigned(state, message, { delivery, origin })
}

/** Sends the message to peers for members of shared subscriptions. */
function sendAssigned(
  state: ForwardParts,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isCommitted } = delivery
  if (isCommitted && peer.uncommitted.length === 0) return sendDelivery(state, message, { delivery, origin })
  const barrier = delivery.isStored ? state.peers.openBarrier() : undefined
  const send = toSend(state.ids, message, delivery, origin)
  barrier?.expect()
  sendInTurn(state, peer, { message, isCommitted }, () => {
    if (barrier !== undefined) storeAndSend(state, peer, send, barrier)
    else if (peer.link !== undefined) sendNumbered(state.outputs, peer, peer.link, send)
    barrier?.arrive()
  })
}

function toSend(ids: UniqueIds, message: Message, delivery: PeerDelivery, origin: ForwardOrigin): PeerPublish {
  const { isForSubscribers: hasSubscribers, isToBeRetained: isRetained, groups, isStored } = delivery
  const exactlyOnce = deduplicationKeyFor(ids, delivery, origin)
  const send = {
    kind: 'publish',
    message,
    hasSubscribers,
    isRetained,
    groups,
    isAwaited: isStored,
    exactlyOnce,
  } as const
  return origin.remaining === undefined ? send : { ...send, remaining: origin.remaining }
}

/** Returns the key for duplicates if the client or this shard may send the message again after a failure. */
function deduplicationKeyFor(
  ids: UniqueIds,
  { peer, isStored }: PeerDelivery,
  origin: ForwardOrigin,
): PeerPublish['exactlyOnce'] {
  const { publisher, packetId, onceKey } = origin
  if (onceKey !== undefined) return isStored ? onceKey : undefined
  if (publisher === undefined || packetId === 0 || (!isStored && publisher.stored === undefined)) return undefined
  recordForwarded(publisher, packetId, peer)
  return { publisher: peerNameOf(ids, publisher), packetId }
}
