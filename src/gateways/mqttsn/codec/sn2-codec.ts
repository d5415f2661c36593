// Encodes packets of MQTT-SN 2.0 to one client [Committee Specification Draft 01]. It stores the packet identifiers that responses
// repeat, and the topic aliases of recent registrations.

import { reasonCodes } from '../../../protocol/index.ts'
import { returnCodes, type SnRequest, type SnReturnCode } from './sn-packets.ts'
import type { RefusedPublication, SnCodec, SnOutcome } from './sn-codec.ts'
import { encodeFlags, maxDatagramBytes, encodePacket, type SnPublishFields, uint16 } from './write-sn-packet.ts'
import { sn2PacketTypes as types, sn2ReasonCodes, sn2TopicTypes } from './sn2-packet-types.ts'
import { readSn2Packet } from './sn2-reader.ts'

const firstFailure = 0x80
const aliasFlag = 0x04
const reasonFlag = 0x04
/** Maximum number of pending registrations; a further one replaces the oldest. */
const maxRegistrations = 64

export class Sn2Codec implements SnCodec {
  readonly version = 2
  readonly hasShortNames = false
  readonly #clientId: string
  /** The broker has chosen the client ID, which CONNACK contains. */
  readonly #isAssigned: boolean
  readonly #maxPacketBytes: number
  #connectId: number
  #pingId = 0
  #sleepId = 0
  #publishedAlias = 0
  readonly #registrations = new Map<number, number>()

  constructor(connect: SnRequest & { type: 'connect' }, isAssigned: boolean) {
    this.#clientId = connect.clientId
    this.#isAssigned = isAssigned
    this.#connectId = connect.options?.messageId ?? 0
    const requestedBytes = connect.options?.maxPacketBytes ?? 0
    this.#maxPacketBytes = requestedBytes === 0 ? maxDatagramBytes : requestedBytes
  }

  read(datagram: Buffer): SnRequest | undefined {
    const request = readSn2Packet(datagram)
    switch (request?.type) {
      case 'connect':
        this.#connectId = request.options?.messageId ?? 0
        return request.clientId === '' ? { ...request, clientId: this.#clientId } : request
      case 'pingreq':
        this.#pingId = request.messageId ?? 0
        return { ...request, clientId: this.#clientId }
      case 'disconnect':
        this.#sleepId = request.messageId ?? 0
        return request
      case 'puback':
        return { ...request, topicId: this.#publishedAlias, returnCode: toReturnCode(request.returnCode) }
      case 'regack': {
        const topicId = this.#registrations.get(request.messageId) ?? 0
        this.#registrations.delete(request.messageId)
        return { ...request, topicId, returnCode: toReturnCode(request.returnCode) }
      }
      default:
        return request
    }
  }

  connack(outcome: SnOutcome, isSessionPresent: boolean): Buffer {
    const isAccepted = outcome.returnCode === returnCodes.accepted
    const assigned = isAccepted && this.#isAssigned ? this.#clientId : ''
    const head = Buffer.of(isAccepted && isSessionPresent ? 1 : 0, ...uint16(this.#connectId), toReasonCode(outcome))
    return encodePacket(types.connack, Buffer.concat([head, Buffer.from(assigned)]))
  }

  register(topicId: number, messageId: number, topic: string): Buffer {
    const [oldest] = this.#registrations.keys()
    if (this.#registrations.size >= maxRegistrations && oldest !== undefined) this.#registrations.delete(oldest)
    this.#registrations.set(messageId, topicId)
    return encodePacket(types.register, Buffer.concat([Buffer.of(1), uint16(messageId, topicId), Buffer.from(topic)]))
  }

  regack(topicId: number, messageId: number, outcome: SnOutcome): Buffer {
    const reasonCode = toReasonCode(outcome)
    if (reasonCode >= firstFailure) return encodePacket(types.regack, Buffer.of(0, ...uint16(messageId), reasonCode))
    const isPredefined = reasonCode === sn2ReasonCodes.topicAliasExists
    const flags = aliasFlag | (isPredefined ? sn2TopicTypes.predefined : sn2TopicTypes.session)
    return encodePacket(types.regack, Buffer.of(flags, ...uint16(messageId, topicId), reasonCode))
  }

  puback(_: number, messageId: number): Buffer {
    return encodePacket(types.puback, Buffer.of(...uint16(messageId), 0))
  }

  /** A publication with QoS 0 has no packet identifier. */
  refusePublish({ qos, messageId, ...outcome }: RefusedPublication): Buffer | undefined {
    if (qos === 0) return undefined
    return encodePacket(qos === 1 ? types.puback : types.pubrec, Buffer.of(...uint16(messageId), toReasonCode(outcome)))
  }

  ack(type: 'pubrec' | 'pubrel' | 'pubcomp' | 'unsuback', messageId: number): Buffer {
    return encodePacket(types[type], Buffer.of(...uint16(messageId), 0))
  }

  suback(qos: number, topicId: number, messageId: number, outcome: SnOutcome): Buffer {
    const isGranted = outcome.returnCode === returnCodes.accepted
    const reasonCode = isGranted ? qos : toReasonCode(outcome)
    // [3.8.2.1-2] Without an alias the type is that of a predefined one.
    if (topicId === 0 || !isGranted)
      return encodePacket(types.suback, Buffer.of(sn2TopicTypes.predefined, ...uint16(messageId), reasonCode))
    return encodePacket(types.suback, Buffer.of(aliasFlag, ...uint16(messageId, topicId), reasonCode))
  }

  publish(fields: SnPublishFields): Buffer | undefined {
    const { qos, topicId, messageId, payload } = fields
    this.#publishedAlias = topicId
    const numbers = qos === 0 ? uint16(topicId) : uint16(messageId, topicId)
    const bytes = encodePacket(types.publish, Buffer.concat([Buffer.of(encodeFlags(fields)), numbers, payload]))
    return bytes.length > Math.min(this.#maxPacketBytes, maxDatagramBytes) ? undefined : bytes
  }

  pingreq(): undefined {
    return undefined
  }

  pingresp(): Buffer {
    return encodePacket(types.pingresp, uint16(this.#pingId))
  }

  sleepResponse(): Buffer {
    return encodePacket(types.sleepresp, Buffer.of(0, ...uint16(this.#sleepId), 0))
  }

  disconnectResponse(): undefined {
    // [3.13.7-4] Nothing is sent after DISCONNECT.
    return undefined
  }

  disconnect(reasonCode: number = reasonCodes.unspecifiedError): Buffer {
    return writeSn2Disconnect(reasonCode)
  }
}

/** Writes DISCONNECT, also for a client that is not known. */
export function writeSn2Disconnect(reasonCode: number): Buffer {
  return encodePacket(types.disconnect, Buffer.of(reasonFlag, reasonCode))
}

export function writeSn2Connack(messageId: number, reasonCode: number): Buffer {
  return encodePacket(types.connack, Buffer.of(0, ...uint16(messageId), reasonCode))
}

export function writeSn2Gwinfo(gatewayId: number): Buffer {
  return encodePacket(types.gwinfo, Buffer.of(gatewayId))
}

function toReasonCode({ returnCode, reasonCode }: SnOutcome): number {
  if (reasonCode !== undefined) return reasonCode
  switch (returnCode) {
    case returnCodes.accepted:
      return reasonCodes.success
    case returnCodes.congestion:
      return sn2ReasonCodes.congestion
    case returnCodes.invalidTopicId:
      return sn2ReasonCodes.unknownTopicAlias
    case returnCodes.notSupported:
      return sn2ReasonCodes.implementationSpecific
    default:
      return returnCode satisfies never
  }
}

function toReturnCode(reasonCode: number): SnReturnCode {
  if (reasonCode < firstFailure) return returnCodes.accepted
  return reasonCode === sn2ReasonCodes.unknownTopicAlias ? returnCodes.invalidTopicId : returnCodes.notSupported
}
