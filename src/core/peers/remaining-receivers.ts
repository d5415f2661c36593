// A message that was delivered in part before `node.shards` changed: which subscribers, groups and retained messages still need it.
// Shards of then are known by the client IDs and topics that they had, so they do not depend on the present number of shards.
//
//   then, 3 shards:   publisher on shard 0   shard 1: has it   shard 2: had subscribers, has it not
//   now:              subscribers whose client IDs belonged to shard 2 of 3 get it, on whichever shards they are

import type { FormerShard, RemainingReceivers } from '../../records/index.ts'
import { computeTopicShard, computeOwnerShard, type ShardPlace } from '../model/peer-messages.ts'

export function isRemainingSubscriber({ subscribersOf, doneOn }: RemainingReceivers, clientId: string): boolean {
  const isFormerOwner = ({ shard, of }: FormerShard): boolean => computeOwnerShard(clientId, of) === shard
  return (subscribersOf === undefined || subscribersOf.some(isFormerOwner)) && !doneOn.some(isFormerOwner)
}

/** `filter`: `$share/group/filter`. */
export function isRemainingGroup({ groups, doneGroups }: RemainingReceivers, filter: string): boolean {
  return (groups === undefined || groups.includes(filter)) && !doneGroups.includes(filter)
}

/** Returns whether the retained message of the topic was not stored. */
export function isRemainingRetained({ doneOn }: RemainingReceivers, topic: string): boolean {
  return !doneOn.some(({ shard, of }) => computeTopicShard(topic, of) === shard)
}

/** Called when this shard has delivered the message. */
export function markDoneHere(remaining: RemainingReceivers, { own, count }: ShardPlace): RemainingReceivers {
  if (remaining.isDoneHere) return remaining
  return { ...remaining, doneOn: [...remaining.doneOn, { shard: own, of: count }], isDoneHere: true }
}
