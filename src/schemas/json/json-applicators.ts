// Keywords of JSON Schema that apply other schemas.

import { isArray, isMap, type RuleMap, type RuleValue } from '../../values/index.ts'
import {
  readCount,
  type KeywordCompiler,
  type KeywordPlace,
  requireNames,
  compilePattern,
  createRequiredCheck,
} from './json-assertions.ts'
import { type CheckRun, type JsonCheck, type JsonProblem, createProblem } from './json-check.ts'

function compileList(keywordValue: RuleValue, { error, inner }: KeywordPlace): readonly JsonCheck[] {
  if (!isArray(keywordValue) || keywordValue.length === 0) throw error('expected an array of schemas')
  return keywordValue.map((schema, index) => inner([index], schema))
}

function allOf(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const checks = compileList(keywordValue, context)
  return (value, run) => findFirst(checks, (check) => run.runDeeper(check, value))
}

function anyOf(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const checks = compileList(keywordValue, context)
  return (value, run) =>
    checks.some((check) => run.passes(check, value))
      ? undefined
      : createProblem('must match at least one schema of anyOf')
}

function oneOf(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const checks = compileList(keywordValue, context)
  return (value, run) => {
    const passed = checks.filter((check) => run.passes(check, value)).length
    return passed === 1 ? undefined : createProblem(`must match one schema of oneOf, not ${passed}`)
  }
}

function not(keywordValue: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], keywordValue)
  return (value, run) => (run.passes(check, value) ? createProblem('must not match the schema of not') : undefined)
}

/** `then` and `else` are read with `if`. */
function ifThenElse(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const condition = context.inner([], keywordValue)
  const branch = (key: 'then' | 'else'): JsonCheck | undefined =>
    context.schema[key] === undefined ? undefined : context.inner(['..', key], context.schema[key])
  const [whenTrue, whenFalse] = [branch('then'), branch('else')]
  return (value, run) => {
    const chosen = run.passes(condition, value) ? whenTrue : whenFalse
    return chosen === undefined ? undefined : run.runDeeper(chosen, value)
  }
}

function findFirst<Item>(
  items: Iterable<Item>,
  check: (item: Item) => JsonProblem | undefined,
): JsonProblem | undefined {
  for (const item of items) {
    const found = check(item)
    if (found !== undefined) return found
  }
  return undefined
}

function listMembers(keywordValue: RuleValue, { error }: KeywordPlace): readonly (readonly [string, RuleValue])[] {
  if (!isMap(keywordValue)) throw error('expected an object')
  return Object.entries(keywordValue)
}

/** Members that the schema names, those whose names match a pattern, and the rest. */
function members(_written: RuleValue, context: KeywordPlace): JsonCheck {
  const { schema, inner } = context
  const readMembers = (key: string): readonly (readonly [string, RuleValue])[] =>
    schema[key] === undefined ? [] : listMembers(schema[key], context)
  const named = new Map(
    readMembers('properties').map(([name, below]) => [name, inner(['..', 'properties', name], below)]),
  )
  const patterns = readMembers('patternProperties').map(([pattern, below]) => ({
    matches: compilePattern(pattern, context, ['..', 'patternProperties', pattern]),
    check: inner(['..', 'patternProperties', pattern], below),
  }))
  const { additionalProperties } = schema
  const isClosed = additionalProperties === false
  const rest =
    additionalProperties === undefined || isClosed
      ? undefined
      : inner(['..', 'additionalProperties'], additionalProperties)
  return (value, run) => {
    if (!isMap(value)) return undefined
    return findFirst(Object.entries(value), ([key, member]) => {
      run.budget.countSteps(1)
      if (member === undefined) return undefined
      const checks = patterns.filter(({ matches }) => matches(key, run)).map(({ check }) => check)
      const own = named.get(key)
      if (own !== undefined) checks.push(own)
      if (checks.length === 0 && isClosed)
        return createProblem(`has the unknown member ${JSON.stringify(key.slice(0, 60))}`)
      if (checks.length === 0 && rest !== undefined) checks.push(rest)
      return findFirst(checks, (check) => run.checkMember(key, check, member))
    })
  }
}

/** Only the first of these keywords compiles all of them. */
function compileMembersUnless(...earlier: readonly string[]): KeywordCompiler {
  return (keywordValue, context) =>
    earlier.some((key) => context.schema[key] !== undefined) ? undefined : members(keywordValue, context)
}

function propertyNames(keywordValue: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], keywordValue)
  return (value, run) => {
    if (!isMap(value)) return undefined
    return findFirst(Object.keys(value), (key) => {
      const found = run.runDeeper(check, key)
      return found === undefined
        ? undefined
        : createProblem(`has the member ${JSON.stringify(key.slice(0, 60))}, whose name ${found.summary}`)
    })
  }
}

/** Items at positions, and the rest. `items` is an array up to 2019-09, `prefixItems` later. */
function items(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const { schema, inner } = context
  const isOld = isArray(keywordValue)
  const prefix = isOld ? keywordValue : isArray(schema['prefixItems']) ? schema['prefixItems'] : []
  const prefixKey = isOld ? [] : ['..', 'prefixItems']
  const checks = prefix.map((below, index) => inner([...prefixKey, index], below))
  const restKey = isOld ? 'additionalItems' : 'items'
  const restSchema = schema[restKey]
  const rest = restSchema === undefined ? undefined : inner(['..', restKey], restSchema)
  return (value, run) => {
    if (!isArray(value)) return undefined
    return findFirst(value.entries(), ([index, item]) => {
      run.budget.countSteps(1)
      const check = checks[index] ?? rest
      return check === undefined ? undefined : run.checkMember(index, check, item)
    })
  }
}

function contains(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const check = context.inner([], keywordValue)
  const least = readCount(context.schema['minContains'], context, 1, 'minContains')
  const max = readCount(context.schema['maxContains'], context, Number.POSITIVE_INFINITY, 'maxContains')
  return (value, run) => {
    if (!isArray(value)) return undefined
    const found = value.filter((item) => run.passes(check, item)).length
    if (found < least) return createProblem(`must contain at least ${least} items that match, not ${found}`)
    return found > max ? createProblem(`must contain at most ${max} items that match, not ${found}`) : undefined
  }
}

/** Names of members that other members need, or schemas for the whole value if a member is there. */
function dependencies(keywordValue: RuleValue, context: KeywordPlace): JsonCheck {
  const checks = listMembers(keywordValue, context).map(([key, needed]) => ({
    key,
    check: isArray(needed)
      ? createRequiredCheck(requireNames(needed, context), ` beside ${JSON.stringify(key)}`)
      : context.inner([key], needed),
  }))
  return (value, run) => {
    if (!isMap(value)) return undefined
    return findFirst(checks, ({ key, check }) => (isPresent(value, key, run) ? run.runDeeper(check, value) : undefined))
  }
}

function isPresent(value: RuleMap, key: string, { budget }: CheckRun): boolean {
  budget.countSteps(1)
  return Object.hasOwn(value, key) && value[key] !== undefined
}

function refuseKeyword(instead: string): KeywordCompiler {
  return (_written, { error }) => {
    throw error(`this keyword is not supported: ${instead}`)
  }
}

export const jsonApplicators: ReadonlyMap<string, KeywordCompiler> = new Map<string, KeywordCompiler>([
  ['allOf', allOf],
  ['anyOf', anyOf],
  ['oneOf', oneOf],
  ['not', not],
  ['if', ifThenElse],
  ['properties', members],
  ['patternProperties', compileMembersUnless('properties')],
  ['additionalProperties', compileMembersUnless('properties', 'patternProperties')],
  ['propertyNames', propertyNames],
  ['items', items],
  [
    'prefixItems',
    (keywordValue, context) =>
      context.schema['items'] === undefined
        ? items(undefined, { ...context, schema: { prefixItems: keywordValue } })
        : undefined,
  ],
  ['contains', contains],
  ['dependencies', dependencies],
  ['dependentRequired', dependencies],
  ['dependentSchemas', dependencies],
  ['unevaluatedProperties', refuseKeyword('use additionalProperties')],
  ['unevaluatedItems', refuseKeyword('use items')],
  ['$dynamicRef', refuseKeyword('use $ref')],
  ['$recursiveRef', refuseKeyword('use $ref')],
])
