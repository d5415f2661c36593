// Gives a message to one member of each shared subscription that has members on several shards. `choose-shard.ts` selects the shard.

import type { EnqueueParts, Parts, RedeliverParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { Peer } from '../state/peers/peer.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { Session } from '../state/sessions/session.ts'
import type { DeliveryPlan, SharedGroup, CrossShardGroup } from '../topics/index.ts'
import { chooseShard } from '../peers/choose-shard.ts'
import { deliverToGroup } from './deliver-locally.ts'
import { storeHandoff } from './store-handoff.ts'
import {
  type KeptHandoffs,
  type ForwardOrigin,
  type PeerDeliveries,
  addSharedDelivery,
  listAssignments,
} from './peer-deliveries.ts'

/** Assigns the message to one member of the group, on this shard or a peer. Returns false if no member can receive it. */
export function assignToMember(
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
      listAssignments(origin)?.set(filter, { to: state.peers.shard.own, barrier: undefined })
      return true
    }
    chosen = chooseShard(state.peers, { ...choice, canBeHere: false })
  }
  if (chosen === undefined || chosen === 'here') return false
  // If nothing delays the message for the group, it is combined with the message for subscribers of that peer.
  const isCombined = origin.packetId === 0 && (message.qos === 0 || chosen.uncommitted.length === 0)
  const delivery = addSharedDelivery(isCombined ? deliveries.wanted : deliveries.shared, chosen, filter)
  const interest = findMemberInterest(onPeers, chosen)
  // A local shard may leave: then another member gets what it has not confirmed.
  delivery.isStored ||= message.qos > 0 && (chosen.isLocal || (interest?.storedMembers ?? 0) > 0)
  const assignments = listAssignments(origin)
  if (assignments !== undefined) {
    assignments.set(filter, { to: chosen.number, barrier: undefined })
    delivery.isStored = true
    delivery.isCommitted = false
  }
  if ((interest?.members ?? 0) > 0) state.peers.sentToShared++
  else state.peers.queuedForShared++
  return true
}

/** Gives the message to one member of each group, with a record for each group whose member is on a peer. */
export function handOffToGroups(
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

function findMemberInterest(group: SharedGroup<Peer, Interest>, peer: Peer): Interest | undefined {
  for (const member of group.iterateMembers()) if (member.subscriber === peer) return member.options
  return undefined
}
