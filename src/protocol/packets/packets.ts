// The packets of MQTT 3.1, 3.1.1 and 5.0 as values. One type is for all three versions: fields that a version
// does not have are `undefined` after decoding and omitted by encoding.
//
// The sender of a packet and its effects are not part of the types: the core has them.

import type {
  AckProperties,
  AuthProperties,
  ConnackProperties,
  ConnectProperties,
  DisconnectProperties,
  PublishProperties,
  SubscribeProperties,
  UnsubscribeProperties,
  WillProperties,
} from '../properties/properties.ts'
import type { ReasonCode } from '../reasons/reason-codes.ts'
import type { Topic } from '../topics/topic-table.ts'
import type { TopicFilter, TopicName } from '../topics/topic-names.ts'

/** The protocol level of CONNECT: 3 is MQTT 3.1 (MQIsdp), 4 is 3.1.1, 5 is 5.0. */
export type ProtocolVersion = 3 | 4 | 5

export type QoS = 0 | 1 | 2

/** 1 to 65,535. Zero never names a packet [MQTT-2.3.1-1] [MQTT5-2.2.1-3]. */
export type PacketId = number

export interface Will {
  topic: TopicName
  payload: Buffer
  qos: QoS
  retain: boolean
  properties: WillProperties | undefined
}

export interface ConnectPacket {
  readonly type: 'connect'
  version: ProtocolVersion
  clientId: string
  /** Clean session in 3.1 and 3.1.1, clean start in 5.0. */
  cleanStart: boolean
  keepAliveSeconds: number
  username: string | undefined
  password: Buffer | undefined
  will: Will | undefined
  properties: ConnectProperties | undefined
  /** The highest bit of the protocol level, with which bridges announce themselves to mosquitto and to this broker. */
  isBridge: boolean
}

export interface ConnackPacket {
  readonly type: 'connack'
  sessionPresent: boolean
  /** A reason code of 5.0, or a return code of 3.1.1 (0 to 5): the number on the wire. */
  reasonCode: number
  properties: ConnackProperties | undefined
}

/**
 * A PUBLISH in the chunk with which it was received. Nothing is copied: code that keeps it beyond the turn copies
 * `chunk[frameStart, frameEnd)`, or the chunk (up to 64 KiB) stays alive with it.
 *
 *   chunk:  ... | first byte | length | topic length | topic | packet id? | properties? | payload | ...
 *               ^ frameStart                                ^ packetIdAt                ^ payloadStart
 *                                                                                        frameEnd ^
 */
export class PublishPacket {
  readonly type = 'publish'
  /** Undefined only in 5.0 and only if `properties.topicAlias` replaces it. */
  topic: Topic | undefined
  qos: QoS
  retain: boolean
  dup: boolean
  /** 0 if the QoS is 0. */
  packetId: PacketId
  /** Undefined if there are none (always in 3.1 and 3.1.1). */
  properties: PublishProperties | undefined
  chunk: Buffer
  frameStart: number
  /** Offset of the two bytes of the packet identifier; 0 if the QoS is 0. */
  packetIdAt: number
  payloadStart: number
  frameEnd: number

  constructor(topic: Topic | undefined, flags: { qos: QoS; retain: boolean; dup: boolean }, chunk: Buffer) {
    this.topic = topic
    this.qos = flags.qos
    this.retain = flags.retain
    this.dup = flags.dup
    this.packetId = 0
    this.properties = undefined
    this.chunk = chunk
    this.frameStart = 0
    this.packetIdAt = 0
    this.payloadStart = 0
    this.frameEnd = 0
  }
}

export type AckType = 'puback' | 'pubrec' | 'pubrel' | 'pubcomp'

export class AckPacket {
  readonly type: AckType
  readonly packetId: PacketId
  readonly reasonCode: ReasonCode
  readonly properties: AckProperties | undefined

  constructor(type: AckType, packetId: PacketId, reasonCode: ReasonCode, properties: AckProperties | undefined) {
    this.type = type
    this.packetId = packetId
    this.reasonCode = reasonCode
    this.properties = properties
  }
}

/** 0: send retained messages at every subscribe, 1: only if the subscription is new, 2: never. */
export type RetainHandling = 0 | 1 | 2

export interface SubscriptionRequest {
  filter: TopicFilter
  qos: QoS
  noLocal: boolean
  retainAsPublished: boolean
  retainHandling: RetainHandling
}

export interface SubscribePacket {
  readonly type: 'subscribe'
  packetId: PacketId
  /** At least one [MQTT-3.8.3-3]. An invalid filter is an error of the whole packet. */
  subscriptions: SubscriptionRequest[]
  properties: SubscribeProperties | undefined
}

export interface SubackPacket {
  readonly type: 'suback'
  packetId: PacketId
  /** One for each filter, in order: granted QoS or a failure (0x80 in 3.1.1, any of 5.0's in 5.0). */
  reasonCodes: number[]
  properties: AckProperties | undefined
}

export interface UnsubscribePacket {
  readonly type: 'unsubscribe'
  packetId: PacketId
  filters: TopicFilter[]
  properties: UnsubscribeProperties | undefined
}

export interface UnsubackPacket {
  readonly type: 'unsuback'
  packetId: PacketId
  /** Empty in 3.1 and 3.1.1, where UNSUBACK has a packet identifier only. */
  reasonCodes: number[]
  properties: AckProperties | undefined
}

export interface PingreqPacket {
  readonly type: 'pingreq'
}

export interface PingrespPacket {
  readonly type: 'pingresp'
}

export interface DisconnectPacket {
  readonly type: 'disconnect'
  reasonCode: ReasonCode
  properties: DisconnectProperties | undefined
}

export interface AuthPacket {
  readonly type: 'auth'
  reasonCode: ReasonCode
  properties: AuthProperties | undefined
}

/** Every packet that can be written from a value. A PUBLISH is written from `PublishFields` (see `write-publish.ts`). */
export type ControlPacket =
  | ConnectPacket
  | ConnackPacket
  | AckPacket
  | SubscribePacket
  | SubackPacket
  | UnsubscribePacket
  | UnsubackPacket
  | PingreqPacket
  | PingrespPacket
  | DisconnectPacket
  | AuthPacket

/** Every packet that can be read. */
export type Packet = PublishPacket | ControlPacket
