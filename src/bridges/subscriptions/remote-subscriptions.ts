// Subscriptions that the remote broker has granted. They are stored in the local session as marks (subscriptions that match no topic), so that
// the bridge knows after any restart
//
//   what it need not request again: before 5.0 every SUBSCRIBE causes all retained messages to be sent
//   what it must unsubscribe: rules that were removed while the remote broker was unavailable
//
// They are stored after the remote broker's response, and deleted before requests to a remote broker without a session. Many filters are
// divided into several marks by hash, so that a change does not write all of them.
//
// Filters of clients change by themselves, and no rule would request them again after a crash. So before such a filter is subscribed or
// unsubscribed, a mark says that its state is uncertain, until the response is stored.

import { bridgeMarksRoot } from '../../core/index.ts'
import {
  parseTopicFilter,
  type QoS,
  type SubscribePacket,
  type SubscriptionRequest,
  type TopicFilter,
  type UnsubscribePacket,
} from '../../protocol/index.ts'

export const grantedPrefix = `${bridgeMarksRoot}granted/`
/** Filters that are too long for a mark are not stored, and everything is requested at every connection. */
const maxFilterCharacters = 60_000
/** Number of filters in one mark. */
const maxFiltersPerMark = 64
const marksForManyFilters = 32
const firstFailure = 0x80
/** The state is uncertain. */
const uncertain = '?'

/** Filters to unsubscribe, and subscriptions to make. */
export interface RemoteChanges {
  readonly removed: readonly TopicFilter[]
  readonly requests: readonly SubscriptionRequest[]
}

/** Requested options of each filter: QoS, No Local, Retain As Published. */
type GrantedFilters = Map<TopicFilter, string>

export class RemoteSubscriptions {
  readonly #granted: GrantedFilters
  readonly #pendingRequests = new Map<number, SubscribePacket | UnsubscribePacket>()

  /** `marks`: as they were stored. */
  constructor(marks: readonly TopicFilter[]) {
    this.#granted = new Map()
    for (const [filter, options] of marks.flatMap((mark) => readMark(mark)))
      if (this.#granted.get(filter) !== uncertain) this.#granted.set(filter, options)
  }

  /** Returns the marks among the subscriptions of the local session. */
  static loadMarks(filters: Iterable<TopicFilter>): readonly TopicFilter[] {
    return [...filters].filter((filter) => filter.startsWith(grantedPrefix))
  }

  /** Returns a mark for all changing filters as uncertain; undefined if it would be too long. */
  static createUncertainMark({ removed, requests }: RemoteChanges): TopicFilter | undefined {
    return createMark([...removed, ...requests.map(({ filter }) => filter)].map((filter) => [filter, uncertain]))
  }

  /** Responses are pending. */
  get isWaiting(): boolean {
    return this.#pendingRequests.size > 0
  }

  /** Undefined as a value: the state is uncertain. */
  get all(): Map<TopicFilter, QoS | undefined> {
    return new Map([...this.#granted].map(([filter, options]) => [filter, parseQoS(options)]))
  }

  /** Returns the difference from the required subscriptions. */
  planChanges(requests: readonly SubscriptionRequest[]): RemoteChanges {
    const wanted = new Set(requests.map(({ filter }) => filter))
    return {
      removed: [...this.#granted.keys()].filter((filter) => !wanted.has(filter)),
      requests: requests.filter((request) => this.#granted.get(request.filter) !== formatOptions(request)),
    }
  }

  recordRequest(packet: SubscribePacket | UnsubscribePacket): void {
    this.#pendingRequests.set(packet.packetId, packet)
  }

  isPending({ packetId }: { readonly packetId: number }): boolean {
    return this.#pendingRequests.has(packetId)
  }

  /** Returns true if all requests have responses, so that the marks must be stored. */
  handleAck(ack: { readonly packetId: number; readonly reasonCodes: readonly number[] }): boolean {
    const request = this.#pendingRequests.get(ack.packetId)
    if (request === undefined) return false
    this.#pendingRequests.delete(ack.packetId)
    if (request.type === 'unsubscribe') for (const filter of request.filters) this.#granted.delete(filter)
    else {
      for (const [index, subscription] of request.subscriptions.entries()) {
        if ((ack.reasonCodes[index] ?? firstFailure) >= firstFailure) this.#granted.delete(subscription.filter)
        else this.#granted.set(subscription.filter, formatOptions(subscription))
      }
    }
    return this.#pendingRequests.size === 0
  }

  get marks(): readonly TopicFilter[] {
    const count = this.#granted.size > maxFiltersPerMark ? marksForManyFilters : 1
    const parts = Array.from({ length: count }, (): [TopicFilter, string][] => [])
    for (const entry of this.#granted) parts[count === 1 ? 0 : computeHash(entry[0]) % count].push(entry)
    return parts.flatMap((entries) => createMark(entries) ?? [])
  }
}

function createMark(entries: readonly (readonly [TopicFilter, string])[]): TopicFilter | undefined {
  if (entries.length === 0) return undefined
  const text = Buffer.from(JSON.stringify(entries)).toString('base64url')
  return text.length > maxFilterCharacters ? undefined : (`${grantedPrefix}${text}` as TopicFilter)
}

function computeHash(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}

function parseQoS(options: string): QoS | undefined {
  if (options === uncertain) return undefined
  return options.startsWith('2') ? 2 : options.startsWith('1') ? 1 : 0
}

function formatOptions({
  qos,
  noLocal,
  retainAsPublished,
}: {
  qos: QoS
  noLocal: boolean
  retainAsPublished: boolean
}): string {
  return `${qos}${noLocal ? 'n' : ''}${retainAsPublished ? 'r' : ''}`
}

/** The API may subscribe the session to anything: invalid marks are ignored. */
function readMark(mark: TopicFilter): [TopicFilter, string][] {
  const text = Buffer.from(mark.slice(grantedPrefix.length), 'base64url').toString()
  try {
    const entries: unknown = JSON.parse(text)
    return Array.isArray(entries) ? entries.filter(isEntry) : []
  } catch {
    return []
  }
}

function isEntry(entry: unknown): entry is [TopicFilter, string] {
  if (!Array.isArray(entry)) return false
  const [filter, options]: unknown[] = entry
  return typeof filter === 'string' && parseTopicFilter(filter) !== undefined && typeof options === 'string'
}
