// Predicates about the type of a value.

import { isArray, isInteger, isMap, isNumber, isText, type RuleValue, tryDecodeJson } from '../../values/index.ts'
import type { Call, FunctionDefinition, FunctionDefinitions } from './rule-function.ts'

function createPredicate(description: string, test: (value: RuleValue, call: Call) => boolean): FunctionDefinition {
  return { signatures: ['value: any'], returns: 'boolean', description, run: ([value], call) => test(value, call) }
}

const isMissing = (value: RuleValue): boolean => value === undefined
const isMissingOrNull = (value: RuleValue): boolean => value === undefined || value === null

/** An empty array, map or text, or the text of an empty JSON object. */
function isEmpty(value: RuleValue, call: Call): boolean {
  if (isArray(value)) return value.length === 0
  if (isText(value)) return value.length === 0 || isEmptyObject(value, call)
  return isMap(value) && Object.keys(value).length === 0
}

function isEmptyObject(text: string | Uint8Array, call: Call): boolean {
  call.budget.countRead(text.length)
  if (typeof text !== 'string' || !/^\s*\{\s*\}\s*$/.test(text)) return false
  return isMap(tryDecodeJson(text))
}

export const typeFunctions: FunctionDefinitions = {
  is_str: createPredicate('Whether the value is a text.', isText),
  is_bool: createPredicate('Whether the value is true or false.', (value) => typeof value === 'boolean'),
  is_int: createPredicate('Whether the value is an integer.', isInteger),
  is_float: createPredicate('Whether the value is a float.', (value) => isNumber(value) && !isInteger(value)),
  is_num: createPredicate('Whether the value is an integer or a float.', isNumber),
  is_map: createPredicate('Whether the value is a map.', isMap),
  is_array: createPredicate('Whether the value is an array.', isArray),
  is_null: createPredicate('Whether the value is undefined. JSON null is not.', isMissing),
  is_null_var: createPredicate('Whether the value is undefined or JSON null.', isMissingOrNull),
  is_not_null: createPredicate('Whether the value is not undefined.', (value) => !isMissing(value)),
  is_not_null_var: createPredicate(
    'Whether the value is neither undefined nor JSON null.',
    (value) => !isMissingOrNull(value),
  ),
  is_empty: createPredicate('Whether the value is an empty array, map or text, or the text `{}`.', isEmpty),
}
