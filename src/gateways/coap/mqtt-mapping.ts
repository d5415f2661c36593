// Maps CoAP requests to QoS, and messages of the broker to payloads.

import { type PublishPacket, type QoS } from '../../protocol/index.ts'
import { coapTypes, type CoapMessage } from './endpoint/coap-message.ts'

export function readQos(query: ReadonlyMap<string, string>): QoS | 'bad' | undefined {
  const text = query.get('qos')
  if (text === undefined) return undefined
  return text === '0' || text === '1' || text === '2' ? (Number(text) as QoS) : 'bad'
}

export function chooseQos({ type }: CoapMessage): QoS {
  return type === coapTypes.con ? 1 : 0
}

/** Returns a copy, which does not refer to the chunk. */
export function copyPayload({ chunk, payloadStart, frameEnd }: PublishPacket): Buffer {
  return Buffer.from(chunk.subarray(payloadStart, frameEnd))
}
