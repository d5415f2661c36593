// What the bridge is subscribed to on either side, and what has to be said so that it is right.
//
// Here the session also keeps, as a subscription that nothing ever matches, with which remote broker it is joined. While
// that mark is there the two hold the two ends of the same messages. Where it is not, the remote broker may know the bridge
// from other times, with packet ids that mean something else: then it is told to forget them first. Another mark of this
// kind says what the remote broker has granted: see `remote-subscriptions.ts`.

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
import { localSubscriptions, type LocalSubscriptionRequest } from './rule-book.ts'
import type { SubscriptionRule } from './rules.ts'
import type { BridgeSettings } from './settings.ts'
import type { LocalSessionStatus, LocalSubscription } from './world.ts'

const connectedPrefix = `${bridgeMarksRoot}joined/`
const idStep = 2_048
const countOfIds = 31
/** Of a packet to our own broker. */
const maxLocalFilters = 64
/** Of what stands in a mark as it is: a client id may be as long as a filter. */
const maxMarkBytes = 1_024

/** Two URLs of one host are one broker: over QUIC it is the same as over TCP. */
export function connectedMark(server: string, clientId: string): TopicFilter {
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/?]*)/.exec(server)?.[1] ?? server
  const both = Buffer.from(`${host} ${clientId}`)
  const short = both.length > maxMarkBytes ? createHash('sha256').update(both).digest() : both
  return `${connectedPrefix}${short.toString('base64url')}` as TopicFilter
}

/** Whether a bridge of these settings may come back to the session that one of `before` has with that server. */
export function isSameSession(
  settings: BridgeSettings,
  server: string,
  before: Pick<BridgeSettings, 'clientId'>,
): boolean {
  const mark = connectedMark(server, before.clientId)
  return settings.servers.some((other) => connectedMark(other, settings.clientId) === mark)
}

/** What is to be said to our own broker. Subscriptions by the QoS to which they raise messages. */
export interface Changes {
  readonly wanted: ReadonlyMap<QoS, readonly SubscriptionRequest[]>
  readonly unwanted: readonly TopicFilter[]
}

/** The marks that are to be there, and no others; undefined: those that are stay. */
export interface Marks {
  readonly joined: TopicFilter
  /** What the remote broker has granted. */
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
  // What topics remember goes over once, when the rule is new.
  return { filter, qos, noLocal: true, retainAsPublished: true, retainHandling: 1 }
}

/** `isKnown`: the remote broker has the session of the bridge still; what it remembers of topics does not come again. */
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

/** Of rules for one filter the first says what becomes of a message, so it also says how it comes. */
function firstOfEach(rules: readonly SubscriptionRule[]): readonly SubscriptionRule[] {
  return rules.filter(({ remoteFilter }, at) => rules.findIndex((rule) => rule.remoteFilter === remoteFilter) === at)
}

function handlingOf(asked: RetainHandling, isKnown: boolean): RetainHandling {
  return isKnown && asked === 0 ? 1 : asked
}

/** Packet ids of SUBSCRIBE and UNSUBSCRIBE: those that no message of the bridge has. */
export class SubscribeIds {
  readonly #isTaken: (packetId: number) => boolean
  #last = 0

  /** `isTaken`: it waits for its answer. */
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

/** The packet that keeps a mark with the session here. */
export function storeMark(mark: TopicFilter, ids: SubscribeIds): SubscribePacket {
  const { qos } = noMark
  return { type: 'subscribe', packetId: ids.next(), subscriptions: [requestOf(mark, qos)], properties: undefined }
}

/** Gives the number of answers. What is unwanted goes first: of two marks one would be wrong. */
export function sendLocal(link: PacketLink, { wanted, unwanted }: Changes, ids: SubscribeIds): number {
  const packets: (SubscribePacket | UnsubscribePacket)[] = unsubscribePackets(
    unwanted,
    { most: maxLocalFilters, properties: undefined },
    ids.next,
  )
  for (const [raisesTo, requests] of wanted) {
    // What the identifier says to our own core: see `model/bridge-client-id.ts`.
    const properties = raisesTo === 0 ? undefined : { subscriptionIdentifier: raisesTo }
    packets.push(...subscribePackets(requests, { most: maxLocalFilters, properties }, ids.next))
  }
  for (const packet of packets) link.send(packet)
  return packets.length
}

/** The packets that say so, for the remote broker. */
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
  const isSaid = version === 5 && Object.keys(properties).length > 0
  const saysHowItGoes = version === 5 && unsubscribeUserProperties.length > 0
  const farewell = saysHowItGoes ? { userProperties: unsubscribeUserProperties } : undefined
  return [
    ...unsubscribePackets(gone, { most, properties: farewell }, ids.next),
    ...subscribePackets(requests, { most, properties: isSaid ? properties : undefined }, ids.next),
  ]
}

/** Rules that are gone, and those that are new or other than they were. */
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
