// Computes the subscriptions that a bridge needs at the local and at the remote broker, and the packets that change them.
//
// A *mark* is a subscription of the local session that matches no topic and stores a fact about the bridge:
//
//   remote broker           the broker and client ID to which the messages of the session belong. Without this mark, the remote
//                           broker may have an older session with packet identifiers of other messages, and must delete it first
//   granted subscriptions   see remote-subscriptions.ts

import { createHash } from 'node:crypto'
import { bridgeMarksRoot } from '../../core/index.ts'
import type {
  QoS,
  RetainHandling,
  SubscribePacket,
  SubscriptionRequest,
  TopicFilter,
  UnsubscribePacket,
} from '../../protocol/index.ts'
import { type RemoteChanges, grantedPrefix } from './remote-subscriptions.ts'
import { selectLowerQoS, type PacketLink } from '../../mqtt-client/index.ts'
import { toLocalSubscriptions, type LocalSubscriptionRequest } from '../rules/topic-rules.ts'
import type { SubscriptionRule } from '../rules/bridge-rules.ts'
import type { BridgeSettings } from '../model/bridge-settings.ts'
import type { LocalSessionStatus, LocalSubscription } from '../model/bridge-dependencies.ts'

const connectedPrefix = `${bridgeMarksRoot}joined/`
const idStep = 2_048
const maxSubscribeIds = 31
/** Maximum number of filters in a packet to the local broker. */
const maxLocalFilters = 64
/** A longer name of broker and client ID is stored as a hash: a client ID may be as long as a filter. */
const maxMarkBytes = 1_024

/** Returns the mark of a remote broker. URLs with the same host name are one broker, whatever the port and transport. */
export function createConnectedMark(server: string, clientId: string): TopicFilter {
  const host = /^[^:]+:\/\/(\[[^\]]*\]|[^:/?]*)/.exec(server)?.[1] ?? server
  const name = Buffer.from(`${host} ${clientId}`)
  const id = name.length > maxMarkBytes ? createHash('sha256').update(name).digest() : name
  return `${connectedPrefix}${id.toString('base64url')}` as TopicFilter
}

/** Returns whether a bridge with these settings may resume the session of `before` at that server. */
export function isSameSession(
  settings: BridgeSettings,
  server: string,
  before: Pick<BridgeSettings, 'clientId'>,
): boolean {
  const mark = createConnectedMark(server, before.clientId)
  return settings.servers.some((other) => createConnectedMark(other, settings.clientId) === mark)
}

/** Changes of the subscriptions of the local session. */
export interface LocalChanges {
  /** Subscriptions to add or change, by the minimum QoS at which their messages are forwarded. */
  readonly wanted: ReadonlyMap<QoS, readonly SubscriptionRequest[]>
  readonly unwanted: readonly TopicFilter[]
}

/** The marks that the local session must have. */
export interface Marks {
  /** The mark of the remote broker. */
  readonly remoteBroker: TopicFilter
  /** Subscriptions that the remote broker has granted. */
  readonly granted: readonly TopicFilter[]
}

/** Options of a mark, which never receives a message. */
const markOptions: LocalSubscriptionRequest = { qos: 0, raisesTo: 0 }

/**
 * Compares the subscriptions of the local session with those that the settings need. `marks` undefined: the marks stay as they
 * are. `slots`: the mark that stores the forward slots.
 */
export function planLocalChanges(
  { subscriptions }: Pick<LocalSessionStatus, 'subscriptions'>,
  { forwards, isEnabled, retriesQoS0 }: Pick<BridgeSettings, 'forwards' | 'isEnabled' | 'retriesQoS0'>,
  marks: Marks | undefined,
  slots: TopicFilter | undefined,
): LocalChanges {
  const needed = isEnabled
    ? toLocalSubscriptions(forwards, retriesQoS0)
    : new Map<TopicFilter, LocalSubscriptionRequest>()
  if (slots !== undefined) needed.set(slots, markOptions)
  if (marks !== undefined) needed.set(marks.remoteBroker, markOptions)
  for (const mark of marks?.granted ?? []) needed.set(mark, markOptions)
  const missing = new Map<QoS, SubscriptionRequest[]>()
  for (const [filter, request] of needed) {
    if (isUpToDate(subscriptions.get(filter), request)) continue
    const sameMinimum = missing.get(request.raisesTo) ?? []
    missing.set(request.raisesTo, [...sameMinimum, toSubscriptionRequest(filter, request.qos)])
  }
  const unwanted = [...subscriptions.keys()].filter(
    (filter) => !needed.has(filter) && (marks !== undefined || !isMark(filter)),
  )
  return { wanted: missing, unwanted }
}

export function hasNoChanges({ wanted, unwanted }: LocalChanges): boolean {
  return wanted.size + unwanted.length === 0
}

function isMark(filter: TopicFilter): boolean {
  return filter.startsWith(connectedPrefix) || filter.startsWith(grantedPrefix)
}

function isUpToDate(current: LocalSubscription | undefined, { qos, raisesTo }: LocalSubscriptionRequest): boolean {
  return (
    current !== undefined &&
    current.qos === qos &&
    current.raisesTo === raisesTo &&
    current.noLocal &&
    current.retainAsPublished
  )
}

function toSubscriptionRequest(filter: TopicFilter, qos: QoS): SubscriptionRequest {
  // Retained messages are forwarded once, when the rule is new.
  return { filter, qos, noLocal: true, retainAsPublished: true, retainHandling: 1 }
}

/** Returns the subscriptions for the remote broker. If it has the session of the bridge, it does not send retained messages again. */
export function createRemoteRequests(
  { subscriptions, version, maxQoS }: BridgeSettings,
  hasSession: boolean,
): SubscriptionRequest[] {
  return selectFirstRules(subscriptions).map(({ remoteFilter, qos, retainAsPublished, retainHandling }) => ({
    filter: remoteFilter as TopicFilter,
    qos: selectLowerQoS(qos, maxQoS),
    noLocal: version === 5,
    retainAsPublished: version === 5 && retainAsPublished,
    retainHandling: selectRetainHandling(version === 5 ? retainHandling : 0, hasSession && version === 5),
  }))
}

/** Returns the first rule for each filter: it decides about the messages, so it also decides about the options. */
function selectFirstRules(rules: readonly SubscriptionRule[]): readonly SubscriptionRule[] {
  return rules.filter(({ remoteFilter }, at) => rules.findIndex((rule) => rule.remoteFilter === remoteFilter) === at)
}

function selectRetainHandling(configured: RetainHandling, hasSession: boolean): RetainHandling {
  return hasSession && configured === 0 ? 1 : configured
}

/**
 * Packet identifiers for SUBSCRIBE and UNSUBSCRIBE: the multiples of `idStep`. Forwarded messages never use them (see
 * forwarding.ts).
 */
export class SubscribeIds {
  readonly #isInUse: (packetId: number) => boolean
  #last = 0

  /** `isInUse`: a packet with this identifier is not acknowledged yet. */
  constructor(isInUse: (packetId: number) => boolean = () => false) {
    this.#isInUse = isInUse
  }

  readonly next = (): number => {
    for (let tried = 0; tried < maxSubscribeIds; tried++) {
      this.#last = (this.#last % maxSubscribeIds) + 1
      if (!this.#isInUse(this.#last * idStep)) break
    }
    return this.#last * idStep
  }
}

/** Returns the packet that stores a mark in the local session. */
export function createMarkPacket(mark: TopicFilter, ids: SubscribeIds): SubscribePacket {
  const { qos } = markOptions
  return {
    type: 'subscribe',
    packetId: ids.next(),
    subscriptions: [toSubscriptionRequest(mark, qos)],
    properties: undefined,
  }
}

/**
 * Sends the changes and returns the number of expected acknowledgements. Subscriptions are removed first, so that the session
 * never has two marks of one kind.
 */
export function sendLocal(link: PacketLink, { wanted, unwanted }: LocalChanges, ids: SubscribeIds): number {
  const packets: (SubscribePacket | UnsubscribePacket)[] = createUnsubscribePackets(
    unwanted,
    { maxFilters: maxLocalFilters, properties: undefined },
    ids.next,
  )
  for (const [raisesTo, requests] of wanted) {
    // A subscription identifier of a bridge has a special meaning in the core: see `core/messages/internal-client-options.ts`.
    const properties = raisesTo === 0 ? undefined : { subscriptionIdentifier: raisesTo }
    packets.push(...createSubscribePackets(requests, { maxFilters: maxLocalFilters, properties }, ids.next))
  }
  for (const packet of packets) link.send(packet)
  return packets.length
}

/** Returns the packets for the remote broker. */
export function createRemotePackets(
  settings: BridgeSettings,
  { removed, requests }: RemoteChanges,
  ids: SubscribeIds,
): (SubscribePacket | UnsubscribePacket)[] {
  const { version, subscriptionIdentifier, subscribeUserProperties, unsubscribeUserProperties } = settings
  const maxFilters = settings.maxFiltersPerPacket
  const properties = {
    ...(subscriptionIdentifier === undefined ? {} : { subscriptionIdentifier }),
    ...(subscribeUserProperties.length === 0 ? {} : { userProperties: subscribeUserProperties }),
  }
  const hasProperties = version === 5 && Object.keys(properties).length > 0
  const hasUnsubscribeProperties = version === 5 && unsubscribeUserProperties.length > 0
  const unsubscribeProperties = hasUnsubscribeProperties ? { userProperties: unsubscribeUserProperties } : undefined
  return [
    ...createUnsubscribePackets(removed, { maxFilters, properties: unsubscribeProperties }, ids.next),
    ...createSubscribePackets(requests, { maxFilters, properties: hasProperties ? properties : undefined }, ids.next),
  ]
}

/** Returns removed rules, and new or changed ones. */
export function planRemoteChanges(before: BridgeSettings, after: BridgeSettings): RemoteChanges {
  const old = indexRulesByFilter(before)
  const current = indexRulesByFilter(after)
  const removed = [...old.keys()].filter((filter) => !current.has(filter))
  const requests = createRemoteRequests(after, false).filter(({ filter }) => old.get(filter) !== current.get(filter))
  return { removed, requests }
}

function indexRulesByFilter({ subscriptions }: BridgeSettings): Map<TopicFilter, string> {
  return new Map(
    selectFirstRules(subscriptions).map((rule) => [rule.remoteFilter as TopicFilter, JSON.stringify(rule)]),
  )
}

function createSubscribePackets(
  requests: readonly SubscriptionRequest[],
  { maxFilters, properties }: { readonly maxFilters: number; readonly properties: SubscribePacket['properties'] },
  nextId: () => number,
): SubscribePacket[] {
  return splitIntoChunks(requests, maxFilters).map((subscriptions) => ({
    type: 'subscribe',
    packetId: nextId(),
    subscriptions,
    properties,
  }))
}

function createUnsubscribePackets(
  filters: readonly TopicFilter[],
  { maxFilters, properties }: { readonly maxFilters: number; readonly properties: UnsubscribePacket['properties'] },
  nextId: () => number,
): UnsubscribePacket[] {
  return splitIntoChunks(filters, maxFilters).map((chunk) => ({
    type: 'unsubscribe',
    packetId: nextId(),
    filters: chunk,
    properties,
  }))
}

function splitIntoChunks<T>(list: readonly T[], maxLength: number): T[][] {
  const chunks: T[][] = []
  for (let start = 0; start < list.length; start += maxLength) chunks.push(list.slice(start, start + maxLength))
  return chunks
}
