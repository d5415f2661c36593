// What the bridge is subscribed to on either side, and what has to be said so that it is right.
//
// Here the session also keeps, as a subscription that nothing ever matches, with which remote broker it is joined. While
// that mark is there the two hold the two ends of the same messages. Where it is not, the remote broker may know the bridge
// from other times, with packet ids that mean something else: then it is told to forget them first.

import type {
  QoS,
  RetainHandling,
  SubscribePacket,
  SubscriptionRequest,
  TopicFilter,
  UnsubscribePacket,
} from '../protocol/index.ts'
import type { PacketLink } from './packet-link.ts'
import { wantedHere } from './rule-book.ts'
import type { BridgeSettings } from './settings.ts'
import type { LocalStanding, LocalSubscription } from './world.ts'

const markPrefix = '$bridge/joined/'
const idStep = 2_048
const countOfIds = 31
/** Of a packet, so that it stays small. */
const mostFilters = 16

/** Two URLs of one host are one broker: over QUIC it is the same as over TCP. */
export function joinedMark(server: string, clientId: string): TopicFilter {
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/?]*)/.exec(server)?.[1] ?? server
  return `${markPrefix}${Buffer.from(`${host} ${clientId}`).toString('base64url')}` as TopicFilter
}

interface Changes {
  readonly wanted: readonly SubscriptionRequest[]
  readonly unwanted: readonly TopicFilter[]
}

/** `mark`: the one that is to be there; undefined: those that are stay. */
export function changesHere(
  { subscriptions }: LocalStanding,
  { forwards, isEnabled }: Pick<BridgeSettings, 'forwards' | 'isEnabled'>,
  mark: TopicFilter | undefined,
): Changes {
  const wanted = isEnabled ? wantedHere(forwards) : new Map<TopicFilter, QoS>()
  if (mark !== undefined) wanted.set(mark, 0)
  const missing = [...wanted].filter(([filter, qos]) => !isRight(subscriptions.get(filter), qos))
  const unwanted = [...subscriptions.keys()].filter(
    (filter) => !wanted.has(filter) && (mark !== undefined || !filter.startsWith(markPrefix)),
  )
  return { wanted: missing.map(([filter, qos]) => requestOf(filter, qos)), unwanted }
}

function isRight(there: LocalSubscription | undefined, qos: QoS): boolean {
  return there !== undefined && there.qos === qos && there.noLocal && there.retainAsPublished
}

function requestOf(filter: TopicFilter, qos: QoS): SubscriptionRequest {
  // What topics remember goes over once, when the rule is new.
  return { filter, qos, noLocal: true, retainAsPublished: true, retainHandling: 1 }
}

/** `isKnown`: the remote broker has the session of the bridge still; what it remembers of topics does not come again. */
export function requestsThere({ subscriptions, version }: BridgeSettings, isKnown: boolean): SubscriptionRequest[] {
  return subscriptions.map(({ remoteFilter, qos, retainAsPublished, retainHandling }) => ({
    filter: remoteFilter as TopicFilter,
    qos,
    noLocal: version === 5,
    retainAsPublished: version === 5 && retainAsPublished,
    retainHandling: handlingOf(version === 5 ? retainHandling : 0, isKnown && version === 5),
  }))
}

function handlingOf(asked: RetainHandling, isKnown: boolean): RetainHandling {
  return isKnown && asked === 0 ? 1 : asked
}

/** Packet ids of SUBSCRIBE and UNSUBSCRIBE: those that no message of the bridge has. */
export class SubscribeIds {
  #last = 0

  readonly next = (): number => {
    this.#last = (this.#last % countOfIds) + 1
    return this.#last * idStep
  }
}

/** Gives the number of answers. What is unwanted goes first: of two marks one would be wrong. */
export function sayHere(link: PacketLink, { wanted, unwanted }: Changes, ids: SubscribeIds): number {
  const packets = [...unsubscribePackets(unwanted, ids.next), ...subscribePackets(wanted, undefined, ids.next)]
  for (const packet of packets) link.send(packet)
  return packets.length
}

export function subscribeThere(
  link: PacketLink,
  { version, subscriptionIdentifier, subscribeUserProperties }: BridgeSettings,
  what: { requests: readonly SubscriptionRequest[]; ids: SubscribeIds },
): void {
  const properties = {
    ...(subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier }),
    ...(subscribeUserProperties.length === 0 ? {} : { userProperties: subscribeUserProperties }),
  }
  const isSaid = version === 5 && Object.keys(properties).length > 0
  for (const packet of subscribePackets(what.requests, isSaid ? properties : undefined, what.ids.next))
    link.send(packet)
}

/** Rules that are gone, and those that are new or other than they were. */
export function changeThere(link: PacketLink, before: BridgeSettings, after: BridgeSettings, ids: SubscribeIds): void {
  const old = byFilter(before)
  const present = byFilter(after)
  const gone = [...old.keys()].filter((filter) => !present.has(filter))
  for (const packet of unsubscribePackets(gone, ids.next)) link.send(packet)
  const requests = requestsThere(after, false).filter(({ filter }) => old.get(filter) !== present.get(filter))
  subscribeThere(link, after, { requests, ids })
}

function byFilter({ subscriptions }: BridgeSettings): Map<TopicFilter, string> {
  return new Map(subscriptions.map((rule) => [rule.remoteFilter as TopicFilter, JSON.stringify(rule)]))
}

function subscribePackets(
  requests: readonly SubscriptionRequest[],
  properties: SubscribePacket['properties'],
  nextId: () => number,
): SubscribePacket[] {
  return inPieces(requests).map((subscriptions) => ({
    type: 'subscribe',
    packetId: nextId(),
    subscriptions,
    properties,
  }))
}

function unsubscribePackets(filters: readonly TopicFilter[], nextId: () => number): UnsubscribePacket[] {
  return inPieces(filters).map((piece) => ({
    type: 'unsubscribe',
    packetId: nextId(),
    filters: piece,
    properties: undefined,
  }))
}

function inPieces<T>(list: readonly T[]): T[][] {
  const pieces: T[][] = []
  for (let start = 0; start < list.length; start += mostFilters) pieces.push(list.slice(start, start + mostFilters))
  return pieces
}
