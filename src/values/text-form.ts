// The text form of values, as `str`, `+`, `concat` and templates use it.

import { RuleError } from './errors/rule-error.ts'
import type { Budget } from './budget.ts'
import { encodeJson } from './json-encode.ts'
import { formatNumber, isNumber } from './numbers.ts'
import { countBytes, toBytes, isText, RuleBits, type RuleText, type RuleValue, toRuleText } from './value.ts'

/** Returns the text form: texts as they are, `undefined` and `null` as words, arrays and maps as JSON. */
export function toTextForm(value: RuleValue, budget: Budget): RuleText {
  if (typeof value === 'string') return value
  if (isText(value)) return value
  if (isNumber(value)) return formatNumber(value)
  if (typeof value === 'boolean' || value === undefined || value === null) return String(value)
  if (value instanceof RuleBits) throw new RuleError('a sequence of bits has no text form: use whole bytes')
  return encodeJson(value, budget)
}

/** Returns the pieces as one text. The result is a string if it is valid UTF-8. */
export function joinTexts(pieces: readonly RuleText[], budget: Budget): RuleText {
  let bytes = 0
  for (const piece of pieces) bytes += piece.length
  budget.countCreated(bytes)
  if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('')
  const joined = Buffer.alloc(pieces.reduce((sum, piece) => sum + countBytes(piece), 0))
  let at = 0
  for (const piece of pieces) {
    joined.set(toBytes(piece), at)
    at += countBytes(piece)
  }
  return toRuleText(joined)
}
