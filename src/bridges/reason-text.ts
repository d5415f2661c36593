// Reasons in words, for logs and alarms: why either broker refuses or ends the connection of a bridge.

import {
  reasonCodes,
  returnCodes,
  type ConnackPacket,
  type DisconnectPacket,
  type ProtocolVersion,
  type SubackPacket,
  type UnsubackPacket,
} from '../protocol/index.ts'

const maxReasonCharacters = 200

const namesOfReasons: ReadonlyMap<number, string> = namesOf(reasonCodes)
const namesOfReturns: ReadonlyMap<number, string> = namesOf(returnCodes)

function namesOf(codes: Readonly<Record<string, number>>): ReadonlyMap<number, string> {
  return new Map(
    Object.entries(codes).map(([name, code]) => [code, name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)]),
  )
}

export function reasonText(code: number, version: ProtocolVersion, reasonString?: string): string {
  const name = (version === 5 ? namesOfReasons : namesOfReturns).get(code) ?? 'an unknown reason'
  const number = version === 5 ? `0x${code.toString(16)}` : String(code)
  return reasonString === undefined ? `${name} (${number})` : `${name} (${number}: ${toLogText(reasonString)})`
}

/** What a stranger says, so that it can stand in a log. */
function toLogText(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
  return shown.length > maxReasonCharacters ? `${shown.slice(0, maxReasonCharacters)}…` : shown
}

/** Why our own broker refuses what the bridge asks for, as a sentence; undefined: it does not. */
export function localRefusal(packet: ConnackPacket | SubackPacket | UnsubackPacket): string | undefined {
  if (packet.type !== 'connack') return refusedSubscription('this broker', packet)
  const { reasonCode, properties } = packet
  if (reasonCode === reasonCodes.success) return undefined
  return `this broker does not let the bridge in: ${reasonText(reasonCode, 5, properties?.reasonString)}`
}

/** The same of what the remote broker says to rules. */
export function remoteRefusal(packet: SubackPacket | UnsubackPacket): string | undefined {
  return refusedSubscription('the remote broker', packet)
}

function refusedSubscription(who: string, { reasonCodes: codes }: SubackPacket | UnsubackPacket): string | undefined {
  const refused = codes.find((code) => code >= reasonCodes.unspecifiedError)
  return refused === undefined ? undefined : `${who} refused a subscription of the bridge: ${reasonText(refused, 5)}`
}

/** Why our own broker ends the connection. */
export function localDisconnectReason({ reasonCode }: DisconnectPacket): string {
  return `this broker ended the connection: ${reasonText(reasonCode, 5)}`
}
