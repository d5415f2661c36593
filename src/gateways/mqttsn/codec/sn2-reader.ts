// Decodes a datagram of MQTT-SN 2.0 [Committee Specification Draft 01] as the request of 1.2 that means the same, with what only 2.0
// can say beside it. Returns undefined for an invalid one, which is dropped.

import type { QoS } from '../../../protocol/index.ts'
import type { ConnectOptions, SnFlags, SnRequest, SubscriptionOptions, TopicKind } from './sn-packets.ts'
import { decodeText } from './read-sn-packet.ts'
import { FieldReader } from './sn2-field-reader.ts'
import { sn2PacketTypes, sn2ReasonCodes, sn2TopicTypes } from './sn2-packet-types.ts'

const longLength = 0x01
const basicMethod = 'MQTT-BASIC'
const firstFailure = 0x80
const noFlags: SnFlags = { dup: false, qos: 0, retain: false, will: false, cleanSession: false, topicKind: 0 }

export function readSn2Packet(datagram: Buffer): SnRequest | undefined {
  if (datagram.length < 2) return undefined
  const isLong = datagram[0] === longLength
  if (isLong && datagram.length < 4) return undefined
  const length = isLong ? datagram.readUInt16BE(1) : datagram.readUInt8(0)
  if (length !== datagram.length) return undefined
  const typeAt = isLong ? 3 : 1
  const fields = new FieldReader(datagram.subarray(typeAt + 1))
  const request = readBody(datagram.readUInt8(typeAt), fields)
  return fields.isTruncated ? undefined : request
}

function readBody(type: number, fields: FieldReader): SnRequest | undefined {
  switch (type) {
    case sn2PacketTypes.searchgw:
      return { type: 'searchgw', radius: 0 }
    case sn2PacketTypes.connect:
      return readConnect(fields)
    case sn2PacketTypes.register:
      return readRegister(fields)
    case sn2PacketTypes.regack:
      return readRegack(fields)
    case sn2PacketTypes.pubwos:
      return readPublish(fields, true)
    case sn2PacketTypes.publish:
      return readPublish(fields, false)
    case sn2PacketTypes.puback:
      return readPuback(fields)
    case sn2PacketTypes.pubrec:
      return readPubrec(fields)
    case sn2PacketTypes.pubrel:
      return readAck('pubrel', fields)
    case sn2PacketTypes.pubcomp:
      return readAck('pubcomp', fields)
    case sn2PacketTypes.subscribe:
      return readSubscription('subscribe', fields)
    case sn2PacketTypes.unsubscribe:
      return readSubscription('unsubscribe', fields)
    case sn2PacketTypes.pingreq:
      return requireEnd(fields, { type: 'pingreq', clientId: undefined, messageId: fields.uint16() })
    case sn2PacketTypes.sleepreq:
      return readSleep(fields)
    case sn2PacketTypes.disconnect:
      return readDisconnect(fields)
    default:
      return undefined
  }
}

function requireEnd(fields: FieldReader, request: SnRequest): SnRequest | undefined {
  return fields.remaining === 0 ? request : undefined
}

/** [3.1] */
function readConnect(fields: FieldReader): SnRequest | undefined {
  const flags = fields.uint8()
  const willFlags = (flags & 0x02) === 0 ? undefined : fields.uint8()
  const messageId = fields.uint16()
  const protocolId = fields.uint8()
  const durationSeconds = fields.uint16()
  const maxPacketBytes = fields.uint16()
  if ((flags & 0x10) !== 0) fields.uint8() // Default Awake Messages.
  const sessionExpirySeconds = (flags & 0x08) === 0 ? 0 : fields.uint32()
  const will = willFlags === undefined ? undefined : readWill(willFlags, fields)
  const credentials = (flags & 0x04) === 0 ? {} : readCredentials(fields)
  const clientId = decodeText(fields.rest())
  const isBad = (flags & 0x80) !== 0 || (maxPacketBytes !== 0 && maxPacketBytes < 10)
  if (isBad || protocolId !== 2 || clientId === undefined || credentials === undefined) return undefined
  if (willFlags !== undefined && will === undefined) return undefined
  const options: ConnectOptions = {
    messageId,
    startsClean: (flags & 0x01) !== 0,
    sessionExpirySeconds,
    maxPacketBytes,
    will,
    ...credentials,
  }
  const connectFlags = { ...noFlags, will: will !== undefined, cleanSession: sessionExpirySeconds === 0 }
  return { type: 'connect', flags: connectFlags, protocolId, durationSeconds, clientId, options }
}

function readWill(octet: number, fields: FieldReader): ConnectOptions['will'] {
  const qos = (octet >> 2) & 3
  const topicKind = (octet & 3) as TopicKind
  const idOrLength = fields.uint16()
  const topic = topicKind === sn2TopicTypes.name ? decodeText(fields.bytes(idOrLength)) : undefined
  const message = fields.bytes(fields.uint16())
  const isNamed = topicKind === sn2TopicTypes.name && topic !== undefined
  if ((octet & 0xe0) !== 0 || qos === 3 || !(isNamed || topicKind === sn2TopicTypes.predefined)) return undefined
  const flags: SnFlags = { ...noFlags, qos: qos as QoS, retain: (octet & 0x10) !== 0, will: true }
  return { topic: topic ?? idOrLength, flags, message: message.toString('base64') }
}

/** [4.11.1.2] User name and password; other methods are refused. Undefined: malformed. */
function readCredentials(fields: FieldReader): Pick<ConnectOptions, 'username' | 'password' | 'problem'> | undefined {
  const method = decodeText(fields.bytes(fields.uint8()))
  const data = new FieldReader(fields.bytes(fields.uint16()))
  if (method !== basicMethod) return { problem: sn2ReasonCodes.badAuthenticationMethod }
  const username = decodeText(data.bytes(data.uint16()))
  const password = data.bytes(data.uint16()).toString('base64')
  return data.isTruncated || data.remaining > 0 || username === undefined ? undefined : { username, password }
}

function readRegister(fields: FieldReader): SnRequest | undefined {
  const flags = fields.uint8()
  const messageId = fields.uint16()
  const topic = decodeText(fields.rest())
  if (flags !== 0 || topic === undefined || topic === '') return undefined
  return { type: 'register', messageId, topic }
}

/** The alias is that of the REGISTER with this ID. */
function readRegack(fields: FieldReader): SnRequest | undefined {
  const flags = fields.uint8()
  const messageId = fields.uint16()
  const returnCode = fields.readReasonCode()
  // [3.5.4-1] A client sends no alias.
  return (flags & 0xfc) === 0 ? requireEnd(fields, { type: 'regack', topicId: 0, messageId, returnCode }) : undefined
}

/** [3.6.1, 3.6.2, 3.6.3] */
function readPublish(fields: FieldReader, isWithoutSession: boolean): SnRequest | undefined {
  const octet = fields.uint8()
  const qos = (octet >> 5) & 3
  const topicKind = (octet & 3) as TopicKind
  if ((octet & 0x0c) !== 0 || qos === 3 || (isWithoutSession && (octet & 0xe0) !== 0)) return undefined
  const messageId = qos === 0 ? 0 : fields.uint16()
  const idOrLength = fields.uint16()
  const topic = topicKind === sn2TopicTypes.name ? decodeText(fields.bytes(idOrLength)) : undefined
  if (topicKind === 2 || (topicKind === sn2TopicTypes.name && topic === undefined)) return undefined
  if (isWithoutSession && topicKind === sn2TopicTypes.session) return undefined
  const flags: SnFlags = {
    ...noFlags,
    dup: (octet & 0x80) !== 0,
    qos: isWithoutSession ? -1 : (qos as QoS),
    retain: (octet & 0x10) !== 0,
    topicKind,
  }
  const topicId = topic === undefined ? idOrLength : 0
  return {
    type: 'publish',
    flags,
    topicId,
    messageId,
    payload: fields.rest(),
    ...(topic === undefined ? {} : { topic }),
  }
}

function readPuback(fields: FieldReader): SnRequest | undefined {
  const messageId = fields.uint16()
  return requireEnd(fields, { type: 'puback', topicId: 0, messageId, returnCode: fields.readReasonCode() })
}

/** [4.3.4] With a failure it ends the delivery, as PUBACK does. */
function readPubrec(fields: FieldReader): SnRequest | undefined {
  const messageId = fields.uint16()
  const returnCode = fields.readReasonCode()
  if (returnCode < firstFailure) return requireEnd(fields, { type: 'pubrec', messageId })
  return requireEnd(fields, { type: 'puback', topicId: 0, messageId, returnCode })
}

function readAck(type: 'pubrel' | 'pubcomp', fields: FieldReader): SnRequest | undefined {
  const messageId = fields.uint16()
  fields.readReasonCode()
  return requireEnd(fields, { type, messageId })
}

/** [3.7, 3.9] */
function readSubscription(type: 'subscribe' | 'unsubscribe', fields: FieldReader): SnRequest | undefined {
  const octet = fields.uint8()
  const messageId = fields.uint16()
  const topicType = octet & 3
  const qos = (octet >> 5) & 3
  const retainHandling = (octet >> 2) & 3
  const isBad = type === 'subscribe' ? qos === 3 || retainHandling === 3 : (octet & 0xfc) !== 0
  if (isBad || topicType === 2) return undefined
  const flags: SnFlags = { ...noFlags, qos: qos as QoS, topicKind: topicType === sn2TopicTypes.predefined ? 1 : 0 }
  const options: SubscriptionOptions = {
    noLocal: (octet & 0x80) !== 0,
    retainAsPublished: (octet & 0x10) !== 0,
    retainHandling: retainHandling as 0 | 1 | 2,
  }
  if (topicType === sn2TopicTypes.name) {
    const topic = decodeText(fields.rest())
    return topic === undefined || topic === '' ? undefined : { type, flags, messageId, topic, topicId: 0, options }
  }
  const isAlias = topicType === sn2TopicTypes.session
  return requireEnd(fields, { type, flags, messageId, topic: '', topicId: fields.uint16(), isAlias, options })
}

/** [3.15] */
function readSleep(fields: FieldReader): SnRequest | undefined {
  const flags = fields.uint8()
  const messageId = fields.uint16()
  const durationSeconds = fields.uint32()
  if ((flags & 0xfe) !== 0 || durationSeconds === 0) return undefined
  return requireEnd(fields, { type: 'disconnect', durationSeconds, messageId, forgetsTopicIds: (flags & 1) === 0 })
}

/** [3.13] */
function readDisconnect(fields: FieldReader): SnRequest | undefined {
  // Paho clients omit the flags if none is set.
  const flags = fields.remaining === 0 ? 0 : fields.uint8()
  if ((flags & 0xf8) !== 0) return undefined
  if ((flags & 0x01) !== 0) fields.uint16()
  // In this order in the figure of the packet: reason code before session expiry [3.13.4, 3.13.5].
  const reasonCode = (flags & 0x04) === 0 ? 0 : fields.uint8()
  const sessionExpirySeconds = (flags & 0x02) === 0 ? undefined : fields.uint32()
  fields.rest()
  return { type: 'disconnect', durationSeconds: undefined, hasFailed: reasonCode !== 0, sessionExpirySeconds }
}
