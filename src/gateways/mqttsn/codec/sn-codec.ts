// Writes packets to one client in its version of MQTT-SN. Packets from a client become requests of version 1.2 in both versions.

import type { QoS } from '../../../protocol/index.ts'
import type { SnRequest, SnReturnCode } from './sn-packets.ts'
import {
  type SnPublishFields,
  writeAck,
  writeBare,
  writeConnack,
  writePublish,
  writeRegister,
  writeSuback,
  writeTopicAck,
} from './write-sn-packet.ts'

/** The result of a request. `reasonCode`: the reason code of the broker, if there is one; only MQTT-SN 2.0 sends it to the client. */
export interface SnOutcome {
  readonly returnCode: SnReturnCode
  readonly reasonCode?: number | undefined
}

export interface RefusedPublication extends SnOutcome {
  readonly qos: QoS
  readonly topicId: number
  readonly messageId: number
}

export interface SnCodec {
  readonly version: 1 | 2
  /** A topic name of two bytes is its own topic ID. */
  readonly hasShortNames: boolean
  /** Returns undefined if the datagram is malformed. */
  read(datagram: Buffer): SnRequest | undefined
  connack(outcome: SnOutcome, isSessionPresent: boolean): Buffer
  register(topicId: number, messageId: number, topic: string): Buffer
  regack(topicId: number, messageId: number, outcome: SnOutcome): Buffer
  puback(topicId: number, messageId: number): Buffer
  /** Undefined: this version of MQTT-SN has no such response. */
  refusePublish(refused: RefusedPublication): Buffer | undefined
  ack(type: 'pubrec' | 'pubrel' | 'pubcomp' | 'unsuback', messageId: number): Buffer
  suback(qos: QoS, topicId: number, messageId: number, outcome: SnOutcome): Buffer
  /** Returns undefined if the packet is too large. */
  publish(fields: SnPublishFields): Buffer | undefined
  /** Undefined: in this version of MQTT-SN, only clients send it. */
  pingreq(): Buffer | undefined
  pingresp(): Buffer
  /** The client may sleep. */
  sleepResponse(): Buffer
  /** The response to DISCONNECT. Undefined: this version of MQTT-SN has none. */
  disconnectResponse(): Buffer | undefined
  disconnect(reasonCode?: number): Buffer
}

export function createSn1Codec(read: SnCodec['read']): SnCodec {
  return {
    version: 1,
    hasShortNames: true,
    read,
    connack: ({ returnCode }) => writeConnack(returnCode),
    register: writeRegister,
    regack: (topicId, messageId, { returnCode }) => writeTopicAck('regack', topicId, messageId, returnCode),
    puback: (topicId, messageId) => writeTopicAck('puback', topicId, messageId, 0),
    refusePublish: ({ topicId, messageId, returnCode }) => writeTopicAck('puback', topicId, messageId, returnCode),
    ack: writeAck,
    suback: (qos, topicId, messageId, { returnCode }) => writeSuback(qos, topicId, messageId, returnCode),
    publish: writePublish,
    pingreq: () => writeBare('pingreq'),
    pingresp: () => writeBare('pingresp'),
    sleepResponse: () => writeBare('disconnect'),
    disconnectResponse: () => writeBare('disconnect'),
    disconnect: () => writeBare('disconnect'),
  }
}
