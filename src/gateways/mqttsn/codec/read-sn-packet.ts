// Decodes a datagram of MQTT-SN 1.2 [5.2]: length, type, body. Returns undefined for an invalid one, which is dropped.

import {
  packetTypes,
  type SnFlags,
  type SnQoS,
  type SnRequest,
  type TopicKind,
  type WirelessNode,
} from './sn-packets.ts'

const utf8 = new TextDecoder('utf-8', { fatal: true })
/** First byte of a length with three bytes. */
const longLength = 0x01
const maxWirelessNodeBytes = 64

/** A packet from a forwarder [5.4.20], and its node. */
export interface ForwardedPacket {
  /** Undefined: the packet came without a forwarder. */
  readonly node: WirelessNode | undefined
  readonly bytes: Buffer
}

/** Removes the encapsulation of a forwarder, if there is one. Undefined: invalid. */
export function unwrapForwarded(datagram: Buffer): ForwardedPacket | undefined {
  if (datagram.length < 3 || datagram[1] !== packetTypes.forward || datagram[0] === longLength)
    return { node: undefined, bytes: datagram }
  const headBytes = datagram[0] ?? 0
  if (headBytes < 4 || headBytes > datagram.length || headBytes - 3 > maxWirelessNodeBytes) return undefined
  return { node: datagram.toString('latin1', 3, headBytes) as WirelessNode, bytes: datagram.subarray(headBytes) }
}

export function readPacket(datagram: Buffer): SnRequest | undefined {
  if (datagram.length < 2) return undefined
  const isLong = datagram[0] === longLength
  if (isLong && datagram.length < 4) return undefined
  const length = isLong ? datagram.readUInt16BE(1) : datagram.readUInt8(0)
  if (length !== datagram.length) return undefined
  const typeAt = isLong ? 3 : 1
  return readBody(datagram.readUInt8(typeAt), datagram.subarray(typeAt + 1))
}

function readBody(type: number, body: Buffer): SnRequest | undefined {
  switch (type) {
    case packetTypes.searchgw:
      return body.length === 1 ? { type: 'searchgw', radius: body.readUInt8(0) } : undefined
    case packetTypes.connect:
      return readConnect(body)
    case packetTypes.willtopic:
    case packetTypes.willtopicupd:
      return readWillTopic(type === packetTypes.willtopic ? 'willtopic' : 'willtopicupd', body)
    case packetTypes.willmsg:
      return { type: 'willmsg', message: body }
    case packetTypes.willmsgupd:
      return { type: 'willmsgupd', message: body }
    case packetTypes.register:
      return readRegister(body)
    case packetTypes.regack:
      return readTopicAck('regack', body)
    case packetTypes.puback:
      return readTopicAck('puback', body)
    case packetTypes.publish:
      return readPublish(body)
    case packetTypes.pubrec:
      return readAck('pubrec', body)
    case packetTypes.pubrel:
      return readAck('pubrel', body)
    case packetTypes.pubcomp:
      return readAck('pubcomp', body)
    case packetTypes.subscribe:
      return readSubscription('subscribe', body)
    case packetTypes.unsubscribe:
      return readSubscription('unsubscribe', body)
    case packetTypes.pingreq:
      return readPing(body)
    case packetTypes.pingresp:
      return body.length === 0 ? { type: 'pingresp' } : undefined
    case packetTypes.disconnect:
      return readDisconnect(body)
    default:
      return undefined
  }
}

/** The decoded flags of every octet, so that reading a datagram creates no object. */
const flagsOfOctet = Array.from({ length: 256 }, (_, octet) => decodeFlags(octet))

function readFlags(octet: number): SnFlags {
  return flagsOfOctet[octet] ?? decodeFlags(octet)
}

function decodeFlags(octet: number): SnFlags {
  const qos = (octet >> 5) & 3
  return {
    dup: (octet & 0x80) !== 0,
    qos: (qos === 3 ? -1 : qos) as SnQoS,
    retain: (octet & 0x10) !== 0,
    will: (octet & 0x08) !== 0,
    cleanSession: (octet & 0x04) !== 0,
    topicKind: (octet & 3) as TopicKind,
  }
}

function readConnect(body: Buffer): SnRequest | undefined {
  if (body.length < 4) return undefined
  const clientId = decodeText(body.subarray(4))
  if (clientId === undefined) return undefined
  return {
    type: 'connect',
    flags: readFlags(body.readUInt8(0)),
    protocolId: body.readUInt8(1),
    durationSeconds: body.readUInt16BE(2),
    clientId,
  }
}

function readWillTopic(type: 'willtopic' | 'willtopicupd', body: Buffer): SnRequest | undefined {
  if (body.length === 0) return { type, flags: readFlags(0), topic: undefined }
  const topic = decodeText(body.subarray(1))
  if (topic === undefined) return undefined
  return { type, flags: readFlags(body.readUInt8(0)), topic: topic === '' ? undefined : topic }
}

function readRegister(body: Buffer): SnRequest | undefined {
  if (body.length < 5) return undefined
  const topic = decodeText(body.subarray(4))
  return topic === undefined ? undefined : { type: 'register', messageId: body.readUInt16BE(2), topic }
}

function readTopicAck(type: 'regack' | 'puback', body: Buffer): SnRequest | undefined {
  if (body.length !== 5) return undefined
  return { type, topicId: body.readUInt16BE(0), messageId: body.readUInt16BE(2), returnCode: body.readUInt8(4) }
}

function readPublish(body: Buffer): SnRequest | undefined {
  if (body.length < 5) return undefined
  return {
    type: 'publish',
    flags: readFlags(body.readUInt8(0)),
    topicId: body.readUInt16BE(1),
    messageId: body.readUInt16BE(3),
    payload: body.subarray(5),
  }
}

function readAck(type: 'pubrec' | 'pubrel' | 'pubcomp', body: Buffer): SnRequest | undefined {
  return body.length === 2 ? { type, messageId: body.readUInt16BE(0) } : undefined
}

function readSubscription(type: 'subscribe' | 'unsubscribe', body: Buffer): SnRequest | undefined {
  if (body.length < 4) return undefined
  const flags = readFlags(body.readUInt8(0))
  const messageId = body.readUInt16BE(1)
  const rest = body.subarray(3)
  if (flags.topicKind === 1) {
    if (rest.length !== 2) return undefined
    return { type, flags, messageId, topic: '', topicId: rest.readUInt16BE(0) }
  }
  if (flags.topicKind === 2 && rest.length !== 2) return undefined
  const topic = decodeText(rest)
  return topic === undefined || topic === '' ? undefined : { type, flags, messageId, topic, topicId: 0 }
}

function readPing(body: Buffer): SnRequest | undefined {
  if (body.length === 0) return { type: 'pingreq', clientId: undefined }
  const clientId = decodeText(body)
  return clientId === undefined ? undefined : { type: 'pingreq', clientId }
}

function readDisconnect(body: Buffer): SnRequest | undefined {
  if (body.length === 0) return { type: 'disconnect', durationSeconds: undefined }
  return body.length === 2 ? { type: 'disconnect', durationSeconds: body.readUInt16BE(0) } : undefined
}

/** Undefined: not UTF-8, or with NUL. */
export function decodeText(bytes: Buffer): string | undefined {
  try {
    const text = utf8.decode(bytes)
    return text.includes('\0') ? undefined : text
  } catch {
    // Not UTF-8: the packet is malformed, and counted as such.
    return undefined
  }
}

/** Returns whether this is SEARCHGW, which searches for a gateway. */
export function isSearch(datagram: Buffer): boolean {
  return readPacket(datagram)?.type === 'searchgw'
}
