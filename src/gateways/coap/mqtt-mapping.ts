// Maps CoAP requests to QoS, and reason codes of MQTT to response codes.

import { type PublishPacket, type QoS, reasonCodes } from '../../protocol/index.ts'
import { code, coapTypes, type CoapMessage } from './endpoint/coap-message.ts'

export function qosIn(query: ReadonlyMap<string, string>): QoS | 'bad' | undefined {
  const text = query.get('qos')
  if (text === undefined) return undefined
  return text === '0' || text === '1' || text === '2' ? (Number(text) as QoS) : 'bad'
}

export function qosOfType({ type }: CoapMessage): QoS {
  return type === coapTypes.con ? 1 : 0
}

/** Returns the CoAP code of a refusal. */
export function codeOf(reasonCode: number): number {
  if (reasonCode === reasonCodes.badUserNameOrPassword) return code(4, 1)
  if (reasonCode === reasonCodes.notAuthorized) return code(4, 1)
  if (reasonCode === reasonCodes.banned) return code(4, 3)
  if (reasonCode === reasonCodes.clientIdentifierNotValid) return code(4, 0)
  if (reasonCode === reasonCodes.packetTooLarge) return code(4, 13)
  return code(5, 3)
}

/** Returns a copy, which does not refer to the chunk. */
export function payloadOf({ chunk, payloadStart, frameEnd }: PublishPacket): Buffer {
  return Buffer.from(chunk.subarray(payloadStart, frameEnd))
}
