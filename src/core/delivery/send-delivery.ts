// Sends a message to one peer: at once, behind messages that wait for it, or after the commit of the open batch.

import type { UniqueIds } from '../state/unique-ids.ts'
import type { ForwardParts, Parts, PeerSendParts } from '../state/parts.ts'
import type { Message } from '../messages/message.ts'
import type { PeerPublish } from '../model/peer-messages.ts'
import { ensurePeerName, recordForwarded } from '../peers/qos2-forwarding.ts'
import { storeAndSend, sendInTurn, sendNumbered } from '../peers/send-to-peer.ts'
import type { ForwardOrigin, PeerDelivery } from './peer-deliveries.ts'

/** Sends the message at once, or after those that wait in the outbox of the peer. */
export function sendDelivery(
  state: PeerSendParts & Parts<'peers'>,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isToBeRetained, isStored } = delivery
  const send = toPeerPublish(state.ids, message, delivery, origin)
  // A retained message is stored in the outbox while the owner of its topic is restarting, even at QoS 0.
  if (isStored || (isToBeRetained && peer.link === undefined)) {
    const barrier = isStored ? state.peers.openBarrier() : undefined
    storeAndSend(state, peer, send, barrier)
  } else if (peer.link !== undefined) sendNumbered(state.outputs, peer, peer.link, send)
}

/** Sends a message whose record is in the open batch. */
export function sendAfterCommit(
  state: ForwardParts,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  delivery.isCommitted = false
  sendAssigned(state, message, { delivery, origin })
}

/** Sends the message to peers for members of shared subscriptions. */
export function sendAssigned(
  state: ForwardParts,
  message: Message,
  { delivery, origin }: { delivery: PeerDelivery; origin: ForwardOrigin },
): void {
  const { peer, isCommitted } = delivery
  if (isCommitted && peer.uncommitted.length === 0) return sendDelivery(state, message, { delivery, origin })
  const barrier = delivery.isStored ? state.peers.openBarrier() : undefined
  const send = toPeerPublish(state.ids, message, delivery, origin)
  barrier?.expect()
  sendInTurn(state, peer, { message, isCommitted }, () => {
    if (barrier !== undefined) storeAndSend(state, peer, send, barrier)
    else if (peer.link !== undefined) sendNumbered(state.outputs, peer, peer.link, send)
    barrier?.arrive()
  })
}

function toPeerPublish(ids: UniqueIds, message: Message, delivery: PeerDelivery, origin: ForwardOrigin): PeerPublish {
  const { isForSubscribers: hasSubscribers, isToBeRetained: isRetained, groups, isStored } = delivery
  const exactlyOnce = createDeduplicationKey(ids, delivery, origin)
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
function createDeduplicationKey(
  ids: UniqueIds,
  { peer, isStored }: PeerDelivery,
  origin: ForwardOrigin,
): PeerPublish['exactlyOnce'] {
  const { publisher, packetId, onceKey } = origin
  if (onceKey !== undefined) return isStored ? onceKey : undefined
  if (publisher === undefined || packetId === 0 || (!isStored && publisher.stored === undefined)) return undefined
  recordForwarded(publisher, packetId, peer)
  return { publisher: ensurePeerName(ids, publisher), packetId }
}
