// What people sent, once it has come off the wire. One object for each publication, however many receive it.

import type { MessageProperties, PublishPacket, QoS, Topic } from '../protocol/index.ts'
import type { StoredMessage } from './records.ts'

/** No expiry. */
export const never = Infinity

/**
 * Which versions can take the bytes of the frame as they are: 0: there is no frame, only a payload;
 * 4: without a property section (3.1, 3.1.1); 5: with one.
 */
export type FrameShape = 0 | 4 | 5

/**
 * A message and where its bytes lie. While it is on its way through one turn they are the publisher's chunk
 * (`isOwned` false); what stays longer is copied by `own` first, or 64 bytes keep 64 KiB alive.
 *
 *   chunk:  ... | first byte | length | topic length | topic | packet id? | properties? | payload | ...
 *               ^ frameStart                                ^ packetIdAt                ^ payloadStart
 *                                                                                        frameEnd ^
 */
export class Message {
  readonly topic: Topic
  /** As published. */
  readonly qos: QoS
  /** As published. */
  readonly retain: boolean
  readonly properties: MessageProperties | undefined
  /** The client id of the publisher, '' where it is not a client. */
  readonly publisher: string
  readonly publishedAtMs: number
  /** `never` or a time. */
  readonly expiresAtMs: number
  chunk: Buffer
  frameShape: FrameShape
  frameStart: number
  /** 0 where the frame has no packet id. */
  packetIdAt: number
  payloadStart: number
  frameEnd: number
  isOwned: boolean
  /** The id of the stored body that several queues share, 0 where there is none. */
  bodyId: number

  constructor(topic: Topic, from: MessageSource) {
    this.topic = topic
    this.qos = from.qos
    this.retain = from.retain
    this.properties = from.properties
    this.publisher = from.publisher
    this.publishedAtMs = from.publishedAtMs
    this.expiresAtMs = from.expiresAtMs
    this.chunk = from.chunk
    this.frameShape = 0
    this.frameStart = from.payloadStart
    this.packetIdAt = 0
    this.payloadStart = from.payloadStart
    this.frameEnd = from.payloadEnd
    this.isOwned = false
    this.bodyId = 0
  }

  get payloadBytes(): number {
    return this.frameEnd - this.payloadStart
  }

  payload(): Buffer {
    return this.chunk.subarray(this.payloadStart, this.frameEnd)
  }
}

export interface MessageSource {
  qos: QoS
  retain: boolean
  properties: MessageProperties | undefined
  publisher: string
  publishedAtMs: number
  expiresAtMs: number
  chunk: Buffer
  payloadStart: number
  payloadEnd: number
}
