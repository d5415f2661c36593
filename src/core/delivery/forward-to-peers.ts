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

import type { TopicFilter } from '../../protocol/index.ts'
import type { OutputLists } from '../state/output-lists.ts'
import type { CoreSettings } from '../model/core-settings.ts'
import type { RedeliverParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { SharedAssignments } from '../state/sessions/shared-assignments.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan } from '../topics/index.ts'
import { computeEffectiveQoS } from '../queues/enqueue-for-session.ts'
import { isRemainingGroup, isRemainingRetained } from '../peers/remaining-receivers.ts'
import { sendPlainNumbered } from '../peers/send-to-peer.ts'
import { assignToMember, handOffToGroups } from './assign-to-groups.ts'
import {
  planDeliveries,
  findOrAddDelivery,
  createEarlierDeliveries,
  type ForwardOrigin,
  repeatAssignments,
} from './peer-deliveries.ts'
import { sendDelivery, sendAfterCommit, sendAssigned } from './send-delivery.ts'

/**
 * Sends the message to the peers. Returns the number of receivers, including shared subscriptions served on this shard.
 * `plan` is the current plan of its topic.
 */
export function forwardToPeers(
  state: RedeliverParts,
  { message, plan }: { message: Message; plan: DeliveryPlan<Session, Peer> },
  origin: ForwardOrigin,
): number {
  const owner = findOwnerToNotify(state.peers, message, origin)
  const earlier = findEarlierAssignments(origin)
  if (owner === undefined && earlier === undefined) {
    if (!plan.hasPeers) return 0
    if (origin.remaining === undefined && isStoredNowhere(state.settings, plan, message, origin))
      return forwardUnstored(state.outputs, plan, message)
  }
  const wanted =
    earlier === undefined
      ? planDeliveries(state.settings, plan, message, origin)
      : createEarlierDeliveries(state.peers, plan, earlier)
  if (owner !== undefined) {
    const delivery = findOrAddDelivery(wanted, owner)
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
function findOwnerToNotify(
  peers: PeerTable,
  { retain, topic }: Message,
  { remaining }: ForwardOrigin,
): Peer | undefined {
  if (!retain || (remaining !== undefined && !isRemainingRetained(remaining, topic.name))) return undefined
  return peers.findOwner(topic.name)
}

function needsGroup({ remaining }: ForwardOrigin, filter: TopicFilter): boolean {
  return remaining === undefined || isRemainingGroup(remaining, filter)
}

/** Returns the shards that the message went to before the restart of this shard. Undefined: the message is new. */
function findEarlierAssignments({ publisher, packetId, isAgain }: ForwardOrigin): SharedAssignments | undefined {
  return isAgain ? publisher?.incoming.forwarded?.get(packetId)?.assignments : undefined
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
  for (const { storedQoS } of plan.peerMatches) if (computeEffectiveQoS(settings, qos, storedQoS) > 0) return false
  return true
}

/** Sends the message unchanged. */
function forwardUnstored(outputs: OutputLists, plan: DeliveryPlan<Session, Peer>, message: Message): number {
  for (const { peer } of plan.peerMatches)
    if (peer.link !== undefined) sendPlainNumbered(outputs, peer, peer.link, message)
  return plan.peerMatches.length
}
