// What the remote broker has granted, as far as it has said so. It is kept with the session here, as a subscription that
// nothing ever matches, so that after any restart the bridge knows
//
//   what it need not ask for once more: before 5.0 every SUBSCRIBE brings all that topics remember
//   what it has to take back: rules that went while the remote broker was away
//
// It is written when the remote broker has answered, and gone before anything is asked of one that remembers nothing. Of many
// filters there are several marks, each for those of one hash, so that a change does not write all of them anew.
//
// What clients want comes and goes by itself, and nobody would ask for it again after a crash. So before it is asked for, or
// given up, a mark of its own says that it may be there or not, until the answer has been written down.

import { bridgeMarksRoot } from '../core/index.ts'
import {
  parseTopicFilter,
  type QoS,
  type SubscribePacket,
  type SubscriptionRequest,
  type TopicFilter,
  type UnsubscribePacket,
} from '../protocol/index.ts'

export const grantedPrefix = `${bridgeMarksRoot}granted/`
/** Of a filter that is kept: longer than topics may be it is not, and everything is asked for at every connection. */
const maxFilterCharacters = 60_000
/** So many filters have a mark together. */
const maxFiltersPerMark = 64
const marksOfMany = 32
const firstFailure = 0x80
/** In place of what was asked for: it may be there or not. */
const uncertain = '?'

/** Filters that go, and those that are to be there. */
export interface RemoteChanges {
  readonly gone: readonly TopicFilter[]
  readonly requests: readonly SubscriptionRequest[]
}

/** What was asked for of each: QoS, no-local, retain-as-published. */
type GrantedFilters = Map<TopicFilter, string>

export class RemoteSubscriptions {
  readonly #granted: GrantedFilters
  readonly #asked = new Map<number, SubscribePacket | UnsubscribePacket>()

  /** `marks`: as they were kept. */
  constructor(marks: readonly TopicFilter[]) {
    this.#granted = new Map()
    for (const [filter, how] of marks.flatMap((mark) => readMark(mark)))
      if (this.#granted.get(filter) !== uncertain) this.#granted.set(filter, how)
  }

  /** Those that are kept among the subscriptions of the session here. */
  static loadMarks(filters: Iterable<TopicFilter>): readonly TopicFilter[] {
    return [...filters].filter((filter) => filter.startsWith(grantedPrefix))
  }

  /** Says of all that changes that it may be there or not; undefined: that would be too long. */
  static uncertainMark({ gone, requests }: RemoteChanges): TopicFilter | undefined {
    return markOf([...gone, ...requests.map(({ filter }) => filter)].map((filter) => [filter, uncertain]))
  }

  /** Answers are still to come. */
  get isWaiting(): boolean {
    return this.#asked.size > 0
  }

  /** Undefined: the filter may be there or not. */
  get all(): Map<TopicFilter, QoS | undefined> {
    return new Map([...this.#granted].map(([filter, how]) => [filter, qosIn(how)]))
  }

  /** What differs from what is to be. */
  missing(requests: readonly SubscriptionRequest[]): RemoteChanges {
    const wanted = new Set(requests.map(({ filter }) => filter))
    return {
      gone: [...this.#granted.keys()].filter((filter) => !wanted.has(filter)),
      requests: requests.filter((request) => this.#granted.get(request.filter) !== textOf(request)),
    }
  }

  recordRequest(packet: SubscribePacket | UnsubscribePacket): void {
    this.#asked.set(packet.packetId, packet)
  }

  isAsked({ packetId }: { readonly packetId: number }): boolean {
    return this.#asked.has(packetId)
  }

  /** True: all that was asked has been answered, so that the mark is to be what `mark` says. */
  handleAck(answer: { readonly packetId: number; readonly reasonCodes: readonly number[] }): boolean {
    const asked = this.#asked.get(answer.packetId)
    if (asked === undefined) return false
    this.#asked.delete(answer.packetId)
    if (asked.type === 'unsubscribe') for (const filter of asked.filters) this.#granted.delete(filter)
    else {
      for (const [index, request] of asked.subscriptions.entries()) {
        if ((answer.reasonCodes[index] ?? firstFailure) >= firstFailure) this.#granted.delete(request.filter)
        else this.#granted.set(request.filter, textOf(request))
      }
    }
    return this.#asked.size === 0
  }

  get marks(): readonly TopicFilter[] {
    const count = this.#granted.size > maxFiltersPerMark ? marksOfMany : 1
    const parts = Array.from({ length: count }, (): [TopicFilter, string][] => [])
    for (const entry of this.#granted) parts[count === 1 ? 0 : hashOf(entry[0]) % count].push(entry)
    return parts.flatMap((entries) => markOf(entries) ?? [])
  }
}

function markOf(entries: readonly (readonly [TopicFilter, string])[]): TopicFilter | undefined {
  if (entries.length === 0) return undefined
  const text = Buffer.from(JSON.stringify(entries)).toString('base64url')
  return text.length > maxFilterCharacters ? undefined : (`${grantedPrefix}${text}` as TopicFilter)
}

function hashOf(text: string): number {
  let hash = 0
  for (let at = 0; at < text.length; at++) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) >>> 0
  return hash
}

function qosIn(how: string): QoS | undefined {
  if (how === uncertain) return undefined
  return how.startsWith('2') ? 2 : how.startsWith('1') ? 1 : 0
}

function textOf({
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

/** An operator may subscribe the session to anything: what was not written here says nothing. */
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
  const [filter, how]: unknown[] = entry
  return typeof filter === 'string' && parseTopicFilter(filter) !== undefined && typeof how === 'string'
}
