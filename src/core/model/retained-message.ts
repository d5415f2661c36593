// What is in memory of a retained message. There may be a million: each field and each object counts.
//
//   SmallRetained    about 0.4 KiB: the payload is a string of one byte per character, the topic a name
//   Message          above `maxSmallPayloadBytes`: as it came, with buffers of its own
//   StoredRetained   above retainer.max_size_in_memory: the payload and the properties are on disk only

import { Topic, type MessageProperties, type QoS, type TopicName } from '../../protocol/index.ts'
import { copyRetainedFields, Message, never, type RetainedOrigin } from './message.ts'
import { messageSize } from './message-size.ts'

/** What is needed to list a retained message, to expire it, and to decide which client may have it. */
class RetainedMetadata {
  readonly topicName: TopicName
  readonly qos: QoS
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly isByOwnRight: boolean
  readonly publisherMountpoint: string
  readonly publishedAtMs: number
  /** Undefined: never. A number that is none of V8's small integers takes 16 bytes more in each object. */
  readonly #expiresAtMs: number | undefined
  readonly retainedOrigin: RetainedOrigin | undefined

  constructor(message: Message) {
    this.topicName = message.topic.name
    this.qos = message.qos
    this.publisher = message.publisher
    this.publisherUsername = message.publisherUsername
    this.isByOwnRight = message.isByOwnRight
    this.publisherMountpoint = message.publisherMountpoint
    this.publishedAtMs = message.publishedAtMs
    this.#expiresAtMs = message.expiresAtMs === never ? undefined : message.expiresAtMs
    this.retainedOrigin = message.retainedOrigin
  }

  get expiresAtMs(): number {
    return this.#expiresAtMs ?? never
  }

  /** Made for each caller. */
  get topic(): Topic {
    return new Topic(this.topicName, Buffer.from(this.topicName))
  }
}

/** Its payload is on disk only, and its properties with it. */
export class StoredRetained extends RetainedMetadata {
  readonly payloadBytes: number
  /** Of the whole message, as limits count it. */
  readonly size: number

  constructor(message: Message) {
    super(message)
    this.payloadBytes = message.payloadBytes
    this.size = messageSize(message.topic.name, message.payloadBytes, message.properties)
  }
}

/** In memory whole, in as few objects as possible: a Buffer for the payload and one for the topic took 0.8 KiB. */
export class SmallRetained extends RetainedMetadata {
  readonly properties: MessageProperties | undefined
  readonly retain: boolean
  /** Each character is a byte. */
  readonly #payload: string

  /** `message.payloadBytes` is at most `maxSmallPayloadBytes`. */
  constructor(message: Message) {
    super(message)
    this.properties = message.properties
    this.retain = message.retain
    this.#payload = message.chunk.toString('latin1', message.payloadStart, message.frameEnd)
  }

  get payloadBytes(): number {
    return this.#payload.length
  }

  /** The message, made for each caller. */
  message(): Message {
    const chunk = Buffer.from(this.#payload, 'latin1')
    const message = new Message(this.topic, {
      qos: this.qos,
      retain: this.retain,
      properties: this.properties,
      publisher: this.publisher,
      publishedAtMs: this.publishedAtMs,
      expiresAtMs: this.expiresAtMs,
      chunk,
      payloadStart: 0,
      payloadEnd: chunk.length,
    })
    copyRetainedFields(message, this)
    return message
  }
}

/** The message, unless its payload has to be read. */
export function wholeMessage(retained: Message | SmallRetained): Message {
  return retained instanceof SmallRetained ? retained.message() : retained
}

export type RetainedMessage = Message | SmallRetained | StoredRetained
