// The peers that receive a message, and for which reasons: subscribers, the retained message, members of shared subscriptions.

import type { PacketId, TopicFilter } from '../../protocol/index.ts'
import type { RemainingReceivers } from '../../records/index.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { Message } from '../messages/message.ts'
import { SharedAssignments } from '../state/sessions/shared-assignments.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { PeerPublish } from '../model/peer-messages.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import { ForwardedPacketIds } from '../state/sessions/forwarded-packet-ids.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan } from '../topics/index.ts'
import { computeEffectiveQoS } from '../queues/enqueue-for-session.ts'

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
export interface PeerDelivery {
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
export interface PeerDeliveries {
  readonly wanted: PeerDelivery[]
  /** For shared subscriptions of messages that may have to wait for a commit of this shard. */
  readonly shared: PeerDelivery[]
}

/** Returns deliveries to the peers with subscribers, and records them for a message that its client may send again. */
export function planDeliveries(
  settings: CoreSettings,
  plan: DeliveryPlan<Session, Peer>,
  message: Message,
  origin: ForwardOrigin,
): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  const assignments = plan.peerMatches.length === 0 ? undefined : listAssignments(origin)
  for (const { peer, storedQoS } of plan.peerMatches) {
    // Sessions of local shards end with them, and get nothing that is published again after a failure of this shard.
    if (peer.hasLeft || (peer.isLocal && origin.remaining !== undefined)) continue
    if (!peer.isLocal) assignments?.toSubscribersOf.push(peer.number)
    const delivery = findOrAddDelivery(wanted, peer)
    delivery.isForSubscribers = true
    delivery.isStored = message.qos > 0 && computeEffectiveQoS(settings, message.qos, storedQoS) > 0
  }
  return wanted
}

/**
 * Returns deliveries to the peers that had subscribers before the restart. Later subscribers must not get the message after newer ones. Which local
 * shards had subscribers is not stored: all that have some now get the message. Those that had it recognize it by its packet identifier.
 */
export function createEarlierDeliveries(
  peers: PeerTable,
  plan: DeliveryPlan<Session, Peer>,
  assignments: SharedAssignments,
): PeerDelivery[] {
  const wanted: PeerDelivery[] = []
  for (const { peer } of plan.peerMatches)
    if (peer.isLocal && !peer.hasLeft) findOrAddDelivery(wanted, peer).isForSubscribers = true
  for (const number of assignments.toSubscribersOf) {
    if (number === peers.shard.own || number >= peers.shard.count) continue
    const delivery = findOrAddDelivery(wanted, peers.requirePeer(number))
    delivery.isForSubscribers = true
    delivery.isStored = true
  }
  return wanted
}

/**
 * Returns deliveries to the same shards as before the restart, whatever members they have now. Deliveries on this shard were stored with
 * the assignment.
 */
export function repeatAssignments(peers: PeerTable, assignments: SharedAssignments): PeerDelivery[] {
  const shared: PeerDelivery[] = []
  for (const [filter, { to }] of assignments.entries()) {
    if (to === peers.shard.own || to >= peers.shard.count) continue
    addSharedDelivery(shared, peers.requirePeer(to), filter).isStored = true
  }
  return shared
}

/** Returns the delivery to the peer, which is added to the list if it is not there. */
export function findOrAddDelivery(wanted: PeerDelivery[], peer: Peer): PeerDelivery {
  const known = wanted.find((delivery) => delivery.peer === peer)
  if (known !== undefined) return known
  const how = { isForSubscribers: false, isToBeRetained: false, groups: undefined, isStored: false, isCommitted: true }
  const delivery: PeerDelivery = { peer, ...how }
  wanted.push(delivery)
  return delivery
}

/** Adds the group to the delivery to the peer. */
export function addSharedDelivery(shared: PeerDelivery[], peer: Peer, filter: TopicFilter): PeerDelivery {
  const delivery = findOrAddDelivery(shared, peer)
  delivery.groups ??= []
  delivery.groups.push(filter)
  return delivery
}

/**
 * Returns the assignments that are stored with the packet identifier; undefined if the client does not send the message
 * again when this shard fails.
 */
export function listAssignments({ publisher, packetId }: ForwardOrigin): SharedAssignments | undefined {
  if (publisher?.stored === undefined || packetId === 0) return undefined
  publisher.incoming.forwarded ??= new ForwardedPacketIds()
  const known = publisher.incoming.forwarded.ensure(packetId)
  known.assignments ??= new SharedAssignments()
  return known.assignments
}
