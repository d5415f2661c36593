// A publication that began on this shard goes to the others that want it: to each once, whatever of it they want it for.
//
//   plan.peers     ──┐
//   plan.spanning  ──┼──► wanted by shard 1: for subscribers and a group;  by shard 2: to be retained
//   owner of topic ──┘
//
// A message for a persistent session or a retained topic of a peer stays in the outbox of that peer until it is durable there;
// the publisher's acknowledgement waits for it.
//
// A QoS 2 message, which its client would send again after a crash, is assigned once: for each shared subscription, the chosen
// shard is stored before the message is sent (`SharedAssignments`).

import type { PacketId, TopicFilter } from '../../protocol/index.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Message } from '../model/message.ts'
import { SharedAssignments } from '../state/sessions/shared-assignments.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { ownerOf, type Interest, type PeerPublish } from '../model/peer-messages.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan, SharedGroup, CrossShardGroup } from '../topics/index.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { chooseShard } from '../peers/choose-shard.ts'
import { effectiveQoS } from '../queues/enqueue-for-session.ts'
import { peerNameOf, recordForwarded } from '../peers/qos2-forwarding.ts'
import { deliverToGroup } from './deliver-locally.ts'
import { storeAndSend, sendPlainNumbered, sendInTurn, sendNumbered } from '../peers/send-to-peer.ts'

export interface ForwardOrigin {
  /** Undefined: not a client, or one whose session is over. */
  readonly publisher: Session | undefined
  /** 0: not QoS 2 from a client. */
  readonly packetId: PacketId
  /** The client sends it again after a restart: sessions here have had it, others may. */
  readonly isAgain: boolean
  /** An administrator is answered when the retained message is stored, at QoS 0 too. A client gets no answer to that. */
  readonly awaitsRetained?: boolean
}

/** What one peer is to have of a message. */
interface PeerDelivery {
  readonly peer: Peer
  isForSubscribers: boolean
  isToBeRetained: boolean
  groups: TopicFilter[] | undefined
  /** What is there for it must not be lost. */
  isKept: boolean
  /** It is on disk already that its groups have their members there, or need not be. */
  isDecided: boolean
}

/** One for each peer in each. */
interface PeerDeliveries {
  readonly wanted: PeerDelivery[]
  /** For shared subscriptions, of what may have to wait for the disk here. */
  readonly shared: PeerDelivery[]
}

/**
 * Sends the message on its ways; how many there were, shared subscriptions that were served here among them. `plan`: the
 * present one of its topic.
 */
export function forwardToPeers(
  state: BrokerState,
  peerTable: PeerTable,
  { message, plan }: { message: Message; plan: DeliveryPlan<Session, Peer> },
  origin: ForwardOrigin,
): number {
  const owner = message.retain ? ownerOf(message.topic.name, peerTable.shard.count) : peerTable.shard.own
  const dealt = earlierAssignments(origin)
  if (owner === peerTable.shard.own && dealt === undefined) {
    if (!plan.leadsElsewhere) return 0
    if (isStoredNowhere(state, plan, message, origin)) return forwardUnstored(state, plan, message)
  }
  const wanted =
    dealt === undefined ? deliveriesFor(state, plan, message, origin) : earlierSubscriberDeliveries(peerTable, dealt)
  if (owner !== peerTable.shard.own) {
    const part = deliveryFor(wanted, peerTable.peer(owner))
    part.isToBeRetained = true
    part.isKept ||= message.qos > 0 || origin.awaitsRetained === true
  }
  const shared = dealt === undefined ? [] : repeatAssignments(peerTable, dealt)
  const parts = { wanted, shared }
  let matched = plan.peers.length + shared.length
  if (dealt === undefined) {
    for (const group of plan.spanning)
      if (assignToMember(state, peerTable, message, { group, parts, origin })) matched++
  }
  for (const part of wanted) sendDelivery(state, peerTable, message, { part, origin })
  for (const part of shared) sendAssigned(state, peerTable, message, { part, origin })
  return matched
}

/** Where it went in an earlier life of this shard; undefined: it is new. */
function earlierAssignments({ publisher, packetId, isAgain }: ForwardOrigin): SharedAssignments | undefined {
  return isAgain ? publisher?.forwardedPacketIds?.get(packetId)?.dealt : undefined
}

/** By those who subscribed then: who has come since is not to hear it behind what was published later. */
function earlierSubscriberDeliveries(peerTable: PeerTable, dealt: SharedAssignments): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  for (const number of dealt.toSubscribersOf) {
    if (number === peerTable.shard.own || number >= peerTable.shard.count) continue
    const part = deliveryFor(wanted, peerTable.peer(number))
    part.isForSubscribers = true
    part.isKept = true
  }
  return wanted
}

/** To the same shards, whoever is a member there by now; what is here was stored with the word of it. */
function repeatAssignments(peerTable: PeerTable, dealt: SharedAssignments): PeerDelivery[] {
  const shared: PeerDelivery[] = []
  for (const [filter, { to }] of dealt.entries()) {
    if (to === peerTable.shard.own || to >= peerTable.shard.count) continue
    sharedDeliveryFor(shared, peerTable.peer(to), filter).isKept = true
  }
  return shared
}

/** It goes to plain subscribers only, and nobody waits for it: the way of nearly every message that goes to others. */
function isStoredNowhere(
  state: BrokerState,
  plan: DeliveryPlan<Session, Peer>,
  { qos }: Message,
  { packetId }: ForwardOrigin,
): boolean {
  if (packetId !== 0 || plan.spanning.length > 0) return false
  if (qos === 0) return true
  for (const { storedQoS } of plan.peers) if (effectiveQoS(state, qos, storedQoS) > 0) return false
  return true
}

/** As it is. */
function forwardUnstored(state: BrokerState, plan: DeliveryPlan<Session, Peer>, message: Message): number {
  for (const { peer } of plan.peers) if (peer.link !== undefined) sendPlainNumbered(state, peer, peer.link, message)
  return plan.peers.length
}

function deliveriesFor(
  state: BrokerState,
  plan: DeliveryPlan<Session, Peer>,
  message: Message,
  origin: ForwardOrigin,
): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  const dealt = plan.peers.length === 0 ? undefined : assignmentsOf(origin)
  for (const { peer, storedQoS } of plan.peers) {
    dealt?.toSubscribersOf.push(peer.number)
    const part = deliveryFor(wanted, peer)
    part.isForSubscribers = true
    part.isKept = message.qos > 0 && effectiveQoS(state, message.qos, storedQoS) > 0
  }
  return wanted
}

function deliveryFor(wanted: PeerDelivery[], peer: Peer): PeerDelivery {
  const known = wanted.find((part) => part.peer === peer)
  if (known !== undefined) return known
  const how = { isForSubscribers: false, isToBeRetained: false, groups: undefined, isKept: false, isDecided: true }
  const part: PeerDelivery = { peer, ...how }
  wanted.push(part)
  return part
}

function sharedDeliveryFor(shared: PeerDelivery[], peer: Peer, filter: TopicFilter): PeerDelivery {
  const part = deliveryFor(shared, peer)
  part.groups ??= []
  part.groups.push(filter)
  return part
}

/** One member of the group gets it, here or elsewhere; false where there is none that could. */
function assignToMember(
  state: BrokerState,
  peerTable: PeerTable,
  message: Message,
  { group, parts, origin }: { group: CrossShardGroup<Session, Peer>; parts: PeerDeliveries; origin: ForwardOrigin },
): boolean {
  const { filter, local, onPeers } = group
  const hand = { filter, elsewhere: onPeers, turn: onPeers.nextTurn(), except: undefined, mayBeStored: message.qos > 0 }
  let chosen = chooseShard(peerTable, { ...hand, mayBeHere: local !== undefined })
  if (chosen === 'here') {
    // The body that it shares with others may be gone already: the last of them may have been done with it.
    if (message.bodyId !== 0 && state.payloadRefcounts.get(message.bodyId) === 0) message.bodyId = 0
    if (local !== undefined && deliverToGroup(state, local, message, undefined)) {
      assignmentsOf(origin)?.note(filter, { to: peerTable.shard.own, barrier: undefined })
      return true
    }
    chosen = chooseShard(peerTable, { ...hand, mayBeHere: false })
  }
  if (chosen === undefined || chosen === 'here') return false
  // With what is for subscribers there, if nothing keeps it back.
  const goesAlong = origin.packetId === 0 && (message.qos === 0 || chosen.uncommitted.length === 0)
  const part = sharedDeliveryFor(goesAlong ? parts.wanted : parts.shared, chosen, filter)
  const interest = interestOf(onPeers, chosen)
  part.isKept ||= message.qos > 0 && (interest?.storedMembers ?? 0) > 0
  const dealt = assignmentsOf(origin)
  if (dealt !== undefined) {
    dealt.note(filter, { to: chosen.number, barrier: undefined })
    part.isKept = true
    part.isDecided = false
  }
  if ((interest?.members ?? 0) > 0) peerTable.sentToShared++
  else peerTable.queuedForShared++
  return true
}

/** What goes to the disk with its packet id; undefined: it does not, as its client will not send it again if this shard dies. */
function assignmentsOf({ publisher, packetId }: ForwardOrigin): SharedAssignments | undefined {
  if (publisher?.stored === undefined || packetId === 0) return undefined
  publisher.forwardedPacketIds ??= new ForwardedPacketIds()
  const known = publisher.forwardedPacketIds.of(packetId)
  known.dealt ??= new SharedAssignments()
  return known.dealt
}

function interestOf(group: SharedGroup<Peer, Interest>, peer: Peer): Interest | undefined {
  for (const member of group.members()) if (member.subscriber === peer) return member.options
  return undefined
}

function sendDelivery(
  state: BrokerState,
  peerTable: PeerTable,
  message: Message,
  { part, origin }: { part: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isToBeRetained, isKept } = part
  const send = toSend(state, message, part, origin)
  // What a topic is to remember is kept for its owner while that is away, though nobody waits for QoS 0.
  if (isKept || (isToBeRetained && peer.link === undefined)) {
    const barrier = isKept ? (peerTable.currentBarrier ??= new CommitBarrier()) : undefined
    storeAndSend(state, peer, send, barrier)
  } else if (peer.link !== undefined) sendNumbered(state, peer, peer.link, send)
}

/** For members of shared subscriptions there. */
function sendAssigned(
  state: BrokerState,
  peerTable: PeerTable,
  message: Message,
  { part, origin }: { part: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isDecided } = part
  if (isDecided && peer.uncommitted.length === 0) return sendDelivery(state, peerTable, message, { part, origin })
  const barrier = part.isKept ? (peerTable.currentBarrier ??= new CommitBarrier()) : undefined
  const send = toSend(state, message, part, origin)
  barrier?.expect()
  sendInTurn(state, peer, { message, isDecided }, () => {
    if (barrier !== undefined) storeAndSend(state, peer, send, barrier)
    else if (peer.link !== undefined) sendNumbered(state, peer, peer.link, send)
    barrier?.arrive()
  })
}

function toSend(state: BrokerState, message: Message, part: PeerDelivery, origin: ForwardOrigin): PeerPublish {
  const { isForSubscribers: hasSubscribers, isToBeRetained: isRetained, groups, isKept } = part
  const exactlyOnce = deduplicationKeyFor(state, part, origin)
  return { kind: 'publish', message, hasSubscribers, isRetained, groups, isAwaited: isKept, exactlyOnce }
}

/** The publisher may send it again, or we may: where either outlives what has heard of it already. */
function deduplicationKeyFor(
  state: BrokerState,
  { peer, isKept }: PeerDelivery,
  origin: ForwardOrigin,
): PeerPublish['exactlyOnce'] {
  const { publisher, packetId } = origin
  if (publisher === undefined || packetId === 0 || (!isKept && publisher.stored === undefined)) return undefined
  recordForwarded(publisher, packetId, peer)
  return { publisher: peerNameOf(state, publisher), packetId }
}
