// The fixed header (section 2.2 of 3.1.1, 2.1 of 5.0): packet types and their flags, and which side accepts which type.

import type { AckType, ProtocolVersion, QoS } from './packets.ts'
import { ProtocolError } from '../reasons/protocol-error.ts'
import type { ReasonName } from '../reasons/reason-codes.ts'

/** Packet types, as in the high half of the first byte. */
export const packetTypes = {
  connect: 1,
  connack: 2,
  publish: 3,
  puback: 4,
  pubrec: 5,
  pubrel: 6,
  pubcomp: 7,
  subscribe: 8,
  suback: 9,
  unsubscribe: 10,
  unsuback: 11,
  pingreq: 12,
  pingresp: 13,
  disconnect: 14,
  auth: 15,
} as const

export type PacketType = keyof typeof packetTypes

/** The side that decodes: a `server` decodes packets that clients send. */
export type Role = 'server' | 'client'

const acceptedByBoth = ['publish', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'disconnect', 'auth'] as const
const acceptedBy: Readonly<Record<Role, ReadonlySet<PacketType>>> = {
  server: new Set<PacketType>([...acceptedByBoth, 'connect', 'subscribe', 'unsubscribe', 'pingreq']),
  client: new Set<PacketType>([...acceptedByBoth, 'connack', 'suback', 'unsuback', 'pingresp']),
}

const namesByNumber: readonly (PacketType | undefined)[] = (() => {
  const names: (PacketType | undefined)[] = Array.from({ length: 16 }, () => undefined)
  for (const [name, number] of Object.entries(packetTypes)) names[number] = name as PacketType
  return names
})()

/** Returns the type of the packet that starts with `firstByte`; undefined for the reserved type 0. */
export function readPacketType(firstByte: number): PacketType | undefined {
  return namesByNumber[firstByte >> 4]
}

/** Returns the first byte of a packet of `type`. The caller adds the flags of a PUBLISH (see `publishFlagBits`). */
export function encodeFirstByte(type: PacketType): number {
  return (packetTypes[type] << 4) | selectFixedFlags(type)
}

/** [MQTT-2.2.2-2] [MQTT5-2.1.3-1] Three types have the flags that once meant QoS 1. */
function selectFixedFlags(type: PacketType): number {
  return type === 'pubrel' || type === 'subscribe' || type === 'unsubscribe' ? 2 : 0
}

/** Flags of a PUBLISH. */
export interface PublishFlags {
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
}

/** The first byte of a PUBLISH: bit 0 is RETAIN, bits 1 and 2 are the QoS, bit 3 is DUP. */
export const publishFlagBits = { retainMask: 1, qosShift: 1, dupMask: 8 } as const
const qosBits = 3 << publishFlagBits.qosShift

const flagsByBits: readonly (PublishFlags | undefined)[] = Array.from({ length: 16 }, (_, bits) => {
  const qos = (bits >> publishFlagBits.qosShift) & 3
  const dup = (bits & publishFlagBits.dupMask) !== 0
  // [MQTT-3.3.1-4] [MQTT5-3.3.1-4] There is no QoS 3. At QoS 0 the bit DUP is ignored: no such message is sent twice.
  if (qos === 3) return undefined
  return { qos: qos as QoS, retain: (bits & publishFlagBits.retainMask) !== 0, dup: dup && qos > 0 }
})

/** Returns the flags in the first byte of a PUBLISH, which `checkFirstByte` has accepted before. */
export function readPublishFlags(firstByte: number): PublishFlags {
  return flagsByBits[firstByte & 0x0f] as PublishFlags
}

const ackTypeByNumber: readonly (AckType | undefined)[] = namesByNumber.map((name) =>
  name === 'puback' || name === 'pubrec' || name === 'pubrel' || name === 'pubcomp' ? name : undefined,
)

/** Returns the type of the acknowledgement that starts with `firstByte`; undefined for other packets. */
export function readAckType(firstByte: number): AckType | undefined {
  return ackTypeByNumber[firstByte >> 4]
}

const versions = [3, 4, 5] as const

const validFirstBytes: Readonly<Record<Role, Uint8Array>> = {
  server: createFirstByteTable('server'),
  client: createFirstByteTable('client'),
}

function createFirstByteTable(role: Role): Uint8Array {
  const table = new Uint8Array(6 << 8)
  for (const version of versions) {
    for (let firstByte = 0; firstByte < 256; firstByte++) {
      table[(version << 8) | firstByte] = findFirstByteFault(firstByte, role, version) === undefined ? 1 : 0
    }
  }
  return table
}

/**
 * Throws `protocolError` for a type that the other side may not send, `malformedPacket` for flags that the type does not have. Both
 * need the first byte only, not the body.
 */
export function checkFirstByte(firstByte: number, role: Role, version: ProtocolVersion): void {
  if (validFirstBytes[role][(version << 8) | firstByte] === 1) return
  const fault = findFirstByteFault(firstByte, role, version)
  if (fault !== undefined) throw new ProtocolError(fault.reason, fault.message)
}

interface FirstByteFault {
  readonly reason: ReasonName
  readonly message: string
}

function findFirstByteFault(firstByte: number, role: Role, version: ProtocolVersion): FirstByteFault | undefined {
  const type = namesByNumber[firstByte >> 4]
  if (type === undefined) return { reason: 'protocolError', message: 'packet type 0 is reserved' }
  if (!acceptedBy[role].has(type)) return { reason: 'protocolError', message: `a ${role} does not accept ${type}` }
  if (type === 'auth' && version !== 5) return { reason: 'protocolError', message: 'auth exists only in MQTT 5.0' }
  if (role === 'client' && type === 'disconnect' && version !== 5) {
    return { reason: 'protocolError', message: 'before MQTT 5.0 a server sends no disconnect' }
  }
  // The flags of CONNECT are checked in `checkConnectFlags`, because its version is in the body.
  if (type === 'connect' || hasValidFlags(firstByte & 0x0f, type, version)) return undefined
  return createFlagsFault(type)
}

function createFlagsFault(type: PacketType): FirstByteFault {
  return { reason: 'malformedPacket', message: `the flags in the fixed header of ${type} are wrong` }
}

/** Throws `malformedPacket` if the first byte of a CONNECT has flags that `version` does not allow. */
export function checkConnectFlags(firstByte: number, version: ProtocolVersion): void {
  if (hasValidFlags(firstByte & 0x0f, 'connect', version)) return
  const { reason, message } = createFlagsFault('connect')
  throw new ProtocolError(reason, message)
}

function hasValidFlags(flags: number, type: PacketType, version: ProtocolVersion): boolean {
  if (type === 'publish') return flagsByBits[flags] !== undefined && (version === 3 || !isDupWithQoS0(flags))
  const ordinary = selectFixedFlags(type)
  if (version !== 3) return flags === ordinary
  // In MQTT 3.1 PUBREL, SUBSCRIBE and UNSUBSCRIBE have QoS 1 and may have DUP. The other bits are undefined.
  return ordinary === 0 || (flags & qosBits) === ordinary
}

/** [MQTT-3.3.1-2] [MQTT5-3.3.1-2] MQTT 3.1 gives DUP a meaning above QoS 0 only, and forbids it nowhere (its section 2.1). */
function isDupWithQoS0(publishFlags: number): boolean {
  return (publishFlags & (publishFlagBits.dupMask | qosBits)) === publishFlagBits.dupMask
}
