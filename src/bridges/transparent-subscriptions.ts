// Subscriptions of clients here that are made at the remote broker as well (`transparent`), together with those of the rules.
//
//   clients ──take──┬──> wanted, as a tree ──settle──> target: what it comes to ──next──> SUBSCRIBE, UNSUBSCRIBE
//   rules ────use───┘
//
// What lies within another filter is not asked for beside it, as many brokers send a message once for each subscription that
// matches; so `a/b` goes when `a/#` is there, and `a/#` is asked for with the highest QoS of both. Filters that the remote
// broker refuses cover nothing.
//
// Whoever gives a filter up may be back in a moment: it is kept for some seconds. What is asked for goes at once, what is not
// wanted any more when that has been answered, so that nothing is missed between the two. And nothing is given up
// before all shards have said what their clients want: after a restart that takes a while.

import type { FilterChange } from '../core/index.ts'
import type { QoS, SubscriptionRequest, TopicFilter } from '../protocol/index.ts'
import { FilterTree } from './filter-tree.ts'
import type { RemoteChanges } from './remote-subscriptions.ts'

/** Filters that are passed on at most; the others wait for one of them to go. */
export const maxTransparentFilters = 10_000
/** What comes together within this is said together. */
const gatherMs = 50
/** A filter that nobody wants any more is kept for so long. */
const lingerMs = 5_000
/** Of one go: the tree may be large. */
const maxFiltersPerTurn = 500
/** Filters in a packet. */
const maxFiltersPerPacket = 64
/** Packets that wait for their answer. */
const maxPendingPackets = 4
const firstFailure = 0x80
/** It may be there or not. */
const uncertain = 'unsure'

/** What clients want, as far as is known. */
export interface ClientFilters {
  readonly changes: readonly FilterChange[]
  /** All shards have said what they want. */
  readonly isComplete: boolean
  /** Filters beyond what shards tell of. */
  readonly untold: number
}

export interface TransparentCounts {
  /** Filters of clients that the bridge asks for, or that lie within those. */
  readonly passedOn: number
  /** For which there was no room, or that the remote broker refused. */
  readonly notPassedOn: number
}

export class TransparentSubscriptions {
  /** What clients and rules want. */
  readonly tree = new FilterTree()
  /** What clients want, those included who have just given it up. */
  readonly #clients = new Map<TopicFilter, QoS>()
  readonly #rules = new Map<TopicFilter, SubscriptionRequest>()
  /** Filters of rules while this is off: somebody else asks for them. */
  #others: ReadonlySet<TopicFilter> = new Set()
  /** What has changed of it and is still to be looked at. */
  readonly #changed = new Map<TopicFilter, QoS | undefined>()
  #isAllThere = false
  /** And all of it has been looked at. */
  #isComplete = false
  #untold = 0
  #nowMs = 0
  readonly #waiting = new Map<TopicFilter, QoS>()
  /** Nobody wants it any more since then. */
  readonly #leaving = new Map<TopicFilter, number>()
  readonly #dirty = new Set<TopicFilter>()
  readonly #target = new Map<TopicFilter, QoS>()
  readonly #refused = new Set<TopicFilter>()
  /** In this connection: what the remote broker has been asked for. Undefined: it is not there. */
  #said: Map<TopicFilter, QoS | typeof uncertain> | undefined
  readonly #unsaid = new Set<TopicFilter>()
  /** Granted before this connection, and since then not given up: who wanted it may be on his way back. */
  readonly #spared = new Map<TopicFilter, number>()
  /** By packet id. */
  readonly #asked = new Map<number, RemoteChanges>()
  /** Asked for, or given up, in a connection that ended before the answer. */
  readonly #uncertain = new Set<TopicFilter>()
  #settlesAtMs = Infinity

  get counts(): TransparentCounts {
    const refused = [...this.#refused].filter((filter) => this.#clients.has(filter)).length
    return { passedOn: this.#clients.size - refused, notPassedOn: refused + this.#waiting.size + this.#untold }
  }

  /** There are more filters than are passed on. */
  get isFull(): boolean {
    return this.#waiting.size > 0 || this.#untold > 0
  }

  /** When `tick` is to be called; Infinity: not. */
  get dueAtMs(): number {
    if (!this.#isComplete) return this.#settlesAtMs
    const [first = Infinity] = this.#leaving.values()
    const [spared = Infinity] = this.#spared.values()
    return Math.min(this.#settlesAtMs, Math.min(first, spared) + lingerMs)
  }

  /** Rules, as they are from now on. While it is off clients want nothing, and nobody asks here for what rules want. */
  use(isOn: boolean, rules: readonly SubscriptionRequest[], nowMs: number): void {
    this.#nowMs = nowMs
    const before = new Map(this.#rules)
    this.#rules.clear()
    for (const rule of rules) if (isOn) this.#rules.set(rule.filter, rule)
    for (const [filter, rule] of this.#rules) if (!isSame(before.get(filter), rule)) this.#resend(filter)
    this.#others = new Set(isOn ? [] : rules.map(({ filter }) => filter))
    for (const filter of [...before.keys(), ...this.#rules.keys()]) this.#updateFilter(filter)
    if (isOn) return
    this.#isComplete = false
    for (const list of [this.#changed, this.#waiting, this.#leaving, this.#spared]) list.clear()
    const known = [...this.#clients.keys()]
    this.#clients.clear()
    for (const filter of known) this.#updateFilter(filter)
  }

  addChanges({ changes, isComplete, untold }: ClientFilters, nowMs: number): void {
    this.#nowMs = nowMs
    this.#untold = untold
    this.#isAllThere = isComplete
    for (const [filter, qos] of changes) this.#changed.set(filter, qos)
    this.#settleSoon(gatherMs)
  }

  /**
   * The remote broker is there. `granted`: what it has granted in an earlier connection of its session, undefined where it may
   * be there or not; undefined itself: it has no session.
   */
  connect(granted: ReadonlyMap<TopicFilter, QoS | undefined> | undefined, nowMs: number): void {
    this.#nowMs = nowMs
    const known = [...(granted ?? [])].map(([filter, qos]) => [filter, qos ?? uncertain] as const)
    const said = (this.#said = new Map<TopicFilter, QoS | typeof uncertain>(known))
    if (granted !== undefined) for (const filter of this.#uncertain) said.set(filter, uncertain)
    this.#uncertain.clear()
    for (const filter of this.#refused) this.#markRelated(filter)
    this.#refused.clear()
    for (const filter of this.#target.keys()) this.#unsaid.add(filter)
    for (const filter of said.keys()) {
      this.#unsaid.add(filter)
      this.#spared.set(filter, nowMs)
    }
    this.#settleSoon(0)
  }

  /** It is gone. */
  disconnect(): void {
    for (const { gone, requests } of this.#asked.values()) {
      for (const filter of gone) this.#uncertain.add(filter)
      for (const { filter } of requests) this.#uncertain.add(filter)
    }
    this.#said = undefined
    this.#asked.clear()
    this.#spared.clear()
  }

  tick(nowMs: number): void {
    this.#nowMs = nowMs
    if (this.#isComplete) this.#expireUnwanted(nowMs - lingerMs)
    if (nowMs >= this.#settlesAtMs) this.#settle()
  }

  /** What is to be said now, if anything; it is taken for said. */
  next(version: number): RemoteChanges | undefined {
    const isSettled = this.#changed.size === 0 && this.#dirty.size === 0
    if (this.#said === undefined || this.#asked.size >= maxPendingPackets || !isSettled) return undefined
    const requests: SubscriptionRequest[] = []
    const gone: TopicFilter[] = []
    for (const filter of this.#unsaid) {
      const qos = this.#target.get(filter)
      if (qos === undefined && this.#others.has(filter)) this.#said.delete(filter)
      if (this.#said.get(filter) === qos) this.#unsaid.delete(filter)
      else if (qos !== undefined) requests.push({ ...(this.#rules.get(filter) ?? requestOf(filter, version)), qos })
      else if (!this.#spared.has(filter)) gone.push(filter)
      if (requests.length === maxFiltersPerPacket) break
    }
    if (requests.length > 0) return this.#addChanges({ gone: [], requests })
    // What is given up may be part of what was asked for and is not there yet.
    if (gone.length === 0 || this.#asked.size > 0) return undefined
    return this.#addChanges({ gone: gone.slice(0, maxFiltersPerPacket), requests: [] })
  }

  /** What `next` gave goes with this packet id. */
  noteAsked(packetId: number, changes: RemoteChanges): void {
    this.#asked.set(packetId, changes)
  }

  /** SUBACK or UNSUBACK. False: a refusal in it is nothing new. */
  handleRemoteAck({ packetId, reasonCodes }: { packetId: number; reasonCodes: readonly number[] }): boolean {
    const asked = this.#asked.get(packetId)
    if (asked === undefined) return true
    let isNews = this.#refused.size === 0
    this.#asked.delete(packetId)
    for (const [index, { filter }] of asked.requests.entries()) {
      if ((reasonCodes[index] ?? firstFailure) < firstFailure) continue
      if (this.#rules.has(filter)) isNews = true
      this.#said?.delete(filter)
      this.#refused.add(filter)
      this.#markRelated(filter)
    }
    return isNews
  }

  #addChanges(changes: RemoteChanges): RemoteChanges {
    for (const { filter, qos } of changes.requests) this.#said?.set(filter, qos)
    for (const filter of changes.gone) this.#said?.delete(filter)
    for (const { filter } of changes.requests) this.#unsaid.delete(filter)
    for (const filter of changes.gone) this.#unsaid.delete(filter)
    return changes
  }

  #want(filter: TopicFilter, qos: QoS): void {
    this.#leaving.delete(filter)
    if (!this.#clients.has(filter) && this.#clients.size >= maxTransparentFilters)
      return void this.#waiting.set(filter, qos)
    this.#waiting.delete(filter)
    this.#clients.set(filter, qos)
    this.#updateFilter(filter)
  }

  #unsubscribe(filter: TopicFilter): void {
    this.#waiting.delete(filter)
    if (this.#clients.has(filter) && !this.#leaving.has(filter)) this.#leaving.set(filter, this.#nowMs)
  }

  /** Those that nobody has wanted since then. */
  #expireUnwanted(sinceMs: number): void {
    for (const [filter, sparedAtMs] of this.#spared) {
      if (sparedAtMs > sinceMs) break
      this.#spared.delete(filter)
    }
    for (const [filter, leftAtMs] of this.#leaving) {
      if (leftAtMs > sinceMs) break
      this.#leaving.delete(filter)
      this.#clients.delete(filter)
      this.#updateFilter(filter)
    }
    for (const [filter, qos] of this.#waiting) {
      if (this.#clients.size >= maxTransparentFilters) break
      this.#want(filter, qos)
    }
  }

  /** As it was asked for it is not right any more, if it was. */
  #resend(filter: TopicFilter): void {
    if (this.#said === undefined) this.#uncertain.add(filter)
    else if (this.#said.has(filter)) this.#said.set(filter, uncertain)
    this.#unsaid.add(filter)
  }

  /** Whether the filter is wanted, and with how much, may have changed. */
  #updateFilter(filter: TopicFilter): void {
    const [client, rule] = [this.#clients.get(filter), this.#rules.get(filter)?.qos]
    const qos = client === undefined || (rule !== undefined && rule > client) ? rule : client
    if (qos === undefined) this.#refused.delete(filter)
    if (qos === this.tree.get(filter)) return
    this.#spared.delete(filter)
    if (qos === undefined) this.tree.delete(filter)
    else this.tree.set(filter, qos)
    this.#markRelated(filter)
  }

  /** What becomes of these may be something else now. */
  #markRelated(filter: TopicFilter): void {
    this.#mark(filter)
    this.tree.eachCovering(filter, (other) => this.#mark(other))
    this.tree.eachCovered(filter, (other) => this.#mark(other))
  }

  #mark(filter: TopicFilter): void {
    this.#dirty.add(filter)
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
      else this.#want(filter, qos)
    }
    if (this.#isAllThere && !this.#isComplete) this.#complete()
    // What this has marked is settled with it, as far as there is time.
    this.#settlesAtMs = Infinity
    for (const filter of this.#dirty) {
      if (left-- <= 0) return this.#settleSoon(0)
      this.#dirty.delete(filter)
      const qos = this.#qosFor(filter)
      if (qos === this.#target.get(filter)) continue
      if (qos === undefined) this.#target.delete(filter)
      else this.#target.set(filter, qos)
      this.#unsaid.add(filter)
    }
  }

  /** From here on it is known what nobody wants. */
  #complete(): void {
    this.#isComplete = true
    for (const held of [this.#leaving, this.#spared]) for (const filter of held.keys()) held.set(filter, this.#nowMs)
  }

  /** Undefined: it is not to be asked for. */
  #qosFor(filter: TopicFilter): QoS | undefined {
    let highest = this.tree.get(filter)
    if (highest === undefined || this.#refused.has(filter)) return undefined
    let isCovered = false
    this.tree.eachCovering(filter, (other) => {
      if (!this.#refused.has(other)) isCovered = true
    })
    if (isCovered && !this.#isOfItsOwnKind(filter)) return undefined
    this.tree.eachCovered(filter, (other) => {
      const qos = this.tree.get(other) ?? 0
      if (qos > (highest ?? 0)) highest = qos
    })
    return highest
  }

  /** A rule that wants something else of its messages than others do. */
  #isOfItsOwnKind(filter: TopicFilter): boolean {
    const rule = this.#rules.get(filter)
    return rule !== undefined && rule.noLocal && (!rule.retainAsPublished || rule.retainHandling === 2)
  }
}

function isSame(one: SubscriptionRequest | undefined, other: SubscriptionRequest): boolean {
  return one?.retainAsPublished === other.retainAsPublished && one.retainHandling === other.retainHandling
}

function requestOf(filter: TopicFilter, version: number): SubscriptionRequest {
  const isVersion5 = version === 5
  // What topics remember comes with a subscription that is new there.
  return { filter, qos: 0, noLocal: isVersion5, retainAsPublished: isVersion5, retainHandling: isVersion5 ? 1 : 0 }
}
