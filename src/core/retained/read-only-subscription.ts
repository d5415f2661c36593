// A subscription that reads the retained messages of a filter and ends at once, for gateways whose protocol can read a topic. It changes no other
// subscription of the session: MQTT has one for each filter, so an existing one remains, and sends its retained messages again.
//
// The gateway marks SUBSCRIBE and UNSUBSCRIBE. Devices cannot: their protocols have no user properties in these packets.

import type { SubscribePacket, TopicFilter, UnsubscribePacket } from '../../protocol/index.ts'
import type { Connection } from '../model/connection.ts'
import type { Session } from '../state/sessions/session.ts'
import type { SubscriptionOptions } from '../topics/index.ts'

/** The largest identifier [MQTT5-3.8.2.1.2]. Gateways count theirs from 1. */
const readOnlyIdentifier = 268_435_455
const mark = ['read-only', ''] as const

export const readOnlySubscription: NonNullable<SubscribePacket['properties']> = {
  subscriptionIdentifier: readOnlyIdentifier,
  userProperties: [mark],
}

/** Ends the subscription, unless it is one that existed before, or that was made since. */
export const readOnlyEnd: NonNullable<UnsubscribePacket['properties']> = { userProperties: [mark] }

/** Returns the options of the subscription that this SUBSCRIBE does not replace; undefined: it is an ordinary one. */
export function findKeptSubscription(
  { listener }: Connection,
  { properties }: SubscribePacket,
  { subscriptions }: Session,
  filter: TopicFilter,
): SubscriptionOptions | undefined {
  if (listener.gateway === undefined || properties?.subscriptionIdentifier !== readOnlyIdentifier) return undefined
  const kept = subscriptions?.get(filter)
  return kept === undefined ? undefined : { ...kept, retainHandling: 0 }
}

/** Returns whether this UNSUBSCRIBE leaves the subscription. */
export function isUnsubscribeIgnored(
  { listener }: Connection,
  { properties }: UnsubscribePacket,
  { subscriptions }: Session,
  filter: TopicFilter,
): boolean {
  if (listener.gateway === undefined || properties?.userProperties?.[0]?.[0] !== mark[0]) return false
  return subscriptions?.get(filter)?.identifier !== readOnlyIdentifier
}
