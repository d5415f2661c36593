// Estimates the length of the JSON of a value, without making it.

import { isArray, isMap, type RuleValue } from './value.ts'

const lengthOfScalar = 8
const bytesOfBase64 = 4 / 3

/**
 * Returns about how many characters the JSON of the value has. A part that occurs several times is measured once and counted each time.
 * Ends when more than `limit` are counted.
 */
export function measureValue(value: RuleValue, limit: number): number {
  return measure(value, limit, new Map())
}

function measure(value: RuleValue, limit: number, known: Map<object, number>): number {
  if (typeof value === 'string') return value.length + 2
  if (value instanceof Uint8Array) return value.length * bytesOfBase64
  const isArrayValue = isArray(value)
  if (!isArrayValue && !isMap(value)) return lengthOfScalar
  const found = known.get(value)
  if (found !== undefined) return found
  let length = 2
  if (isArrayValue)
    for (const item of value) {
      length += 1 + measure(item, limit - length, known)
      if (length > limit) break
    }
  else
    for (const [key, member] of Object.entries(value)) {
      if (member !== undefined) length += key.length + 4 + measure(member, limit - length, known)
      if (length > limit) break
    }
  // Small values are measured again faster than they are found.
  if (length > 64) known.set(value, length)
  return length
}
