// Decodes CONNECT (section 3.1).

import type { ByteReader } from '../bytes/byte-reader.ts'
import type { PacketLimits } from './packet-limits.ts'
import type { ConnectPacket, ProtocolVersion, QoS, Will } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import { readProperties } from '../properties/read-properties.ts'
import { countLevels } from '../topics/topic-names.ts'
import { checkTopicBytes, checkTopicLevels, checkTopicName } from '../topics/topic-table.ts'

/** The highest bit of the level is not a part of it: with this bit, mosquitto recognizes bridges. */
export const bridgeBit = 0x80

export const connectFlagBits = {
  reserved: 0x01,
  cleanStart: 0x02,
  will: 0x04,
  willQoSShift: 3,
  willRetain: 0x20,
  password: 0x40,
  username: 0x80,
} as const

/** The content of the first bytes of a CONNECT. */
export interface ProtocolLevel {
  readonly version: ProtocolVersion
  readonly isBridge: boolean
}

/**
 * Reads protocol name and level. Throws `unsupportedProtocolVersion` [MQTT-3.1.2-1, -2] [MQTT5-3.1.2-1, -2] for any
 * pair but "MQIsdp" and 3, "MQTT" and 4, "MQTT" and 5.
 */
export function readProtocolLevel(reader: ByteReader): ProtocolLevel {
  const name = reader.text('protocol name')
  const byte = reader.uint8('protocol level')
  const level = byte & ~bridgeBit
  const isKnown = name === 'MQTT' ? level === 4 || level === 5 : name === 'MQIsdp' && level === 3
  if (!isKnown) {
    throw new ProtocolError('unsupportedProtocolVersion', 'this is not MQTT 3.1, 3.1.1 or 5.0')
  }
  return { version: level as ProtocolVersion, isBridge: (byte & bridgeBit) !== 0 }
}

/** Reads the rest of a CONNECT after its protocol level. Throws `ProtocolError`. */
export function readConnect(reader: ByteReader, level: ProtocolLevel, limits: PacketLimits): ConnectPacket {
  const { version } = level
  const flags = readConnectFlags(reader, version)
  const keepAliveSeconds = reader.uint16('keep alive')
  const properties = version === 5 ? readProperties(reader, 'connect', limits.maxPropertyBytes) : undefined
  if (properties?.authenticationData !== undefined && properties.authenticationMethod === undefined) {
    // Section 3.1.2.11.10.
    throw new ProtocolError('protocolError', 'authentication data without an authentication method')
  }
  const clientId = reader.text('client id')
  const will = (flags & connectFlagBits.will) === 0 ? undefined : readWill(reader, flags, version, limits)
  const username = isPresent(reader, flags & connectFlagBits.username, version) ? reader.text('username') : undefined
  const password = isPresent(reader, flags & connectFlagBits.password, version) ? reader.binary('password') : undefined
  reader.expectEnd('connect')
  return {
    type: 'connect',
    version,
    clientId,
    cleanStart: (flags & connectFlagBits.cleanStart) !== 0,
    keepAliveSeconds,
    username,
    password,
    will,
    properties,
    isBridge: level.isBridge,
  }
}

function readConnectFlags(reader: ByteReader, version: ProtocolVersion): number {
  const byte = reader.uint8('connect flags')
  const flags = version === 3 ? clearUnusedFlags(byte) : byte
  // [MQTT-3.1.2-3] [MQTT5-3.1.2-3]
  if ((flags & connectFlagBits.reserved) !== 0) throw createFlagsError('the reserved bit is set')
  const willQoS = readWillQoS(flags)
  // [MQTT-3.1.2-14] [MQTT5-3.1.2-12]
  if (willQoS === 3) throw createFlagsError('the will has QoS 3')
  const hasWill = (flags & connectFlagBits.will) !== 0
  // [MQTT-3.1.2-13, -15] [MQTT5-3.1.2-11, -13]
  if (!hasWill && (willQoS !== 0 || (flags & connectFlagBits.willRetain) !== 0)) {
    throw createFlagsError('will QoS or will retain without a will')
  }
  const hasPasswordOnly = (flags & connectFlagBits.password) !== 0 && (flags & connectFlagBits.username) === 0
  // [MQTT-3.1.2-22]: 5.0 allows it.
  if (hasPasswordOnly && version !== 5) throw createFlagsError('a password without a user name')
  return flags
}

/** MQTT 3.1 ignores unused flags: the reserved bit, and the flags of a will that is absent (its section 3.1). */
function clearUnusedFlags(flags: number): number {
  const willBits = (3 << connectFlagBits.willQoSShift) | connectFlagBits.willRetain
  const hasWill = (flags & connectFlagBits.will) !== 0
  return flags & ~(connectFlagBits.reserved | (hasWill ? 0 : willBits))
}

function readWillQoS(flags: number): number {
  return (flags >> connectFlagBits.willQoSShift) & 3
}

function createFlagsError(fault: string): ProtocolError {
  return new ProtocolError('malformedPacket', `in the connect flags ${fault}`)
}

function readWill(reader: ByteReader, flags: number, version: ProtocolVersion, limits: PacketLimits): Will {
  const properties = version === 5 ? readProperties(reader, 'will', limits.maxPropertyBytes) : undefined
  const topic = checkTopicName(reader.text('will topic'))
  checkTopicBytes(Buffer.byteLength(topic), limits.maxTopicBytes)
  checkTopicLevels(countLevels(topic), limits.maxTopicLevels)
  return {
    topic,
    payload: reader.binary('will payload'),
    qos: readWillQoS(flags) as QoS,
    retain: (flags & connectFlagBits.willRetain) !== 0,
    properties,
  }
}

/** In MQTT 3.1 the packet may end before fields that its flags announce, for clients of the earlier version 3.0 (its section 3.1). */
function isPresent(reader: ByteReader, flag: number, version: ProtocolVersion): boolean {
  return flag !== 0 && (version !== 3 || reader.hasMore)
}
