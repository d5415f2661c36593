// Reasons of packets in words, for logs, alarms and states.

import type { ProtocolVersion } from './packets.ts'
import { reasonCodes, returnCodes } from './reason-codes.ts'

const maxReasonCharacters = 200

const namesOfReasons: ReadonlyMap<number, string> = namesOf(reasonCodes)
const namesOfReturns: ReadonlyMap<number, string> = namesOf(returnCodes)

function namesOf(codes: Readonly<Record<string, number>>): ReadonlyMap<number, string> {
  return new Map(
    Object.entries(codes).map(([name, code]) => [code, name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)]),
  )
}

/** Name and number of a reason code of 5.0, or of a return code of CONNACK before, and what the other side says about it. */
export function reasonText(code: number, version: ProtocolVersion, reasonString?: string): string {
  const name = (version === 5 ? namesOfReasons : namesOfReturns).get(code) ?? 'an unknown reason'
  const number = version === 5 ? `0x${code.toString(16)}` : String(code)
  return reasonString === undefined ? `${name} (${number})` : `${name} (${number}: ${toLogText(reasonString)})`
}

/** Text of the other side, so that it can stand in a log. */
function toLogText(text: string): string {
  const shown = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ')
  return shown.length > maxReasonCharacters ? `${shown.slice(0, maxReasonCharacters)}…` : shown
}
