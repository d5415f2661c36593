// An entry of an action queue is stored together with the rule's result, which attributes are too short for. If the action has other
// templates when the entry is sent, the result is rendered again; fallbacks render it differently.
//
//   | payload .......... | result .... | bytes of payload |      attributes: ..., ['!raw', form]
//
// Earlier versions stored the result only for fallbacks: | payload | result |, with the attribute ['!result', bytes of payload].

import type { ActionEntry } from '../../sinks/index.ts'

/** The last attribute, if there is a result. Its value is the form of the templates that made the payload. */
const rawAttribute = '!raw'
const earlierAttribute = '!result'
const lengthBytes = 4

/** Returns what is stored for the payload of an entry with a result. */
export function joinPayload(payload: Buffer, result: Buffer): Buffer {
  const length = Buffer.allocUnsafe(lengthBytes)
  length.writeUInt32BE(payload.length)
  return Buffer.concat([payload, result, length])
}

/** Returns the attribute of an entry with a result: the last one. */
export function toFormAttribute(form: string): readonly [string, string] {
  return [rawAttribute, form]
}

/** Returns what is stored for the entry. Without a form, it is that of an earlier version: the entry is rendered again. */
export function joinResult({ payload, attributes, result, form }: ActionEntry): ActionEntry {
  if (result === undefined) return { payload, attributes }
  if (form === undefined) {
    const length = [earlierAttribute, String(payload.length)] as const
    return { payload: Buffer.concat([payload, result]), attributes: [...attributes, length] }
  }
  return { payload: joinPayload(payload, result), attributes: [...attributes, toFormAttribute(form)] }
}

/** Whether the entry was stored by `joinResult` with a result. */
export function hasResult(attributes: ActionEntry['attributes']): boolean {
  const name = attributes.at(-1)?.[0]
  return name === rawAttribute || name === earlierAttribute
}

/** Returns the entry as it was before `joinResult`. */
export function splitResult({ payload, attributes }: ActionEntry): ActionEntry {
  const [name, value = ''] = attributes.at(-1) ?? []
  const own = attributes.slice(0, -1)
  if (name === earlierAttribute) {
    const length = Number(value)
    return { payload: payload.subarray(0, length), attributes: own, result: payload.subarray(length) }
  }
  const end = Math.max(0, payload.length - lengthBytes)
  const length = payload.length < lengthBytes ? 0 : Math.min(end, payload.readUInt32BE(end))
  return { payload: payload.subarray(0, length), attributes: own, result: payload.subarray(length, end), form: value }
}
