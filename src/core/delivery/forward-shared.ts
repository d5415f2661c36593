// Forwards a message of a shared subscription to a member on another shard. Reasons: the member on this shard disconnected, or another
// shard sent the message before it knew that this shard has no member left.

import { reasonCodes, type TopicFilter } from '../../protocol/index.ts'
import type { BrokerRouter } from '../state/broker-state.ts'
import type { ForwardParts, Parts, PeerSendParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { PeerTable } from '../state/peers/peer-table.ts'
import type { Peer } from '../state/peers/peer.ts'
import { createPlainPublish, type PeerPublish } from '../model/peer-messages.ts'
import type { PeerNumber } from '../model/peer-names.ts'
import { CommitBarrier } from '../model/commit-barrier.ts'
import { chooseShard } from '../peers/choose-shard.ts'
import { storeAndSend, sendInTurn, sendNumbered } from '../peers/send-to-peer.ts'

/** A message for which this shard has no member that may receive it. */
interface UnassignedMessage {
  readonly group: { readonly name: string; readonly filter: TopicFilter }
  /** Shards that had no member. */
  readonly tried: readonly PeerNumber[]
  /** True if a persistent member without a client is sufficient. */
  readonly canBeStored: boolean
}

/** Returns the next shard; undefined if there is no member. */
export function chooseOtherShard(
  router: BrokerRouter,
  peers: PeerTable,
  { group, tried, canBeStored }: UnassignedMessage,
): Peer | undefined {
  const onPeers = router.findGroupOnPeers(group.name, group.filter)
  if (onPeers === undefined) return undefined
  const chosen = chooseShard(peers, {
    filter: onPeers.sharedFilter,
    onPeers,
    turn: onPeers.nextTurn(),
    canBeHere: false,
    except: new Set(tried),
    canBeStored,
  })
  return chosen === 'here' ? undefined : chosen
}

export interface ForwardedShared {
  readonly message: Message
  /** `$share/name/filter`. */
  readonly filter: TopicFilter
  readonly tried: readonly PeerNumber[]
}

/**
 * Sends the message to the shard `to`, which gives it to a member or forwards it to a further shard. The barrier completes when `to` has
 * stored the message, with a refusal if no member on `to` or on a further shard may receive it. Returns undefined if no acknowledgement waits.
 */
export function forwardShared(
  state: PeerSendParts & Parts<'peers'>,
  to: Peer,
  { isAwaited, ...passed }: ForwardedShared & { readonly isAwaited: boolean },
): CommitBarrier | undefined {
  const send = { ...createGroupPublish(state.peers, passed), isAwaited }
  if (isAwaited) {
    const barrier = new CommitBarrier()
    storeOrRefuse(state, to, send, barrier)
    return barrier
  }
  if (to.link !== undefined) sendNumbered(state.outputs, to, to.link, send)
  return undefined
}

/**
 * Does the same for a QoS 2 message that must not be duplicated. `isCommitted`: the choice of `to` is durable. Otherwise the message is
 * sent after the commit of the open batch.
 */
export function forwardSharedOnce(
  state: ForwardParts,
  to: Peer,
  once: ForwardedShared & Pick<PeerPublish, 'exactlyOnce'> & { readonly isCommitted: boolean },
): CommitBarrier {
  const { message, exactlyOnce, isCommitted } = once
  const send = { ...createGroupPublish(state.peers, once), isAwaited: true, exactlyOnce }
  const barrier = new CommitBarrier()
  sendInTurn(state, to, { message, isCommitted }, () => storeOrRefuse(state, to, send, barrier))
  return barrier
}

function storeOrRefuse(state: PeerSendParts, to: Peer, send: PeerPublish, barrier: CommitBarrier): void {
  const isStored = storeAndSend(state, to, send, barrier)
  barrier.arrive(isStored ? undefined : reasonCodes.quotaExceeded)
}

function createGroupPublish({ shard }: PeerTable, { message, filter, tried }: ForwardedShared): PeerPublish {
  return { ...createPlainPublish(message), hasSubscribers: false, groups: [filter], tried: [...tried, shard.own] }
}
