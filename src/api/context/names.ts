// The names that a request uses, and those of the broker. In a namespace, clients and topics have a prefix in the broker that
// requests and responses do not have. No name outside of the namespace can be expressed.
//
//   c1, lamp  ──►  plant␀c1, $ns/plant/lamp  ──►  the broker  ──►  plant␀c1, $ns/plant/lamp  ──►  c1, lamp

import { isOfNamespace, toNamespacedName, toNamespacePrefix } from '../../core/index.ts'
import {
  removeFilterPrefix,
  parseTopicFilter,
  parseTopicName,
  type TopicFilter,
  type TopicName,
} from '../../protocol/index.ts'

/** Names of a namespace, or of the whole broker, where both are the same. */
export interface Names {
  /** undefined: the whole broker. */
  readonly namespace: string | undefined
  /** Returns the session of a client. */
  toSessionName(clientId: string): string
  /** Returns whether requests can name the session. */
  isOwn(session: string): boolean
  /** Returns the topic in the broker; it may be too long. */
  mount(topic: string): string
  /** Returns the topic in the broker; undefined: it would be too long. */
  mountTopic(topic: TopicName): TopicName | undefined
  /** The same for the topic of a publication: the prefix is after `$delayed/n/`. */
  mountPublished(topic: string): string
  /** The same for a filter: the prefix is after `$share/group/` and `$exclusive/`. undefined: it would be too long. */
  mountFilter(filter: TopicFilter): TopicFilter | undefined
  /** Returns the topic in requests. */
  unmountTopic(topic: string): string
  /** Returns the filter in requests. */
  unmountFilter(filter: TopicFilter): TopicFilter
}

/** undefined: the whole broker. */
export function resolveNames(namespace: string | undefined): Names {
  return namespace === undefined ? wholeBroker : new NamespaceNames(namespace)
}

export const wholeBroker: Names = {
  namespace: undefined,
  toSessionName: (clientId) => clientId,
  isOwn: () => true,
  mount: (topic) => topic,
  mountTopic: (topic) => topic,
  mountPublished: (topic) => topic,
  mountFilter: (filter) => filter,
  unmountTopic: (topic) => topic,
  unmountFilter: (filter) => filter,
}

class NamespaceNames implements Names {
  readonly namespace: string
  readonly #prefix: string

  constructor(namespace: string) {
    this.namespace = namespace
    this.#prefix = toNamespacePrefix(namespace)
  }

  toSessionName(clientId: string): string {
    return toNamespacedName(this.namespace, clientId)
  }

  isOwn(session: string): boolean {
    return isOfNamespace(session, this.namespace)
  }

  mount(topic: string): string {
    return `${this.#prefix}${topic}`
  }

  mountTopic(topic: TopicName): TopicName | undefined {
    return parseTopicName(this.mount(topic))
  }

  mountPublished(topic: string): string {
    const [delay = ''] = /^\$delayed\/\d+\//.exec(topic) ?? []
    return delay + this.mount(topic.slice(delay.length))
  }

  mountFilter(filter: TopicFilter): TopicFilter | undefined {
    const bare = removeFilterPrefix(filter)
    return parseTopicFilter(`${filter.slice(0, filter.length - bare.length)}${this.mount(bare)}`)
  }

  unmountTopic(topic: string): string {
    return topic.startsWith(this.#prefix) ? topic.slice(this.#prefix.length) : topic
  }

  unmountFilter(filter: TopicFilter): TopicFilter {
    const bare = removeFilterPrefix(filter)
    return `${filter.slice(0, filter.length - bare.length)}${this.unmountTopic(bare)}` as TopicFilter
  }
}
