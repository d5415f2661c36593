// The fixed header (section 2.2 of 3.1.1, 2.1 of 5.0): packet types and their flags, and who may send what.

import type { AckType, ProtocolVersion, QoS } from './packets.ts'
import { ProtocolError } from './protocol-error.ts'
import type { ReasonName } from './reason-codes.ts'

/** The high half of the first byte. */
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

/** Which end of a connection a decoder stands at: a `server` reads what clients send. */
export type Role = 'server' | 'client'

const fromEither = ['publish', 'puback', 'pubrec', 'pubrel', 'pubcomp', 'disconnect', 'auth'] as const
const sent: Readonly<Record<Role, ReadonlySet<PacketType>>> = {
  server: new Set<PacketType>([...fromEither, 'connect', 'subscribe', 'unsubscribe', 'pingreq']),
  client: new Set<PacketType>([...fromEither, 'connack', 'suback', 'unsuback', 'pingresp']),
}

const namesByNumber: readonly (PacketType | undefined)[] = (() => {
  const names: (PacketType | undefined)[] = Array.from({ length: 16 }, () => undefined)
  for (const [name, number] of Object.entries(packetTypes)) names[number] = name as PacketType
  return names
})()

/** What `firstByte` begins, `undefined` for the reserved type 0. */
export function packetTypeOf(firstByte: number): PacketType | undefined {
  return namesByNumber[firstByte >> 4]
}

/** The first byte of a packet of `type`; a PUBLISH has its own flags added (see `publishFlagBits`). */
export function firstByteOf(type: PacketType): number {
  return (packetTypes[type] << 4) | fixedFlags(type)
}

/** [MQTT-2.2.2-2] [MQTT5-2.1.3-1] Three types have the flags that once meant QoS 1. */
function fixedFlags(type: PacketType): number {
  return type === 'pubrel' || type === 'subscribe' || type === 'unsubscribe' ? 2 : 0
}

/** Of PUBLISH. */
export interface PublishFlags {
  readonly qos: QoS
  readonly retain: boolean
  readonly dup: boolean
}

/** Bits of the first byte of a PUBLISH; its QoS stands in the two between them. */
export const publishFlagBits = { retain: 1, qosShift: 1, dup: 8 } as const
const qosBits = 3 << publishFlagBits.qosShift

const flagsByBits: readonly (PublishFlags | undefined)[] = Array.from({ length: 16 }, (_, bits) => {
  const qos = (bits >> publishFlagBits.qosShift) & 3
  const dup = (bits & publishFlagBits.dup) !== 0
  // [MQTT-3.3.1-4] [MQTT5-3.3.1-4] There is no QoS 3. Nothing of QoS 0 is sent twice, whatever 3.1 says.
  if (qos === 3) return undefined
  return { qos: qos as QoS, retain: (bits & publishFlagBits.retain) !== 0, dup: dup && qos > 0 }
})

/** The flags in the first byte of a PUBLISH. Only for a byte that `checkFirstByte` has let pass. */
export function publishFlagsOf(firstByte: number): PublishFlags {
  return flagsByBits[firstByte & 0x0f] as PublishFlags
}

const ackTypeByNumber: readonly (AckType | undefined)[] = namesByNumber.map((name) =>
  name === 'puback' || name === 'pubrec' || name === 'pubrel' || name === 'pubcomp' ? name : undefined,
)

/** The acknowledgement that `firstByte` begins, `undefined` where it begins something else. */
export function ackTypeOf(firstByte: number): AckType | undefined {
  return ackTypeByNumber[firstByte >> 4]
}

const versions = [3, 4, 5] as const

const validFirstBytes: Readonly<Record<Role, Uint8Array>> = { server: tableFor('server'), client: tableFor('client') }

function tableFor(role: Role): Uint8Array {
  const table = new Uint8Array(6 << 8)
  for (const version of versions) {
    for (let firstByte = 0; firstByte < 256; firstByte++) {
      table[(version << 8) | firstByte] = faultOfFirstByte(firstByte, role, version) === undefined ? 1 : 0
    }
  }
  return table
}

/**
 * Throws `protocolError` for what the other end may not send, `malformedPacket` for flags that are not those of the
 * type: both before any of the packet's body is awaited.
 */
export function checkFirstByte(firstByte: number, role: Role, version: ProtocolVersion): void {
  if (validFirstBytes[role][(version << 8) | firstByte] === 1) return
  const fault = faultOfFirstByte(firstByte, role, version)
  if (fault !== undefined) throw new ProtocolError(fault.reason, fault.message)
}

interface FirstByteFault {
  readonly reason: ReasonName
  readonly message: string
}

function faultOfFirstByte(firstByte: number, role: Role, version: ProtocolVersion): FirstByteFault | undefined {
  const type = namesByNumber[firstByte >> 4]
  if (type === undefined) return { reason: 'protocolError', message: 'packet type 0 is reserved' }
  if (!sent[role].has(type)) return { reason: 'protocolError', message: `a ${role} does not take ${type}` }
  if (type === 'auth' && version !== 5) return { reason: 'protocolError', message: 'auth exists only in MQTT 5.0' }
  if (role === 'client' && type === 'disconnect' && version !== 5) {
    return { reason: 'protocolError', message: 'before MQTT 5.0 a server sends no disconnect' }
  }
  // Which version's flags these are stands behind them: see `checkConnectFlags`.
  if (type === 'connect' || areFlagsValid(firstByte & 0x0f, type, version)) return undefined
  return wrongFlags(type)
}

function wrongFlags(type: PacketType): FirstByteFault {
  return { reason: 'malformedPacket', message: `the flags in the fixed header of ${type} are wrong` }
}

/** Throws `malformedPacket` where the first byte of a CONNECT is not one of `version`. */
export function checkConnectFlags(firstByte: number, version: ProtocolVersion): void {
  if (areFlagsValid(firstByte & 0x0f, 'connect', version)) return
  const { reason, message } = wrongFlags('connect')
  throw new ProtocolError(reason, message)
}

function areFlagsValid(flags: number, type: PacketType, version: ProtocolVersion): boolean {
  if (type === 'publish') return flagsByBits[flags] !== undefined && (version === 3 || !isSecondOfQoS0(flags))
  const ordinary = fixedFlags(type)
  if (version !== 3) return flags === ordinary
  // MQTT 3.1 has a QoS in three of these, which it sends again with the DUP flag, and leaves open what it does not use.
  return ordinary === 0 || (flags & qosBits) === ordinary
}

/** [MQTT-3.3.1-2] [MQTT5-3.3.1-2] MQTT 3.1 gives DUP a meaning above QoS 0 only, and forbids it nowhere (its section 2.1). */
function isSecondOfQoS0(publishFlags: number): boolean {
  return (publishFlags & (publishFlagBits.dup | qosBits)) === publishFlagBits.dup
}
