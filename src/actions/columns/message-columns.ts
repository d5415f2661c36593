// The columns of a message, which are computed from the message when a rule reads them.

import { splitNamespacedName, type Message } from '../../core/index.ts'
import type { MessageProperties } from '../../protocol/index.ts'
import type { EventFields } from '../../rules/index.ts'
import type { RuleMap, RuleValue } from '../../values/index.ts'
import { toUserProperties } from './packet-properties.ts'

/** State of the publisher while it is connected. */
export interface PublisherFacts {
  readonly username: string | undefined
  readonly peerAddress: string
  readonly peerPort: number | undefined
  readonly version: number
}

export interface MessageColumnsContext {
  readonly nodeName: string
  findPublisher(clientId: string): PublisherFacts | undefined
  createMessageId(): string
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

  listColumnNames(): readonly string[] {
    return names
  }

  readColumn(name: string): RuleValue {
    const message = this.#message
    switch (name) {
      case 'payload':
        // The chunk is reused, so the payload is copied.
        return Buffer.from(message.readPayload())
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
        return toClientAttributes(message.publisher)
      case 'id':
        return (this.#id ??= this.#context.createMessageId())
      case 'pub_props':
        return toPublishProperties(message.properties)
      default:
        return this.#readPublisherColumn(name)
    }
  }

  #readPublisherColumn(name: string): RuleValue {
    switch (name) {
      case 'username':
        return this.#findPublisher()?.username
      case 'peerhost':
        return this.#findPublisher()?.peerAddress
      case 'peername':
        return formatPeerName(this.#findPublisher())
      case 'headers':
        return {
          protocol: 'mqtt',
          proto_ver: this.#findPublisher()?.version,
          peerhost: this.#findPublisher()?.peerAddress,
        }
      default:
        return undefined
    }
  }

  #findPublisher(): PublisherFacts | undefined {
    if (!this.#isPublisherKnown) {
      this.#isPublisherKnown = true
      this.#publisher = this.#context.findPublisher(this.#message.publisher)
    }
    return this.#publisher
  }
}

/** A client of a namespace has the namespace as the attribute `tns`. `session`: the name of its session. */
export function toClientAttributes(session: string): RuleMap {
  const { namespace } = splitNamespacedName(session)
  return namespace === undefined ? noAttributes : { tns: namespace }
}

function formatPeerName(facts: PublisherFacts | undefined): string | undefined {
  if (facts === undefined) return undefined
  const { peerAddress, peerPort } = facts
  return `${peerAddress.includes(':') ? `[${peerAddress}]` : peerAddress}:${peerPort ?? 0}`
}

/** Properties by the names of EMQX. */
export function toPublishProperties(properties: MessageProperties | undefined): RuleMap {
  if (properties === undefined) return noAttributes
  const { payloadFormatIndicator, messageExpiryIntervalSeconds, contentType, responseTopic, correlationData } =
    properties
  return {
    'Payload-Format-Indicator': payloadFormatIndicator,
    'Message-Expiry-Interval': messageExpiryIntervalSeconds,
    'Content-Type': contentType,
    'Response-Topic': responseTopic,
    'Correlation-Data': correlationData === undefined ? undefined : Buffer.from(correlationData),
    ...toUserProperties(properties.userProperties),
  }
}
