// Forms of a retained message in memory. There may be a million: each field and each object counts.
//
//   SmallRetained    about 0.4 KiB: the payload is a string of one byte per character, the topic a name
//   Message          above `maxSmallPayloadBytes`: unchanged, with buffers of its own
//   StoredRetained   above retainer.max_size_in_memory: payload and properties are on disk only

import { Topic, type MessageProperties, type QoS, type TopicName } from '../../protocol/index.ts'
import { copyRetainedFields, Message, never, type RetainedOrigin } from './message.ts'
import { measureMessage } from './measure-message.ts'

/**
 * A number that is not a small integer of V8 takes 16 further bytes in each object, so a time is two: `2 ** 30` ms and the rest.
 * The first one has the flags as well.
 */
const timeUnit = 2 ** 30
const flagValues = 16
const flags = { qos: 0x03, isByOwnRight: 0x04, retain: 0x08 } as const

/** The properties that are needed to list a retained message, to expire it, and to decide which client may receive it. */
class RetainedMetadata {
  readonly topicName: TopicName
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly publisherMountpoint: string
  /** Time of publication in units, multiplied by `flagValues`, with the flags. */
  readonly #unitsAndFlags: number
  readonly #restMs: number
  /** Undefined: never. */
  readonly #expiresAtMs: number | undefined
  readonly retainedOrigin: RetainedOrigin | undefined

  constructor(message: Message) {
    this.topicName = message.topic.name
    this.publisher = message.publisher
    this.publisherUsername = message.publisherUsername
    this.publisherMountpoint = message.publisherMountpoint
    const units = Math.floor(message.publishedAtMs / timeUnit)
    const own = (message.isByOwnRight ? flags.isByOwnRight : 0) | (message.retain ? flags.retain : 0)
    this.#unitsAndFlags = units * flagValues + (message.qos | own)
    this.#restMs = message.publishedAtMs - units * timeUnit
    this.#expiresAtMs = message.expiresAtMs === never ? undefined : message.expiresAtMs
    this.retainedOrigin = message.retainedOrigin
  }

  get qos(): QoS {
    return (this.#unitsAndFlags & flags.qos) as QoS
  }

  get isByOwnRight(): boolean {
    return (this.#unitsAndFlags & flags.isByOwnRight) !== 0
  }

  get retain(): boolean {
    return (this.#unitsAndFlags & flags.retain) !== 0
  }

  get publishedAtMs(): number {
    return Math.floor(this.#unitsAndFlags / flagValues) * timeUnit + this.#restMs
  }

  get expiresAtMs(): number {
    return this.#expiresAtMs ?? never
  }

  /** Created at each call. */
  get topic(): Topic {
    return new Topic(this.topicName, Buffer.from(this.topicName))
  }
}

/** Retained message whose payload and properties are on disk only. */
export class StoredRetained extends RetainedMetadata {
  readonly payloadBytes: number
  /** Size of the whole message, as limits count it. */
  readonly size: number

  constructor(message: Message) {
    super(message)
    this.payloadBytes = message.payloadBytes
    this.size = measureMessage(message.topic.name, message.payloadBytes, message.properties)
  }
}

/** In memory with as few objects as possible: buffers for the payload and the topic took 0.8 KiB. */
export class SmallRetained extends RetainedMetadata {
  readonly properties: MessageProperties | undefined
  /** Each character is a byte. */
  readonly #payload: string

  /** `message.payloadBytes` is at most `maxSmallPayloadBytes`. */
  constructor(message: Message) {
    super(message)
    this.properties = message.properties
    this.#payload = message.chunk.toString('latin1', message.payloadStart, message.frameEnd)
  }

  get payloadBytes(): number {
    return this.#payload.length
  }

  /** Creates the message at each call. */
  createMessage(): Message {
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

/** Returns the message of a form that has its payload in memory. */
export function toMessage(retained: Message | SmallRetained): Message {
  return retained instanceof SmallRetained ? retained.createMessage() : retained
}

export type RetainedMessage = Message | SmallRetained | StoredRetained
