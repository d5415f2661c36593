// The columns of a message, which are computed from the message when a rule reads them.

import { splitNamespacedName, type Message } from '../../core/index.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { EventFields } from '../../rules/index.ts'
import type { RuleMap, RuleValue } from '../../values/index.ts'
import { userProperties } from './packet-properties.ts'

/** State of the publisher while it is connected. */
export interface PublisherFacts {
  readonly username: string | undefined
  readonly peerAddress: string
  readonly peerPort: number | undefined
  readonly version: number
}

export interface MessageColumnsContext {
  readonly nodeName: string
  publisher(clientId: string): PublisherFacts | undefined
  nextMessageId(): string
}

const names = [
  'event', 'timestamp', 'node', 'clientid', 'username', 'client_attrs', 'id', 'payload', 'peerhost', 'peername',
  'topic', 'qos', 'flags', 'pub_props', 'publish_received_at', 'headers',
] // oxfmt-ignore

const noAttributes: RuleMap = {}

export class MessageColumns implements EventFields {
  readonly event = 'message.publish'
  readonly #message: Message
  readonly #context: MessageColumnsContext
  #id: string | undefined
  #publisher: PublisherFacts | undefined
  #isPublisherKnown = false

  constructor(message: Message, context: MessageColumnsContext) {
    this.#message = message
    this.#context = context
  }

  columnNames(): readonly string[] {
    return names
  }

  column(name: string): RuleValue {
    const message = this.#message
    switch (name) {
      case 'payload':
        // The chunk is reused, so the payload is copied.
        return Buffer.from(message.payload())
      case 'topic':
        return message.topic.name
      case 'qos':
        return message.qos
      case 'clientid':
        return splitNamespacedName(message.publisher).name
      case 'flags':
        return { retain: message.retain, dup: message.isRepeat }
      case 'timestamp':
      case 'publish_received_at':
        return Math.floor(message.publishedAtMs)
      case 'event':
        return this.event
      case 'node':
        return this.#context.nodeName
      case 'client_attrs':
        return attributesOf(message.publisher)
      case 'id':
        return (this.#id ??= this.#context.nextMessageId())
      case 'pub_props':
        return publishProperties(message.properties)
      default:
        return this.#publisherColumn(name)
    }
  }

  #publisherColumn(name: string): RuleValue {
    switch (name) {
      case 'username':
        return this.#facts()?.username
      case 'peerhost':
        return this.#facts()?.peerAddress
      case 'peername':
        return peerName(this.#facts())
      case 'headers':
        return { protocol: 'mqtt', proto_ver: this.#facts()?.version, peerhost: this.#facts()?.peerAddress }
      default:
        return undefined
    }
  }

  #facts(): PublisherFacts | undefined {
    if (!this.#isPublisherKnown) {
      this.#isPublisherKnown = true
      this.#publisher = this.#context.publisher(this.#message.publisher)
    }
    return this.#publisher
  }
}

/** A client of a namespace has the namespace as the attribute `tns`. `session`: the name of its session. */
export function attributesOf(session: string): RuleMap {
  const { namespace } = splitNamespacedName(session)
  return namespace === undefined ? noAttributes : { tns: namespace }
}

function peerName(facts: PublisherFacts | undefined): string | undefined {
  if (facts === undefined) return undefined
  const { peerAddress, peerPort } = facts
  return `${peerAddress.includes(':') ? `[${peerAddress}]` : peerAddress}:${peerPort ?? 0}`
}

/** Properties by the names of EMQX. */
export function publishProperties(properties: MessageProperties | undefined): RuleMap {
  if (properties === undefined) return noAttributes
  const { payloadFormatIndicator, messageExpiryIntervalSeconds, contentType, responseTopic, correlationData } =
    properties
  return {
    'Payload-Format-Indicator': payloadFormatIndicator,
    'Message-Expiry-Interval': messageExpiryIntervalSeconds,
    'Content-Type': contentType,
    'Response-Topic': responseTopic,
    'Correlation-Data': correlationData === undefined ? undefined : Buffer.from(correlationData),
    ...userProperties(properties.userProperties),
  }
}
