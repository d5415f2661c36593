// Recent events of each client: connected, refused, silent, messages dropped, disconnected, with reasons.
//
//   clients:    'lamp-3' ──► connected, dropped x 17, disconnected       the client without events for longest is removed first
//   refused:    'x7f2'   ──► refused, refused                            client IDs that were never accepted; anyone can invent
//                                                                        them, so they use no space of accepted clients

import type { BrokerEvent, Connection, SessionEndCause } from '../../core/index.ts'
import type { TimelineEntry } from '../messages/query-types.ts'

export interface TimelineLimits {
  readonly clients: number
  readonly unauthenticated: number
  /** Maximum per client. */
  readonly entries: number
  /** Maximum characters of all client IDs together: of accepted clients, and of others. */
  readonly idCharacters: number
}

export const timelineLimits: TimelineLimits = {
  clients: 4_096,
  unauthenticated: 1_024,
  entries: 32,
  idCharacters: 1_048_576,
}

/** Texts may quote what a client has sent. */
const maxTextLength = 256

/** Timelines by client ID, in the order of their last event. */
class TimelineStore {
  readonly #timelines = new Map<string, TimelineEntry[]>()
  readonly #maxTimelines: number
  readonly #maxCharacters: number
  #characters = 0

  constructor(maxTimelines: number, maxCharacters: number) {
    this.#maxTimelines = maxTimelines
    this.#maxCharacters = maxCharacters
  }

  get(clientId: string): TimelineEntry[] | undefined {
    return this.#timelines.get(clientId)
  }

  take(clientId: string): TimelineEntry[] | undefined {
    const timeline = this.#timelines.get(clientId)
    if (this.#timelines.delete(clientId)) this.#characters -= clientId.length
    return timeline
  }

  /** Adds a timeline, or moves it to the end: it has the latest event. Removes the oldest ones beyond the maximum. */
  put(clientId: string, timeline: TimelineEntry[]): void {
    if (!this.#timelines.delete(clientId)) this.#characters += clientId.length
    this.#timelines.set(clientId, timeline)
    if (!this.#exceedsMaximum()) return
    for (const oldest of this.#timelines.keys()) {
      this.take(oldest)
      if (!this.#exceedsMaximum()) return
    }
  }

  #exceedsMaximum(): boolean {
    return this.#timelines.size > this.#maxTimelines || this.#characters > this.#maxCharacters
  }
}

export class ClientTimeline {
  readonly #limits: TimelineLimits
  readonly #clients: TimelineStore
  readonly #unauthenticated: TimelineStore

  constructor(limits: TimelineLimits = timelineLimits) {
    this.#limits = limits
    this.#clients = new TimelineStore(limits.clients, limits.idCharacters)
    this.#unauthenticated = new TimelineStore(limits.unauthenticated, limits.idCharacters)
  }

  record(event: BrokerEvent, nowMs: number): void {
    // `packet-refused` has the reason of a message that its publisher was not allowed to publish.
    if (event.event === 'message-dropped' && event.clientId === '' && event.reason === 'not-allowed') return
    const entry = toEntry(event, nowMs)
    if (entry === undefined || !('clientId' in event)) return
    // A message that was dropped for all subscribers is an event of its publisher.
    const clientId = event.clientId === '' && 'message' in event ? event.message.publisher : event.clientId
    if (clientId === '') return
    this.#add(clientId, entry)
  }

  /** Called each second while the publisher waits: `count` of the entry is the number of seconds. `text`: for what it waits. */
  recordWaiting(clientId: string, text: string, nowMs: number): void {
    this.#add(clientId, createEntry('waits-for-action', { atMs: nowMs, text }))
  }

  /** Returns the entries of a client in order; empty if there are none. */
  listEntries(clientId: string): readonly TimelineEntry[] {
    return this.#clients.get(clientId) ?? this.#unauthenticated.get(clientId) ?? []
  }

  #add(clientId: string, entry: TimelineEntry): void {
    const known = this.#clients.get(clientId)
    const isUnknown = known === undefined && entry.event !== 'connected'
    const timeline = known ?? this.#unauthenticated.take(clientId)
    const store = isUnknown ? this.#unauthenticated : this.#clients
    // V8 allocates 17 entries for the first one in an empty array, and most clients have one or two.
    if (timeline === undefined) return store.put(clientId, [entry])
    const last = timeline.at(-1)
    if (last !== undefined && isSame(last, entry)) {
      last.count++
      last.atMs = entry.atMs
    } else {
      timeline.push(entry)
    }
    if (timeline.length > this.#limits.entries) timeline.shift()
    store.put(clientId, timeline)
  }
}

const repeatedEvents: ReadonlySet<TimelineEntry['event']> = new Set([
  'message-dropped',
  'packet-refused',
  'refused',
  'waits-for-action',
  'keep-alive-gap',
])

function formatRefusal({ packet, topic, text }: Extract<BrokerEvent, { event: 'packet-refused' }>): string {
  return topic === '' ? `${packet}: ${text}` : `${packet} ${topic}: ${text}`
}

function isSame(one: TimelineEntry, other: TimelineEntry): boolean {
  const isRepeated = repeatedEvents.has(one.event)
  return isRepeated && one.event === other.event && one.text === other.text && one.address === other.address
}

const endTexts: Readonly<Record<SessionEndCause, string>> = {
  disconnected: 'the session ended with its connection (expiry 0)',
  expired: 'the session expired: its client did not connect within the session expiry interval',
  replaced: 'the client connected with a new session (Clean Start), which replaced this one',
  administrator: 'an administrator ended the session',
}

function toEntry(event: BrokerEvent, atMs: number): TimelineEntry | undefined {
  switch (event.event) {
    case 'client-connected': {
      const text = event.sessionPresent ? 'with the session that it had' : 'with a new session'
      return createEntry('connected', { atMs, text, connection: event.connection })
    }
    case 'client-refused':
      return createEntry('refused', { atMs, ...event, reasonCode: event.reason })
    case 'client-disconnected':
      return createEntry('disconnected', { atMs, ...event, reasonCode: event.reason })
    case 'session-taken-over':
      return createEntry('taken-over', { atMs, text: 'another connection used the same client ID' })
    case 'session-ended':
      return createEntry('session-ended', { atMs, text: `${endTexts[event.cause]}: it and its messages were deleted` })
    case 'message-dropped':
      return createEntry('message-dropped', { atMs, text: event.reason })
    case 'packet-refused':
      return createEntry('packet-refused', { atMs, text: formatRefusal(event), reasonCode: event.reason })
    case 'keep-alive-gap':
      return createEntry('keep-alive-gap', {
        atMs,
        text: 'no packet for longer than its keep alive; the connection is not closed yet',
        connection: event.connection,
      })
    default:
      return undefined
  }
}

function createEntry(
  event: TimelineEntry['event'],
  from: { atMs: number; text: string; connection?: Connection; reasonCode?: number },
): TimelineEntry {
  const { atMs, text, connection, reasonCode } = from
  return { atMs, event, text: text.slice(0, maxTextLength), reasonCode, address: connection?.peerAddress, count: 1 }
}
