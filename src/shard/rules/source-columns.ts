// A message of a source as rules read it. Its topic and properties contain what the service says beyond the payload.

import { splitSourceTopic, type Message } from '../../core/index.ts'
import type { EventFields, RuleMap, RuleValue } from '../../rules/index.ts'
import { publishProperties } from './message-columns.ts'

export interface SourceColumnsContext {
  readonly nodeName: string
  /** Address of the service of the source. */
  serverOf(source: string): string | undefined
  nextMessageId(): string
}

/** User properties for the fields of a record other than its value. Names of headers have this prefix. */
export const recordProperties = {
  key: 'key',
  keyBytes: 'key64',
  partition: 'partition',
  offset: 'offset',
  timestamp: 'ts',
  header: 'header ',
} as const

const mqttNames = [
  'event', 'timestamp', 'node', 'id', 'server', 'payload', 'topic', 'qos', 'dup', 'retain', 'pub_props',
  'message_received_at',
] // oxfmt-ignore
const kafkaNames = [
  'event', 'timestamp', 'node', 'id', 'server', 'topic', 'partition', 'offset', 'key', 'value', 'ts', 'headers',
  'message_received_at',
] // oxfmt-ignore

/** Undefined if the message is not of a source. */
export function sourceColumns(message: Message, context: SourceColumnsContext): EventFields | undefined {
  const from = splitSourceTopic(message.topic.name)
  return from === undefined ? undefined : new SourceColumns(message, from, context)
}

class SourceColumns implements EventFields {
  readonly event = 'bridge.message'
  readonly #message: Message
  readonly #topic: string
  readonly #source: string
  readonly #context: SourceColumnsContext
  #id: string | undefined

  constructor(
    message: Message,
    { source, topic }: { readonly source: string; readonly topic: string },
    context: SourceColumnsContext,
  ) {
    this.#message = message
    this.#source = source
    this.#topic = topic
    this.#context = context
  }

  columnNames(): readonly string[] {
    return this.#isOfKafka ? kafkaNames : mqttNames
  }

  column(name: string): RuleValue {
    const message = this.#message
    switch (name) {
      case 'event':
        return `$bridges/${this.#source}`
      case 'node':
        return this.#context.nodeName
      case 'topic':
        return this.#topic
      case 'timestamp':
      case 'message_received_at':
        return Math.floor(message.publishedAtMs)
      case 'id':
        return (this.#id ??= this.#context.nextMessageId())
      case 'server':
        return this.#context.serverOf(this.#source)
      default:
        return this.#isOfKafka ? recordColumn(message, name) : messageColumn(message, name)
    }
  }

  get #isOfKafka(): boolean {
    return this.#source.startsWith('kafka_consumer:')
  }
}

function messageColumn(message: Message, name: string): RuleValue {
  switch (name) {
    case 'payload':
      // The chunk is used again.
      return Buffer.from(message.payload())
    case 'qos':
      return message.qos
    case 'retain':
      return message.retain
    case 'dup':
      return message.isRepeat
    case 'pub_props':
      return publishProperties(message.properties)
    default:
      return undefined
  }
}

function recordColumn(message: Message, name: string): RuleValue {
  const pairs = message.properties?.userProperties ?? []
  const said = (property: string): string | undefined => pairs.find(([known]) => known === property)?.[1]
  const { key, keyBytes, partition, offset, timestamp, header } = recordProperties
  switch (name) {
    case 'value':
    case 'payload':
      return Buffer.from(message.payload())
    case 'key': {
      const bytes = said(keyBytes)
      return bytes === undefined ? said(key) : Buffer.from(bytes, 'base64')
    }
    case 'partition':
      return Number(said(partition))
    case 'offset':
      return Number(said(offset))
    case 'ts':
      return Number(said(timestamp))
    case 'headers':
      return headersIn(pairs, header)
    default:
      return undefined
  }
}

function headersIn(pairs: readonly (readonly [string, string])[], prefix: string): RuleMap {
  const headers = pairs.filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(headers.map(([name, value]) => [name.slice(prefix.length), value]))
}
