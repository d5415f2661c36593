// What `message.publish` returned, as a change of the message.

import type { MessageChange } from '../calls/call-frames.ts'
import { formatProperties } from '../calls/properties-json.ts'

const fields = new Set(['topic', 'payload', 'qos', 'retain', 'properties'])

/** Throws if the object has another field or a value of a wrong type. */
export function toMessageChange(returned: object): MessageChange {
  for (const name of Object.keys(returned))
    if (!fields.has(name)) throw new TypeError(`message.publish returned the unknown field ${name}`)
  const { topic, payload, qos, retain, properties } = returned as Readonly<Record<string, unknown>>
  if (topic !== undefined && typeof topic !== 'string') throw new TypeError('message.publish: topic is no string')
  if (qos !== undefined && qos !== 0 && qos !== 1 && qos !== 2)
    throw new TypeError('message.publish: qos is not 0, 1 or 2')
  if (retain !== undefined && typeof retain !== 'boolean') throw new TypeError('message.publish: retain is no boolean')
  if (properties !== undefined && (typeof properties !== 'object' || properties === null))
    throw new TypeError('message.publish: properties is no object')
  return {
    topic,
    payload: payload === undefined ? undefined : toBytes(payload),
    qos,
    retain,
    properties: properties === undefined ? undefined : formatProperties(properties),
  }
}

/** Throws if the payload is neither text nor bytes. */
export function toBytes(payload: unknown): Uint8Array {
  if (typeof payload === 'string') return Buffer.from(payload)
  if (payload instanceof Uint8Array) return payload
  throw new TypeError('a payload is neither a string nor a Uint8Array')
}
