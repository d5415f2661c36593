// An entry of an action with fallbacks is stored together with the rule's result. The fallbacks render that result differently, and
// attributes are too short for it.
//
//   | payload .......... | result .... |      attributes: ..., ['!result', length of the payload]

import type { ActionEntry } from './sink.ts'

/** The last attribute, if there is one. */
const resultAttribute = '!result'

/** Returns what is stored for the entry. */
export function joinResult({ payload, attributes, result }: ActionEntry): ActionEntry {
  if (result === undefined) return { payload, attributes }
  return {
    payload: Buffer.concat([payload, result]),
    attributes: [...attributes, [resultAttribute, String(payload.length)]],
  }
}

/** Whether the entry was stored by `joinResult` with a result. */
export function hasResult(attributes: ActionEntry['attributes']): boolean {
  return attributes.at(-1)?.[0] === resultAttribute
}

/** Returns the entry as it was before `joinResult`. */
export function splitResult({ payload, attributes }: ActionEntry): ActionEntry {
  const length = Number(attributes.at(-1)?.[1])
  return { payload: payload.subarray(0, length), attributes: attributes.slice(0, -1), result: payload.subarray(length) }
}
