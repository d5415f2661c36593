// A rule of a namespace receives messages and events of its namespace only, with the topics that its clients know. It publishes within the
// namespace.
//
//   FROM "a/#"  ──►  $ns/plant/a/# in the match plan     message $ns/plant/a/1  ──►  column topic: a/1
//   republish to b  ──►  $ns/plant/b

import {
  isSourceClient,
  isSourceTopic,
  parseTopicNamespace,
  toNamespacePrefix,
  toScopedName,
  splitNamespacedName,
  splitScopedName,
  splitSourceTopic,
  type Message,
  type RulePublication,
  type RuleTrigger,
} from '../../core/index.ts'
import { removeFilterPrefix, parseTopicFilter, type TopicFilter } from '../../protocol/index.ts'
import type { EventFields, HostFunctions } from '../../rules/index.ts'
import type { RuleValue } from '../../values/index.ts'

const sourceFilter = /^(\$bridges\/[^/]+)(.*)$/s
const delay = /^\$delayed\/\d+\//

/** Returns the filter in the match plan. Undefined: the filter would be too long, so that no topic matches it. */
export function addFilterNamespace(namespace: string, filter: TopicFilter): TopicFilter | undefined {
  const [, source, rest = ''] = sourceFilter.exec(filter) ?? []
  const within = source === undefined ? toNamespacePrefix(namespace) + filter : toScopedName(namespace, source) + rest
  return parseTopicFilter(within)
}

/** Returns the publication in the namespace. */
export function addPublicationNamespace(namespace: string, publication: RulePublication): RulePublication {
  const { topic } = publication
  const [delayed = ''] = delay.exec(topic) ?? []
  return { ...publication, topic: delayed + toNamespacePrefix(namespace) + topic.slice(delayed.length) }
}

/**
 * Returns the namespace that a trigger belongs to; undefined: none. It is that of the client, or for a dropped message, of its publisher. The topic of
 * the message does not count: a client chooses it, and its message may be dropped because it must not publish there.
 */
export function findTriggerNamespace(trigger: RuleTrigger): string | undefined {
  if ('clientId' in trigger) return splitNamespacedName(trigger.clientId).namespace
  return trigger.kind === 'message-dropped' ? findPublisherNamespace(trigger.message) : undefined
}

/** Only the client of a source, which a client cannot be, publishes in the name of the source. */
function findPublisherNamespace({ publisher, topic }: Message): string | undefined {
  return isSourceClient(publisher) ? findTopicNamespace(topic.name) : splitNamespacedName(publisher).namespace
}

/** Returns the namespace of the topic of a message, or of its source; undefined: none. */
export function findTopicNamespace(topic: string): string | undefined {
  if (!isSourceTopic(topic)) return parseTopicNamespace(topic)
  const from = splitSourceTopic(topic)
  return from === undefined ? undefined : splitScopedName(from.source).namespace
}

/** The columns of an event for the rules of a namespace. */
export class ColumnsWithin implements EventFields {
  readonly event: EventFields['event']
  readonly #columns: EventFields
  readonly #namespace: string

  constructor(columns: EventFields, namespace: string) {
    this.event = columns.event
    this.#columns = columns
    this.#namespace = namespace
  }

  listColumnNames(): readonly string[] {
    return this.#columns.listColumnNames()
  }

  readColumn(name: string): RuleValue {
    const value = this.#columns.readColumn(name)
    if (typeof value !== 'string') return value
    if (name === 'topic' || name === 'mountpoint') return this.#removeNamespace(value)
    const end = toScopedName(this.#namespace, '')
    return name === 'event' && value.endsWith(end) ? value.slice(0, -end.length) : value
  }

  /** Removes the namespace from a topic, or from a filter that may begin with `$share/group/`. */
  #removeNamespace(text: string): string {
    const filter = text.startsWith('$queue/') ? parseTopicFilter(text) : undefined
    const bare = removeFilterPrefix(filter ?? (text as TopicFilter))
    const prefix = toNamespacePrefix(this.#namespace)
    if (!bare.startsWith(prefix)) return text
    return text.slice(0, text.length - bare.length) + bare.slice(prefix.length)
  }
}

/** Returns the functions of the host for rules of a namespace: stored values are separate, and there are no environment variables. */
export function createNamespaceHost(host: HostFunctions, namespace: string): HostFunctions {
  const toScopedKey = (key: string): string => toScopedName(namespace, key)
  // Limits of the host may change, so they are not copied.
  return Object.assign(Object.create(host) as HostFunctions, {
    readEnvironmentVariable: () => undefined,
    readStoredValue: (area, key) => host.readStoredValue(area, toScopedKey(key)),
    storeValue: (area, key, value) => host.storeValue(area, toScopedKey(key), value),
  } satisfies Partial<HostFunctions>)
}
