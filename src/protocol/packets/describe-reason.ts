// Converts reason codes to text for logs, alarms and states.

import type { ProtocolVersion } from './packets.ts'
import { reasonCodes, returnCodes } from '../reasons/reason-codes.ts'

const maxReasonCharacters = 200

const namesOfReasonCodes: ReadonlyMap<number, string> = toReadableNames(reasonCodes)
const namesOfReturnCodes: ReadonlyMap<number, string> = toReadableNames(returnCodes)

function toReadableNames(codes: Readonly<Record<string, number>>): ReadonlyMap<number, string> {
  return new Map(
    Object.entries(codes).map(([name, code]) => [code, name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)]),
  )
}

/** Returns name and number of a reason code (5.0) or return code (CONNACK of 3.1 and 3.1.1), with the reason string of the peer. */
export function describeReason(code: number, version: ProtocolVersion, reasonString?: string): string {
  const name = (version === 5 ? namesOfReasonCodes : namesOfReturnCodes).get(code) ?? 'an unknown reason'
  const number = version === 5 ? `0x${code.toString(16)}` : String(code)
  return reasonString === undefined ? `${name} (${number})` : `${name} (${number}: ${toLogText(reasonString)})`
}

/** Makes text of the peer safe for a log: without control characters, and shortened. */
function toLogText(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
  return shown.length > maxReasonCharacters ? `${shown.slice(0, maxReasonCharacters)}…` : shown
}
