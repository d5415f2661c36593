// Remembers the last dropped messages with their reasons, to find lost messages. When the limit is reached, the oldest are removed. If very many
// messages are dropped, the core reports only some of them (`message-dropped`); the counters by reason are complete.

import { type BrokerEvent, type DropReason, toNamespacePrefix } from '../../core/index.ts'
import { matchesLevels } from '../../protocol/index.ts'
import type { DroppedFound, DroppedMessage, DroppedQuery } from '../messages/query-types.ts'

type Dropped = Extract<BrokerEvent, { event: 'message-dropped' }>

export const recentDropsLimits = {
  messages: 4_096,
  /** Maximum characters of topics and client IDs together, which may be long. */
  characters: 1_048_576,
} as const

export class RecentDrops {
  readonly #limits: { readonly messages: number; readonly characters: number }
  /** The messages from `#first` on are valid, in the order of their drops. */
  #messages: DroppedMessage[] = []
  #first = 0
  #characters = 0

  constructor(limits: { readonly messages: number; readonly characters: number } = recentDropsLimits) {
    this.#limits = limits
  }

  record({ clientId, message, reason, plugin }: Dropped, atMs: number): void {
    const { topic, qos, publisher } = message
    const dropped = { atMs, topic: topic.name, qos, reason, plugin, publisher, subscriber: clientId }
    this.#messages.push(dropped)
    this.#characters += countCharacters(dropped)
    const { messages, characters } = this.#limits
    while (this.#messages.length - this.#first > messages || this.#characters > characters) {
      this.#characters -= countCharacters(this.#messages[this.#first++])
    }
    if (this.#first < messages) return
    this.#messages = this.#messages.slice(this.#first)
    this.#first = 0
  }

  /** Returns the newest `limit` matching messages, and the number of all matching ones. */
  find(query: DroppedQuery, limit: number): DroppedFound {
    const newest: DroppedMessage[] = []
    const levels = query.topic?.split('/')
    const prefix = toNamespacePrefix(query.namespace)
    const byReason: Partial<Record<DropReason, number>> | undefined = query.namespace === undefined ? undefined : {}
    let count = 0
    for (let at = this.#messages.length - 1; at >= this.#first; at--) {
      const message = this.#messages[at]
      if (query.sinceMs !== undefined && message.atMs < query.sinceMs) break
      if (!message.topic.startsWith(prefix)) continue
      if (byReason !== undefined) byReason[message.reason] = (byReason[message.reason] ?? 0) + 1
      if (!matchesQuery(message, query)) continue
      if (levels !== undefined && message.topic !== query.topic && !matchesLevels(levels, message.topic)) continue
      count++
      if (newest.length < limit) newest.push(message)
    }
    return byReason === undefined ? { newest, count } : { newest, count, byReason }
  }
}

function matchesQuery(message: DroppedMessage, { reason, clientId }: DroppedQuery): boolean {
  if (reason !== undefined && message.reason !== reason) return false
  return clientId === undefined || message.subscriber === clientId || message.publisher === clientId
}

function countCharacters({ topic, publisher, subscriber }: DroppedMessage): number {
  return topic.length + publisher.length + subscriber.length
}
