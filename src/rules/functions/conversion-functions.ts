// Conversion between kinds of values.

import { maxDecimals } from '../limits/rule-limits.ts'
import {
  toComparable,
  formatFloat,
  makeIntegerFromNumber,
  isInteger,
  isNumber,
  isText,
  getKind,
  makeFloat,
  parseNumber,
  RuleError,
  type RuleNumber,
  type RuleValue,
  requireString,
  toTextForm,
  toRuleText,
  toFloat,
} from '../../values/index.ts'
import { requireInteger } from './arguments.ts'
import type { Call, FunctionDefinitions } from './rule-function.ts'

function toBoolean(value: RuleValue): boolean {
  if (value === true || value === 'true') return true
  if (value === false || value === 'false') return false
  if (isNumber(value)) {
    const number = toFloat(value)
    if (number === 1) return true
    if (number === 0) return false
  }
  throw new RuleError("bool: only true, false, 'true', 'false', 1 and 0 are booleans")
}

function toInteger(value: RuleValue): RuleValue {
  if (typeof value === 'boolean') return value ? 1 : 0
  const number = requireNumber(value, 'int')
  return isInteger(number) ? number : makeIntegerFromNumber(Math.floor(toFloat(number)))
}

function requireNumber(value: RuleValue, name: string): RuleNumber {
  if (isNumber(value)) return value
  const number = typeof value === 'string' ? parseNumber(value) : undefined
  if (number !== undefined) return number
  throw new RuleError(`${name}: ${isText(value) ? 'the text is not a number' : `${getKind(value)} is not a number`}`)
}

function roundTo(value: RuleValue, decimals: RuleValue): RuleValue {
  const digits = requireInteger(decimals, 'float: decimals', 1, maxDecimals)
  return makeFloat(Number(toFloat(requireNumber(value, 'float')).toFixed(digits)))
}

function toUtf8Text(value: RuleValue, { budget }: Call): RuleValue {
  return requireString(toTextForm(value, budget), 'str_utf8: the text')
}

function toUtf16Text(value: RuleValue, { budget }: Call): RuleValue {
  const text = requireString(toTextForm(value, budget), 'str_utf16_le: the text')
  budget.countCreated(2 * text.length)
  return toRuleText(Buffer.from(text, 'utf16le'))
}

export const conversionFunctions: FunctionDefinitions = {
  str: {
    signatures: ['value: any'],
    returns: 'text',
    description: 'Text form: numbers with at most ten decimals, arrays and maps as JSON, undefined as `undefined`.',
    run: ([value], { budget }) => toTextForm(value, budget),
  },
  str_utf8: {
    signatures: ['value: any'],
    returns: 'text',
    description: 'Text form like `str`; an error if it is not valid UTF-8.',
    run: ([value], call) => toUtf8Text(value, call),
  },
  str_utf16_le: {
    signatures: ['value: any'],
    returns: 'text',
    description: 'Text form like `str`, as bytes of UTF-16 with the low byte first.',
    run: ([value], call) => toUtf16Text(value, call),
  },
  bool: {
    signatures: ['value: any'],
    returns: 'boolean',
    description: "Boolean for true, false, 'true', 'false', 1 and 0.",
    run: ([value]) => toBoolean(value),
  },
  int: {
    signatures: ['value: any'],
    returns: 'integer',
    description: 'Integer for a number or the text of a number, rounded down; 1 for true and 0 for false.',
    run: ([value]) => toInteger(value),
  },
  float: {
    signatures: ['value: any', 'value: any, decimals: integer'],
    returns: 'float',
    description: 'Float for a number or the text of a number, rounded to a number of decimals if it is given.',
    run: ([value, decimals], _call) =>
      decimals === undefined ? makeFloat(toFloat(requireNumber(value, 'float'))) : roundTo(value, decimals),
  },
  float2str: {
    signatures: ['value: number, decimals: integer'],
    returns: 'text',
    description: 'Text of a number with at most a number of decimals, without trailing zeros.',
    run: ([value, decimals]) =>
      formatFloat(
        Number(toComparable(value as RuleNumber)),
        requireInteger(decimals, 'float2str: decimals', 0, maxDecimals),
      ),
  },
  map: {
    signatures: ['value: map'],
    returns: 'map',
    description: 'Map for a map or for the text of a JSON object.',
    run: ([value]) => value,
  },
}
