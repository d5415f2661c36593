// Messages for a local shard that has left, and that it has not confirmed:
//
//   for its subscribers      complete: their sessions have ended with the shard
//   for a member of a group  another member gets it, here or on another shard
//   release                  complete
//
// It is unknown whether a member had a message that was on the way. At QoS 1, another member may get it a second time. At QoS 2, it must not
// [MQTT5-4.8.2-5], so only a message that was never sent goes to another member.

import { splitSharedFilter, type TopicFilter } from '../../protocol/index.ts'
import type { Parts, RedeliverParts } from '../state/parts.ts'
import type { CommitBarrier } from '../model/commit-barrier.ts'
import type { PeerPublish } from '../model/peer-messages.ts'
import { chooseOtherShard, forwardShared, forwardSharedOnce } from '../delivery/forward-shared.ts'
import { deliverToGroup } from '../delivery/deliver-locally.ts'
import { addOpenBatch } from '../outgoing/deferred-acks.ts'
import { ensurePeerName, parsePeerName, recordForwarded } from '../peers/qos2-forwarding.ts'
import type { UnconfirmedMessage } from '../state/peers/peer-outbox.ts'
import type { Peer } from '../state/peers/peer.ts'

/** The parts of the state with which a message goes to another member. */
type PassOnParts = RedeliverParts & Parts<'sessions'>

/** Completes at most `max` messages for the peer. Returns how many of `max` are left; 0: there may be more messages. */
export function passOnMessages(state: PassOnParts, peer: Peer, max: number): number {
  let left = max
  for (; left > 0; left--) {
    const entry = peer.outbox.takeFirst()
    if (entry === undefined) return left
    passOnMessage(state, entry)
  }
  return 0
}

function passOnMessage(state: PassOnParts, { message, barrier, number, wasSent }: UnconfirmedMessage): void {
  const groups = message.kind === 'publish' ? (message.groups ?? []) : []
  if (message.kind === 'publish' && groups.length > 0) {
    const mayBeDelivered = wasSent || number !== 0
    for (const filter of groups) {
      if (mayBeDelivered && message.message.qos === 2)
        state.counts.countDrop(undefined, message.message, 'session-ended')
      else reassign(state, message, { filter, barrier })
    }
  }
  barrier?.arrive()
}

/** Gives the message to another member of the group. The barrier, if there is one, waits until that member has it. */
function reassign(
  state: PassOnParts,
  send: PeerPublish,
  { filter, barrier }: { filter: TopicFilter; barrier: CommitBarrier | undefined },
): void {
  const { message, tried = [] } = send
  const group = splitSharedFilter(filter)
  if (group === undefined) return
  if (message.payloadId !== 0 && state.payloads.refcounts.get(message.payloadId) === 0) message.payloadId = 0
  const here = state.router.findGroup(group.group, group.filter)
  if (here !== undefined && deliverToGroup(state, here, message, undefined)) {
    if (barrier !== undefined) addOpenBatch(state, barrier)
    return
  }
  const wanted = { name: group.group, filter: group.filter }
  const to = chooseOtherShard(state.router, state.peers, { group: wanted, tried, canBeStored: message.qos > 0 })
  if (to === undefined) return state.counts.countDrop(undefined, message, 'session-ended')
  const passed = forwardAgain(state, to, send, filter)
  if (passed === undefined || barrier === undefined) return
  barrier.expect()
  passed.runWhenComplete(() => barrier.arrive(passed.refusal))
}

function forwardAgain(state: PassOnParts, to: Peer, send: PeerPublish, filter: TopicFilter): CommitBarrier | undefined {
  const { message, exactlyOnce, tried = [] } = send
  if (exactlyOnce === undefined) return forwardShared(state, to, { message, filter, tried, isAwaited: message.qos > 0 })
  const barrier = forwardSharedOnce(state, to, { message, filter, tried, exactlyOnce, isCommitted: true })
  recordReceiver(state, exactlyOnce, { to, filter, barrier })
  return barrier
}

/** The shard has the packet identifier now, so its release must reach it: from the session of the publisher, or with the release that arrives here. */
function recordReceiver(
  state: PassOnParts,
  { publisher, packetId }: NonNullable<PeerPublish['exactlyOnce']>,
  { to, filter, barrier }: { to: Peer; filter: TopicFilter; barrier: CommitBarrier },
): void {
  const session = state.sessions.get(parsePeerName(publisher) ?? '')
  if (session !== undefined && ensurePeerName(state.ids, session) === publisher)
    return recordForwarded(session, packetId, to)
  state.peers.received.findAssignments(publisher, packetId)?.set(filter, { to: to.number, barrier })
}
