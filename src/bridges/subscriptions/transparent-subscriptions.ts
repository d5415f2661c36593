// Subscriptions of clients that are made at the remote broker as well (`transparent`), together with those of the rules.
//
//   clients ──addChanges──┬──> tree ──settle──> target: the result ──next──> SUBSCRIBE, UNSUBSCRIBE
//   rules ──────use───────┘
//
// Filters covered by another one are not subscribed, because many brokers send a message once for each matching subscription. So `a/b` is
// removed when `a/#` is added, and `a/#` has the highest QoS of both. Filters that the remote broker refuses cover nothing.
//
// A removed filter is kept for some seconds, because its client may return. New subscriptions are sent at once, and unused ones are removed
// after their acknowledgement, so that no message is missed in between. Nothing is removed before all shards have reported their filters,
// which takes a while after a restart.

import type { FilterChange } from '../../core/index.ts'
import type { QoS, SubscriptionRequest, TopicFilter } from '../../protocol/index.ts'
import { FilterTree } from './filter-tree.ts'
import type { RemoteChanges } from './remote-subscriptions.ts'

/** Maximum filters; further ones wait until one is removed. */
export const maxTransparentFilters = 10_000
/** Changes within this time are sent together. */
const gatherMs = 50
/** A filter without subscribers is kept this long. */
const lingerMs = 5_000
/** Maximum filters in one step, because the tree may be large. */
const maxFiltersPerTurn = 500
/** Maximum filters in a packet. */
const maxFiltersPerPacket = 64
/** Maximum packets without acknowledgement. */
const maxPendingPackets = 4
const firstFailure = 0x80
/** The state is uncertain. */
const uncertain = 'unsure'

/** Known filters of clients. */
export interface ClientFilters {
  readonly changes: readonly FilterChange[]
  /** All shards have reported their filters. */
  readonly isComplete: boolean
  /** Number of filters beyond the maximum of shards. */
  readonly unreported: number
}

export interface TransparentCounts {
  /** Filters of clients that the bridge subscribes to, directly or covered by others. */
  readonly passedOn: number
  /** Filters that exceed the limit, or that the remote broker refused. */
  readonly notPassedOn: number
}

export class TransparentSubscriptions {
  /** Filters of clients and rules. */
  readonly tree = new FilterTree()
  /** Filters of clients, including recently removed ones. */
  readonly #clients = new Map<TopicFilter, QoS>()
  readonly #rules = new Map<TopicFilter, SubscriptionRequest>()
  /** Filters of rules while this is disabled: `RemoteSubscriptions` subscribes to them. */
  #filtersOfSeparateRules: ReadonlySet<TopicFilter> = new Set()
  /** Changes that are not handled yet. */
  readonly #changed = new Map<TopicFilter, QoS | undefined>()
  #isReportComplete = false
  /** All filters were reported and handled. */
  #isComplete = false
  #unreported = 0
  #nowMs = 0
  readonly #waiting = new Map<TopicFilter, QoS>()
  /** Filters without subscribers, with the time since when. */
  readonly #unused = new Map<TopicFilter, number>()
  /** Filters whose target must be determined again. */
  readonly #unsettled = new Set<TopicFilter>()
  readonly #target = new Map<TopicFilter, QoS>()
  readonly #refused = new Set<TopicFilter>()
  /** Subscriptions sent on this connection; undefined: not connected. */
  #sentSubscriptions: Map<TopicFilter, QoS | typeof uncertain> | undefined
  /** Filters whose sent subscription differs from the target. */
  readonly #unsentChanges = new Set<TopicFilter>()
  /** Subscriptions of the session from before this connection: they stay for `lingerMs`, because their clients may return. */
  readonly #fromEarlierSession = new Map<TopicFilter, number>()
  /** By packet identifier. */
  readonly #pendingRequests = new Map<number, RemoteChanges>()
  /** Requests whose connection ended before the response. */
  readonly #uncertain = new Set<TopicFilter>()
  #settlesAtMs = Infinity

  get counts(): TransparentCounts {
    const refused = [...this.#refused].filter((filter) => this.#clients.has(filter)).length
    return { passedOn: this.#clients.size - refused, notPassedOn: refused + this.#waiting.size + this.#unreported }
  }

  /** True if there are more filters than the maximum. */
  get isFull(): boolean {
    return this.#waiting.size > 0 || this.#unreported > 0
  }

  /** When `tick` must be called; Infinity: never. */
  get dueAtMs(): number {
    if (!this.#isComplete) return this.#settlesAtMs
    const [first = Infinity] = this.#unused.values()
    const [fromSession = Infinity] = this.#fromEarlierSession.values()
    return Math.min(this.#settlesAtMs, Math.min(first, fromSession) + lingerMs)
  }

  /** Applies rules. While disabled, filters of clients are ignored, and `RemoteSubscriptions` subscribes to those of rules. */
  applyRules(isOn: boolean, rules: readonly SubscriptionRequest[], nowMs: number): void {
    this.#nowMs = nowMs
    const before = new Map(this.#rules)
    this.#rules.clear()
    for (const rule of rules) if (isOn) this.#rules.set(rule.filter, rule)
    for (const [filter, rule] of this.#rules) if (!isSame(before.get(filter), rule)) this.#resend(filter)
    this.#filtersOfSeparateRules = new Set(isOn ? [] : rules.map(({ filter }) => filter))
    for (const filter of [...before.keys(), ...this.#rules.keys()]) this.#updateFilter(filter)
    if (isOn) return
    this.#isComplete = false
    for (const list of [this.#changed, this.#waiting, this.#unused, this.#fromEarlierSession]) list.clear()
    const known = [...this.#clients.keys()]
    this.#clients.clear()
    for (const filter of known) this.#updateFilter(filter)
  }

  addChanges({ changes, isComplete, unreported }: ClientFilters, nowMs: number): void {
    this.#nowMs = nowMs
    this.#unreported = unreported
    this.#isReportComplete = isComplete
    for (const [filter, qos] of changes) this.#changed.set(filter, qos)
    this.#settleSoon(gatherMs)
  }

  /**
   * The remote broker is connected. `granted`: subscriptions of its session, undefined as a value if uncertain;
   * undefined itself: it has no session.
   */
  connect(granted: ReadonlyMap<TopicFilter, QoS | undefined> | undefined, nowMs: number): void {
    this.#nowMs = nowMs
    const known = [...(granted ?? [])].map(([filter, qos]) => [filter, qos ?? uncertain] as const)
    const sentSubscriptions = (this.#sentSubscriptions = new Map<TopicFilter, QoS | typeof uncertain>(known))
    if (granted !== undefined) for (const filter of this.#uncertain) sentSubscriptions.set(filter, uncertain)
    this.#uncertain.clear()
    for (const filter of this.#refused) this.#markRelated(filter)
    this.#refused.clear()
    for (const filter of this.#target.keys()) this.#unsentChanges.add(filter)
    for (const filter of sentSubscriptions.keys()) {
      this.#unsentChanges.add(filter)
      this.#fromEarlierSession.set(filter, nowMs)
    }
    this.#settleSoon(0)
  }

  /** Called when the other side is disconnected. */
  disconnect(): void {
    for (const { removed, requests } of this.#pendingRequests.values()) {
      for (const filter of removed) this.#uncertain.add(filter)
      for (const { filter } of requests) this.#uncertain.add(filter)
    }
    this.#sentSubscriptions = undefined
    this.#pendingRequests.clear()
    this.#fromEarlierSession.clear()
  }

  tick(nowMs: number): void {
    this.#nowMs = nowMs
    if (this.#isComplete) this.#expireUnused(nowMs - lingerMs)
    if (nowMs >= this.#settlesAtMs) this.#settle()
  }

  /** Returns the next changes, which count as sent. */
  takeNextChanges(version: number): RemoteChanges | undefined {
    const isSettled = this.#changed.size === 0 && this.#unsettled.size === 0
    if (this.#sentSubscriptions === undefined || this.#pendingRequests.size >= maxPendingPackets || !isSettled)
      return undefined
    const requests: SubscriptionRequest[] = []
    const removed: TopicFilter[] = []
    for (const filter of this.#unsentChanges) {
      const qos = this.#target.get(filter)
      if (qos === undefined && this.#filtersOfSeparateRules.has(filter)) this.#sentSubscriptions.delete(filter)
      if (this.#sentSubscriptions.get(filter) === qos) this.#unsentChanges.delete(filter)
      else if (qos !== undefined)
        requests.push({ ...(this.#rules.get(filter) ?? toSubscriptionRequest(filter, version)), qos })
      else if (!this.#fromEarlierSession.has(filter)) removed.push(filter)
      if (requests.length === maxFiltersPerPacket) break
    }
    if (requests.length > 0) return this.#addChanges({ removed: [], requests })
    // A filter to be removed may be covered by a subscription that is not acknowledged yet.
    if (removed.length === 0 || this.#pendingRequests.size > 0) return undefined
    return this.#addChanges({ removed: removed.slice(0, maxFiltersPerPacket), requests: [] })
  }

  /** The changes of `next` have this packet identifier. */
  recordRequest(packetId: number, changes: RemoteChanges): void {
    this.#pendingRequests.set(packetId, changes)
  }

  /** Handles SUBACK or UNSUBACK. Returns false if its refusals are not new. */
  handleRemoteAck({ packetId, reasonCodes }: { packetId: number; reasonCodes: readonly number[] }): boolean {
    const pending = this.#pendingRequests.get(packetId)
    if (pending === undefined) return true
    let isNews = this.#refused.size === 0
    this.#pendingRequests.delete(packetId)
    for (const [index, { filter }] of pending.requests.entries()) {
      if ((reasonCodes[index] ?? firstFailure) < firstFailure) continue
      if (this.#rules.has(filter)) isNews = true
      this.#sentSubscriptions?.delete(filter)
      this.#refused.add(filter)
      this.#markRelated(filter)
    }
    return isNews
  }

  #addChanges(changes: RemoteChanges): RemoteChanges {
    for (const { filter, qos } of changes.requests) this.#sentSubscriptions?.set(filter, qos)
    for (const filter of changes.removed) this.#sentSubscriptions?.delete(filter)
    for (const { filter } of changes.requests) this.#unsentChanges.delete(filter)
    for (const filter of changes.removed) this.#unsentChanges.delete(filter)
    return changes
  }

  #subscribe(filter: TopicFilter, qos: QoS): void {
    this.#unused.delete(filter)
    if (!this.#clients.has(filter) && this.#clients.size >= maxTransparentFilters)
      return void this.#waiting.set(filter, qos)
    this.#waiting.delete(filter)
    this.#clients.set(filter, qos)
    this.#updateFilter(filter)
  }

  #unsubscribe(filter: TopicFilter): void {
    this.#waiting.delete(filter)
    if (this.#clients.has(filter) && !this.#unused.has(filter)) this.#unused.set(filter, this.#nowMs)
  }

  /** Removes filters without subscribers since that time. */
  #expireUnused(sinceMs: number): void {
    for (const [filter, sinceConnectMs] of this.#fromEarlierSession) {
      if (sinceConnectMs > sinceMs) break
      this.#fromEarlierSession.delete(filter)
    }
    for (const [filter, leftAtMs] of this.#unused) {
      if (leftAtMs > sinceMs) break
      this.#unused.delete(filter)
      this.#clients.delete(filter)
      this.#updateFilter(filter)
    }
    for (const [filter, qos] of this.#waiting) {
      if (this.#clients.size >= maxTransparentFilters) break
      this.#subscribe(filter, qos)
    }
  }

  /** The sent options of the filter are not correct any more. */
  #resend(filter: TopicFilter): void {
    if (this.#sentSubscriptions === undefined) this.#uncertain.add(filter)
    else if (this.#sentSubscriptions.has(filter)) this.#sentSubscriptions.set(filter, uncertain)
    this.#unsentChanges.add(filter)
  }

  /** The subscribers or the QoS of the filter may have changed. */
  #updateFilter(filter: TopicFilter): void {
    const [client, rule] = [this.#clients.get(filter), this.#rules.get(filter)?.qos]
    const qos = client === undefined || (rule !== undefined && rule > client) ? rule : client
    if (qos === undefined) this.#refused.delete(filter)
    if (qos === this.tree.get(filter)) return
    this.#fromEarlierSession.delete(filter)
    if (qos === undefined) this.tree.delete(filter)
    else this.tree.set(filter, qos)
    this.#markRelated(filter)
  }

  /** The targets of the filter, and of those that cover it or are covered by it, may have changed. */
  #markRelated(filter: TopicFilter): void {
    this.#mark(filter)
    this.tree.visitCovering(filter, (other) => this.#mark(other))
    this.tree.visitCovered(filter, (other) => this.#mark(other))
  }

  #mark(filter: TopicFilter): void {
    this.#unsettled.add(filter)
    this.#settleSoon(gatherMs)
  }

  #settleSoon(inMs: number): void {
    this.#settlesAtMs = Math.min(this.#settlesAtMs, this.#nowMs + inMs)
  }

  #settle(): void {
    let left = maxFiltersPerTurn
    this.#settlesAtMs = Infinity
    for (const [filter, qos] of this.#changed) {
      if (left-- === 0) return this.#settleSoon(0)
      this.#changed.delete(filter)
      if (qos === undefined) this.#unsubscribe(filter)
      else this.#subscribe(filter, qos)
    }
    if (this.#isReportComplete && !this.#isComplete) this.#complete()
    // Entries marked here are handled in the same pass, as far as time allows.
    this.#settlesAtMs = Infinity
    for (const filter of this.#unsettled) {
      if (left-- <= 0) return this.#settleSoon(0)
      this.#unsettled.delete(filter)
      const qos = this.#computeQoS(filter)
      if (qos === this.#target.get(filter)) continue
      if (qos === undefined) this.#target.delete(filter)
      else this.#target.set(filter, qos)
      this.#unsentChanges.add(filter)
    }
  }

  /** All shards have reported: filters without subscribers are known, and expire after `lingerMs`. */
  #complete(): void {
    this.#isComplete = true
    for (const held of [this.#unused, this.#fromEarlierSession])
      for (const filter of held.keys()) held.set(filter, this.#nowMs)
  }

  /** Returns the QoS to subscribe with; undefined: the filter must not be subscribed to. */
  #computeQoS(filter: TopicFilter): QoS | undefined {
    let highest = this.tree.get(filter)
    if (highest === undefined || this.#refused.has(filter)) return undefined
    let isCovered = false
    this.tree.visitCovering(filter, (other) => {
      if (!this.#refused.has(other)) isCovered = true
    })
    if (isCovered && !this.#hasOtherOptions(filter)) return undefined
    this.tree.visitCovered(filter, (other) => {
      const qos = this.tree.get(other) ?? 0
      if (qos > (highest ?? 0)) highest = qos
    })
    return highest
  }

  /** The rule has options that a covering subscription does not have. */
  #hasOtherOptions(filter: TopicFilter): boolean {
    const rule = this.#rules.get(filter)
    return rule !== undefined && rule.noLocal && (!rule.retainAsPublished || rule.retainHandling === 2)
  }
}

function isSame(one: SubscriptionRequest | undefined, other: SubscriptionRequest): boolean {
  return one?.retainAsPublished === other.retainAsPublished && one.retainHandling === other.retainHandling
}

function toSubscriptionRequest(filter: TopicFilter, version: number): SubscriptionRequest {
  const isVersion5 = version === 5
  // Retained messages are sent for a subscription that is new at the remote broker.
  return { filter, qos: 0, noLocal: isVersion5, retainAsPublished: isVersion5, retainHandling: isVersion5 ? 1 : 0 }
}
