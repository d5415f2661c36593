// The sources of a rule, after FROM: topic filters, events and bridges.

import { hasFilterPrefix, matchesFilter, parseTopicFilter, type TopicFilter } from '../../protocol/index.ts'
import { findNearestName, quoteText } from '../../values/index.ts'
import { RuleCompileError } from '../sql/compile-error.ts'
import type { SourceNode } from '../sql/sql-syntax.ts'
import { listColumns, eventDefinitions, type EventName } from './event-definitions.ts'

/** A warning for a topic filter that is spelled like an event of old versions. */
type OldName = readonly [at: { readonly start: number }, message: string, hint: string]

export type RuleSource =
  | { readonly kind: 'topic'; readonly text: string; readonly filter: TopicFilter; readonly oldName?: OldName }
  | { readonly kind: 'event'; readonly text: string; readonly event: EventName; readonly oldName?: undefined }
  /** Messages that the source `name` of this type receives: they come below a topic of their own. */
  | {
      readonly kind: 'bridge'
      readonly text: string
      readonly type: string
      readonly name: string
      readonly filter: TopicFilter
      readonly oldName?: undefined
    }

const eventPrefix = '$events/'
const bridgePrefix = '$bridges/'
const eventsByTopic: ReadonlyMap<string, EventName> = new Map(
  [...eventDefinitions.values()]
    .filter(({ topic }) => topic.startsWith(eventPrefix))
    .flatMap(({ name, topic, otherTopics }) => [topic, ...otherTopics].map((text) => [text, name] as const)),
)

/** Returns the event that a topic such as `$events/client_connected` names. */
export function findTopicEvent(topic: string): EventName | undefined {
  return eventsByTopic.get(topic)
}

/** Reads one entry after FROM. Throws RuleCompileError. */
export function parseSource(sql: string, source: SourceNode): RuleSource {
  const { text, start } = source
  if (text.startsWith(eventPrefix)) {
    const event = findTopicEvent(text)
    if (event !== undefined) return { kind: 'event', text, event }
    const near = findNearestName(text, eventsByTopic.keys())
    const hint = near === undefined ? `events: ${[...eventsByTopic.keys()].join(', ')}` : `did you mean ${near}?`
    throw new RuleCompileError(sql, start, `there is no event ${quoteText(text)}`, hint)
  }
  if (text.startsWith(bridgePrefix)) return parseBridge(sql, source)
  const filter = parseTopicFilter(text)
  if (filter === undefined || hasFilterPrefix(text)) {
    const hint = text.startsWith('$')
      ? 'a rule receives every message: use the topic filter without prefix'
      : '+ is a whole level, # is the whole last level'
    throw new RuleCompileError(sql, start, `${quoteText(text)} is not a topic filter`, hint)
  }
  return oldEventNames.has(text)
    ? { kind: 'topic', text, filter, oldName: createOldName(source) }
    : { kind: 'topic', text, filter }
}

function parseBridge(sql: string, { text, start }: SourceNode): RuleSource {
  const id = text.slice(bridgePrefix.length)
  const colon = id.indexOf(':')
  if (colon <= 0 || colon === id.length - 1) {
    throw new RuleCompileError(sql, start, `${quoteText(text)} is not a bridge`, 'write: $bridges/mqtt:NAME')
  }
  const filter = id.includes('/') ? undefined : parseTopicFilter(`${text}/#`)
  if (filter === undefined)
    throw new RuleCompileError(
      sql,
      start,
      `${quoteText(text)} is not the name of a source`,
      'write: $bridges/mqtt:NAME',
    )
  return { kind: 'bridge', text, type: id.slice(0, colon), name: id.slice(colon + 1), filter }
}

/** Events as SQL of version 3 names them. In later versions they are topic filters. */
const oldEventNames = new Set([
  'message.publish', 'message.deliver', 'message.delivered', 'message.acked', 'message.dropped',
  'client.connected', 'client.disconnected', 'client.subscribe', 'client.unsubscribe',
]) // oxfmt-ignore

function createOldName({ text, start }: SourceNode): OldName {
  return [
    { start },
    `${quoteText(text)} is a topic filter here, not an event`,
    'SQL of version 3 must be converted; an event is written "$events/client_connected"',
  ]
}

/** Columns of messages of services, beside those that all messages of sources have. */
export const columnsOfServices: ReadonlyMap<string, readonly string[]> = new Map([
  ['kafka_consumer', ['topic', 'partition', 'offset', 'key', 'value', 'ts', 'headers']],
  ['nats', ['topic', 'subject', 'payload', 'headers', 'stream', 'sequence', 'deliveries', 'ts']],
  [
    'rabbitmq',
    [
      'topic', 'queue', 'exchange', 'routing_key', 'redelivered', 'payload', 'headers', 'content_type', 'content_encoding',
      'delivery_mode', 'priority', 'correlation_id', 'reply_to', 'expiration', 'message_id', 'ts', 'type', 'user_id',
      'app_id', 'cluster_id',
    ], // oxfmt-ignore
  ],
])

/** Returns the columns that at least one source has. */
export function listSourceColumns(sources: readonly RuleSource[]): ReadonlySet<string> {
  return new Set(
    sources.flatMap((source) => {
      const ofService = source.kind === 'bridge' ? columnsOfServices.get(source.type) : undefined
      return [...listColumns(resolveEvent(source)), ...(ofService ?? [])]
    }),
  )
}

export function resolveEvent(source: RuleSource): EventName {
  if (source.kind === 'event') return source.event
  return source.kind === 'topic' ? 'message.publish' : 'bridge.message'
}

/** Whether a source takes an event. For messages, `topic` decides. For the explanation of single events only. */
export function takesEvent(source: RuleSource, event: EventName, topic: unknown): boolean {
  if (resolveEvent(source) !== event) return false
  return source.kind !== 'topic' || (typeof topic === 'string' && matchesFilter(source.filter, topic))
}
