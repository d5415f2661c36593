// Entry point of the module values: the values of rules, jq and schemas, the arithmetic, comparison and text forms of them, and the budget and
// errors of the work on them. The module is pure.

export { readKey, readPosition, writePath, type Step } from './access.ts'
export { Budget, type EvaluationLimit } from './budget.ts'
export { compare, equals, equalsStrictly, type ComparisonOperator } from './compare-values.ts'
export { findNearestName } from './errors/nearest-name.ts'
export { createLimitError, RuleError, type RuleErrorKind } from './errors/rule-error.ts'
export { findPosition, quoteText, type SourcePosition } from './errors/source-text.ts'
export { decodeJson, findJsonError, tryDecodeJson } from './json-decode.ts'
export { encodeJson } from './json-encode.ts'
export { measureValue } from './measure-value.ts'
export {
  calculate,
  toComparable,
  formatFloat,
  formatJsonNumber,
  formatNumber,
  makeIntegerFromNumber,
  isInteger,
  isNumber,
  makeFloat,
  makeInteger,
  negate,
  parseNumber,
  toFloat,
  type ArithmeticOperator,
} from './numbers.ts'
export { joinTexts, toTextForm } from './text-form.ts'
export { maxCreatedBytes, maxExpressionDepth, maxIntegerBits, maxValueDepth } from './value-limits.ts'
export {
  toBuffer,
  countBytes,
  toBytes,
  getKey,
  isArray,
  isMap,
  isText,
  getKind,
  RuleBits,
  RuleFloat,
  setKey,
  requireString,
  toRuleText,
  withKey,
  type MapBuilder,
  type RuleArray,
  type RuleMap,
  type RuleNumber,
  type RuleText,
  type RuleValue,
} from './value.ts'
export * as valueLimits from './value-limits.ts'
