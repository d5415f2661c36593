// A retained message whose payload is on disk only: what is needed to list it, to expire it, and to decide who may have it. Its
// properties are with the payload.

import type { QoS, Topic } from '../../protocol/index.ts'
import type { RetainedOrigin, Message } from './message.ts'
import { messageSize } from './message-size.ts'

export class StoredRetained {
  readonly topic: Topic
  readonly qos: QoS
  readonly payloadBytes: number
  /** Of the whole message, as limits count it. */
  readonly size: number
  readonly publisher: string
  readonly publisherUsername: string | undefined
  readonly isByOwnRight: boolean
  readonly publisherMountpoint: string
  readonly publishedAtMs: number
  readonly expiresAtMs: number
  readonly retainedOrigin: RetainedOrigin | undefined

  constructor(message: Message) {
    this.topic = message.topic
    this.qos = message.qos
    this.payloadBytes = message.payloadBytes
    this.size = messageSize(message.topic.name, message.payloadBytes, message.properties)
    this.publisher = message.publisher
    this.publisherUsername = message.publisherUsername
    this.isByOwnRight = message.isByOwnRight
    this.publisherMountpoint = message.publisherMountpoint
    this.publishedAtMs = message.publishedAtMs
    this.expiresAtMs = message.expiresAtMs
    this.retainedOrigin = message.retainedOrigin
  }
}

/** A small one is in memory whole. */
export type RetainedMessage = Message | StoredRetained
