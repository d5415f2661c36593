// Which plugins concern a client and a topic. Decided once for each connection and topic, so that others pay nothing for a plugin.

import { matchesFilter } from '../../protocol/index.ts'
import type { PluginFilters } from './plugin-plan.ts'

/** Known decisions of one plugin; when there are more topics, all are forgotten. */
const maxKnownTopics = 10_000

export interface MatchedClient {
  /** Without the namespace. */
  readonly clientId: string
  /** Undefined: the client came over no listener. */
  readonly listener: string | undefined
}

export class PluginMatcher {
  readonly #topics: readonly (readonly string[])[]
  readonly #clients: readonly (readonly RegExp[])[]
  readonly #listeners: readonly (readonly string[])[]
  readonly #known = new Map<string, boolean>()

  constructor({ topics, clients, listeners }: PluginFilters) {
    this.#topics = topics.filter((list) => list.length > 0)
    this.#clients = clients.filter((list) => list.length > 0).map((list) => list.map(toExpression))
    this.#listeners = listeners.filter((list) => list.length > 0)
  }

  /** Without a client, only a plugin that names neither clients nor listeners matches. */
  matchesClient(client: MatchedClient | undefined): boolean {
    if (client === undefined) return this.#clients.length === 0 && this.#listeners.length === 0
    const { clientId, listener } = client
    return (
      this.#clients.every((list) => list.some((pattern) => pattern.test(clientId))) &&
      this.#listeners.every((list) => listener !== undefined && list.includes(listener))
    )
  }

  /** Whether the client matches if its listener does. */
  matchesClientId(clientId: string): boolean {
    return this.#clients.every((list) => list.some((pattern) => pattern.test(clientId)))
  }

  /** Returns whether a topic may match both `filter`, which may have no wildcard, and the filters of the plugin. */
  overlapsFilter(filter: string): boolean {
    return this.#topics.every((list) => list.some((own) => overlap(own.split('/'), filter.split('/'))))
  }

  matchesTopic(topic: string): boolean {
    if (this.#topics.length === 0) return true
    const known = this.#known.get(topic)
    if (known !== undefined) return known
    const matches = this.#topics.every((list) => list.some((filter) => matchesFilter(filter, topic)))
    if (this.#known.size >= maxKnownTopics) this.#known.clear()
    this.#known.set(topic, matches)
    return matches
  }
}

function overlap(one: readonly string[], other: readonly string[]): boolean {
  for (let at = 0; ; at++) {
    const [left, right] = [one[at], other[at]]
    // `a/#` also stands for `a` [section 4.7.1.2].
    if (left === '#' || right === '#') return true
    if (left === undefined || right === undefined) return left === right
    if (left !== right && left !== '+' && right !== '+') return false
  }
}

/** `*` stands for any characters. Each `*` is followed by a fixed text, so the time is linear in the length for each of them. */
function toExpression(pattern: string): RegExp {
  const parts = pattern.split(/\*+/).map((part) => part.replace(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('[^]*?')}$`, 'u')
}
