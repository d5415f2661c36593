// Computes the required subscriptions on both sides, and the packets for changes.
//
// The local session also stores which remote broker it is connected with, as a subscription that matches no topic.
// While that mark exists, both sessions refer to the same messages. Without it, the remote broker may have an older
// session with packet identifiers of other messages: then it must delete that first. Another mark contains the granted
// subscriptions: see `remote-subscriptions.ts`.

import { createHash } from 'node:crypto'
import { bridgeMarksRoot } from '../core/index.ts'
import type {
  QoS,
  RetainHandling,
  SubscribePacket,
  SubscriptionRequest,
  TopicFilter,
  UnsubscribePacket,
} from '../protocol/index.ts'
import { type RemoteChanges, grantedPrefix } from './remote-subscriptions.ts'
import { lowerQoS } from './connect-packets.ts'
import type { PacketLink } from './packet-link.ts'
import { localSubscriptions, type LocalSubscriptionRequest } from './topic-rules.ts'
import type { SubscriptionRule } from './rules.ts'
import type { BridgeSettings } from './settings.ts'
import type { LocalSessionStatus, LocalSubscription } from './bridge-dependencies.ts'

const connectedPrefix = `${bridgeMarksRoot}joined/`
const idStep = 2_048
const countOfIds = 31
/** Maximum filters in a packet to the own broker. */
const maxLocalFilters = 64
/** Maximum length of readable text in a mark: a client ID may be as long as a filter. */
const maxMarkBytes = 1_024

/** URLs with the same host are one broker: QUIC and TCP lead to the same one. */
export function connectedMark(server: string, clientId: string): TopicFilter {
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/?]*)/.exec(server)?.[1] ?? server
  const both = Buffer.from(`${host} ${clientId}`)
  const short = both.length > maxMarkBytes ? createHash('sha256').update(both).digest() : both
  return `${connectedPrefix}${short.toString('base64url')}` as TopicFilter
}

/** Returns whether a bridge with these settings may resume the session of `before` at that server. */
export function isSameSession(
  settings: BridgeSettings,
  server: string,
  before: Pick<BridgeSettings, 'clientId'>,
): boolean {
  const mark = connectedMark(server, before.clientId)
  return settings.servers.some((other) => connectedMark(other, settings.clientId) === mark)
}

/** Changes for the own broker. Subscriptions by the QoS to which they raise messages. */
export interface Changes {
  readonly wanted: ReadonlyMap<QoS, readonly SubscriptionRequest[]>
  readonly unwanted: readonly TopicFilter[]
}

/** The required marks; undefined: unchanged. */
export interface Marks {
  readonly joined: TopicFilter
  /** Subscriptions that the remote broker has granted. */
  readonly granted: readonly TopicFilter[]
}

const noMark: LocalSubscriptionRequest = { qos: 0, raisesTo: 0 }

export function localChanges(
  { subscriptions }: Pick<LocalSessionStatus, 'subscriptions'>,
  { forwards, isEnabled, retriesQoS0 }: Pick<BridgeSettings, 'forwards' | 'isEnabled' | 'retriesQoS0'>,
  marks: Marks | undefined,
  slots: TopicFilter | undefined,
): Changes {
  const wanted = isEnabled
    ? localSubscriptions(forwards, retriesQoS0)
    : new Map<TopicFilter, LocalSubscriptionRequest>()
  if (slots !== undefined) wanted.set(slots, noMark)
  if (marks !== undefined) wanted.set(marks.joined, noMark)
  for (const mark of marks?.granted ?? []) wanted.set(mark, noMark)
  const missing = new Map<QoS, SubscriptionRequest[]>()
  for (const [filter, how] of wanted) {
    if (isUpToDate(subscriptions.get(filter), how)) continue
    missing.set(how.raisesTo, [...(missing.get(how.raisesTo) ?? []), requestOf(filter, how.qos)])
  }
  const unwanted = [...subscriptions.keys()].filter(
    (filter) => !wanted.has(filter) && (marks !== undefined || !isMark(filter)),
  )
  return { wanted: missing, unwanted }
}

export function areNone({ wanted, unwanted }: Changes): boolean {
  return wanted.size + unwanted.length === 0
}

function isMark(filter: TopicFilter): boolean {
  return filter.startsWith(connectedPrefix) || filter.startsWith(grantedPrefix)
}

function isUpToDate(there: LocalSubscription | undefined, { qos, raisesTo }: LocalSubscriptionRequest): boolean {
  return (
    there !== undefined && there.qos === qos && there.raisesTo === raisesTo && there.noLocal && there.retainAsPublished
  )
}

function requestOf(filter: TopicFilter, qos: QoS): SubscriptionRequest {
  // Retained messages are forwarded once, when the rule is new.
  return { filter, qos, noLocal: true, retainAsPublished: true, retainHandling: 1 }
}

/** `isKnown`: the remote broker has the bridge's session, so retained messages are not sent again. */
export function remoteRequests(
  { subscriptions, version, mostQoS }: BridgeSettings,
  isKnown: boolean,
): SubscriptionRequest[] {
  return firstOfEach(subscriptions).map(({ remoteFilter, qos, retainAsPublished, retainHandling }) => ({
    filter: remoteFilter as TopicFilter,
    qos: lowerQoS(qos, mostQoS),
    noLocal: version === 5,
    retainAsPublished: version === 5 && retainAsPublished,
    retainHandling: handlingOf(version === 5 ? retainHandling : 0, isKnown && version === 5),
  }))
}

/**
 * The first of several rules for one filter determines what happens to a message, so it also determines its options.
 */
function firstOfEach(rules: readonly SubscriptionRule[]): readonly SubscriptionRule[] {
  return rules.filter(({ remoteFilter }, at) => rules.findIndex((rule) => rule.remoteFilter === remoteFilter) === at)
}

function handlingOf(asked: RetainHandling, isKnown: boolean): RetainHandling {
  return isKnown && asked === 0 ? 1 : asked
}

/** Packet identifiers for SUBSCRIBE and UNSUBSCRIBE, which no message of the bridge uses. */
export class SubscribeIds {
  readonly #isTaken: (packetId: number) => boolean
  #last = 0

  /** `isTaken`: the identifier waits for its acknowledgement. */
  constructor(isTaken: (packetId: number) => boolean = () => false) {
    this.#isTaken = isTaken
  }

  readonly next = (): number => {
    for (let tried = 0; tried < countOfIds; tried++) {
      this.#last = (this.#last % countOfIds) + 1
      if (!this.#isTaken(this.#last * idStep)) break
    }
    return this.#last * idStep
  }
}

/** Returns the packet that stores a mark in the local session. */
export function storeMark(mark: TopicFilter, ids: SubscribeIds): SubscribePacket {
  const { qos } = noMark
  return { type: 'subscribe', packetId: ids.next(), subscriptions: [requestOf(mark, qos)], properties: undefined }
}

/**
 * Returns the number of expected acknowledgements. Subscriptions are removed first: of two marks one would be wrong.
 */
export function sendLocal(link: PacketLink, { wanted, unwanted }: Changes, ids: SubscribeIds): number {
  const packets: (SubscribePacket | UnsubscribePacket)[] = unsubscribePackets(
    unwanted,
    { most: maxLocalFilters, properties: undefined },
    ids.next,
  )
  for (const [raisesTo, requests] of wanted) {
    // For the meaning of the identifier in the own core see `model/bridge-client-id.ts`.
    const properties = raisesTo === 0 ? undefined : { subscriptionIdentifier: raisesTo }
    packets.push(...subscribePackets(requests, { most: maxLocalFilters, properties }, ids.next))
  }
  for (const packet of packets) link.send(packet)
  return packets.length
}

/** Returns the packets for the remote broker. */
export function remotePackets(
  settings: BridgeSettings,
  { gone, requests }: RemoteChanges,
  ids: SubscribeIds,
): (SubscribePacket | UnsubscribePacket)[] {
  const { version, subscriptionIdentifier, subscribeUserProperties, unsubscribeUserProperties } = settings
  const most = settings.filtersAtOnce
  const properties = {
    ...(subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier }),
    ...(subscribeUserProperties.length === 0 ? {} : { userProperties: subscribeUserProperties }),
  }
  const hasProperties = version === 5 && Object.keys(properties).length > 0
  const saysHowItGoes = version === 5 && unsubscribeUserProperties.length > 0
  const farewell = saysHowItGoes ? { userProperties: unsubscribeUserProperties } : undefined
  return [
    ...unsubscribePackets(gone, { most, properties: farewell }, ids.next),
    ...subscribePackets(requests, { most, properties: hasProperties ? properties : undefined }, ids.next),
  ]
}

/** Returns removed rules, and new or changed ones. */
export function remoteChanges(before: BridgeSettings, after: BridgeSettings): RemoteChanges {
  const old = byFilter(before)
  const present = byFilter(after)
  const gone = [...old.keys()].filter((filter) => !present.has(filter))
  const requests = remoteRequests(after, false).filter(({ filter }) => old.get(filter) !== present.get(filter))
  return { gone, requests }
}

function byFilter({ subscriptions }: BridgeSettings): Map<TopicFilter, string> {
  return new Map(firstOfEach(subscriptions).map((rule) => [rule.remoteFilter as TopicFilter, JSON.stringify(rule)]))
}

function subscribePackets(
  requests: readonly SubscriptionRequest[],
  { most, properties }: { readonly most: number; readonly properties: SubscribePacket['properties'] },
  nextId: () => number,
): SubscribePacket[] {
  return splitIntoChunks(requests, most).map((subscriptions) => ({
    type: 'subscribe',
    packetId: nextId(),
    subscriptions,
    properties,
  }))
}

function unsubscribePackets(
  filters: readonly TopicFilter[],
  { most, properties }: { readonly most: number; readonly properties: UnsubscribePacket['properties'] },
  nextId: () => number,
): UnsubscribePacket[] {
  return splitIntoChunks(filters, most).map((piece) => ({
    type: 'unsubscribe',
    packetId: nextId(),
    filters: piece,
    properties,
  }))
}

function splitIntoChunks<T>(list: readonly T[], most: number): T[][] {
  const pieces: T[][] = []
  for (let start = 0; start < list.length; start += most) pieces.push(list.slice(start, start + most))
  return pieces
}
