// The columns of a message of a source. Its topic and user properties contain the metadata of the service.

import { splitSourceTopic, type Message } from '../../core/index.ts'
import { columnsOfServices, type EventFields } from '../../rules/index.ts'
import type { RuleMap, RuleValue } from '../../values/index.ts'
import { sourceProperties } from '../../sinks/index.ts'
import { toPublishProperties } from './message-columns.ts'

export interface SourceColumnsContext {
  readonly nodeName: string
  /** Address of the service of the source. */
  findServer(source: string): string | undefined
  createMessageId(): string
}

const mqttNames = [
  'event', 'timestamp', 'node', 'id', 'server', 'payload', 'topic', 'qos', 'dup', 'retain', 'pub_props',
  'message_received_at',
] // oxfmt-ignore
const namesByType: ReadonlyMap<string, readonly string[]> = new Map(
  [...columnsOfServices].map(([type, names]) => [
    type,
    ['event', 'timestamp', 'node', 'id', 'server', ...names, 'message_received_at'],
  ]),
)
/** User property with the value of the column `topic`, by type of source. Other sources use the topic of the message. */
const topicProperties: ReadonlyMap<string, string> = new Map([
  ['nats', 'subject'],
  ['rabbitmq', 'routing_key'],
])
const numbers = new Set(['partition', 'offset', 'ts', 'sequence', 'deliveries', 'delivery_mode', 'priority'])

/** Returns the columns of a message; undefined: the message is not of a source. */
export function createSourceColumns(message: Message, context: SourceColumnsContext): EventFields | undefined {
  const from = splitSourceTopic(message.topic.name)
  return from === undefined ? undefined : new SourceColumns(message, from, context)
}

class SourceColumns implements EventFields {
  readonly event = 'bridge.message'
  readonly #message: Message
  readonly #topic: string
  readonly #source: string
  readonly #type: string
  readonly #context: SourceColumnsContext
  #id: string | undefined

  constructor(
    message: Message,
    { source, topic }: { readonly source: string; readonly topic: string },
    context: SourceColumnsContext,
  ) {
    this.#message = message
    this.#source = source
    this.#type = source.slice(0, source.indexOf(':'))
    this.#topic = topic
    this.#context = context
  }

  listColumnNames(): readonly string[] {
    return namesByType.get(this.#type) ?? mqttNames
  }

  readColumn(name: string): RuleValue {
    const message = this.#message
    switch (name) {
      case 'event':
        return `$bridges/${this.#source}`
      case 'node':
        return this.#context.nodeName
      case 'topic':
        return this.#readTopicColumn()
      case 'timestamp':
      case 'message_received_at':
        return Math.floor(message.publishedAtMs)
      case 'id':
        return (this.#id ??= this.#context.createMessageId())
      case 'server':
        return this.#context.findServer(this.#source)
      default:
        return namesByType.has(this.#type) ? readServiceColumn(message, name) : readMessageColumn(message, name)
    }
  }

  #readTopicColumn(): RuleValue {
    const property = topicProperties.get(this.#type)
    return property === undefined ? this.#topic : readServiceColumn(this.#message, property)
  }
}

function readMessageColumn(message: Message, name: string): RuleValue {
  switch (name) {
    case 'payload':
      // The chunk is used again.
      return Buffer.from(message.readPayload())
    case 'qos':
      return message.qos
    case 'retain':
      return message.retain
    case 'dup':
      return message.isRepeat
    case 'pub_props':
      return toPublishProperties(message.properties)
    default:
      return undefined
  }
}

function readServiceColumn(message: Message, name: string): RuleValue {
  const pairs = message.properties?.userProperties ?? []
  const findProperty = (property: string): string | undefined => pairs.find(([known]) => known === property)?.[1]
  const { key, keyBytes, header } = sourceProperties
  switch (name) {
    case 'value':
    case 'payload':
      return Buffer.from(message.readPayload())
    case key: {
      const bytes = findProperty(keyBytes)
      return bytes === undefined ? findProperty(key) : Buffer.from(bytes, 'base64')
    }
    case 'headers':
      return selectHeaders(pairs, header)
    case 'redelivered':
      return findProperty(name) === 'true'
    default: {
      const text = findProperty(name)
      return text !== undefined && numbers.has(name) ? Number(text) : text
    }
  }
}

function selectHeaders(pairs: readonly (readonly [string, string])[], prefix: string): RuleMap {
  const headers = pairs.filter(([name]) => name.startsWith(prefix))
  return Object.fromEntries(headers.map(([name, value]) => [name.slice(prefix.length), value]))
}
