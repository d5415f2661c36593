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

function compileList(written: RuleValue, { error, inner }: KeywordPlace): readonly JsonCheck[] {
  if (!isArray(written) || written.length === 0) throw error('expected an array of schemas')
  return written.map((schema, index) => inner([index], schema))
}

function allOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = compileList(written, place)
  return (value, run) => findFirst(checks, (check) => run.runDeeper(check, value))
}

function anyOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = compileList(written, place)
  return (value, run) =>
    checks.some((check) => run.passes(check, value))
      ? undefined
      : createProblem('must match at least one schema of anyOf')
}

function oneOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = compileList(written, place)
  return (value, run) => {
    const passed = checks.filter((check) => run.passes(check, value)).length
    return passed === 1 ? undefined : createProblem(`must match one schema of oneOf, not ${passed}`)
  }
}

function not(written: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], written)
  return (value, run) => (run.passes(check, value) ? createProblem('must not match the schema of not') : undefined)
}

/** `then` and `else` are read with `if`. */
function ifThenElse(written: RuleValue, place: KeywordPlace): JsonCheck {
  const condition = place.inner([], written)
  const branch = (key: 'then' | 'else'): JsonCheck | undefined =>
    place.schema[key] === undefined ? undefined : place.inner(['..', key], place.schema[key])
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

function listMembers(written: RuleValue, { error }: KeywordPlace): readonly (readonly [string, RuleValue])[] {
  if (!isMap(written)) throw error('expected an object')
  return Object.entries(written)
}

/** Members that the schema names, those whose names match a pattern, and the rest. */
function members(_written: RuleValue, place: KeywordPlace): JsonCheck {
  const { schema, inner } = place
  const readMembers = (key: string): readonly (readonly [string, RuleValue])[] =>
    schema[key] === undefined ? [] : listMembers(schema[key], place)
  const named = new Map(
    readMembers('properties').map(([name, below]) => [name, inner(['..', 'properties', name], below)]),
  )
  const patterns = readMembers('patternProperties').map(([pattern, below]) => ({
    matches: compilePattern(pattern, place, ['..', 'patternProperties', pattern]),
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
  return (written, place) =>
    earlier.some((key) => place.schema[key] !== undefined) ? undefined : members(written, place)
}

function propertyNames(written: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], written)
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
function items(written: RuleValue, place: KeywordPlace): JsonCheck {
  const { schema, inner } = place
  const isOld = isArray(written)
  const prefix = isOld ? written : isArray(schema['prefixItems']) ? schema['prefixItems'] : []
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

function contains(written: RuleValue, place: KeywordPlace): JsonCheck {
  const check = place.inner([], written)
  const least = readCount(place.schema['minContains'], place, 1, 'minContains')
  const max = readCount(place.schema['maxContains'], place, Number.POSITIVE_INFINITY, 'maxContains')
  return (value, run) => {
    if (!isArray(value)) return undefined
    const found = value.filter((item) => run.passes(check, item)).length
    if (found < least) return createProblem(`must contain at least ${least} items that match, not ${found}`)
    return found > max ? createProblem(`must contain at most ${max} items that match, not ${found}`) : undefined
  }
}

/** Names of members that other members need, or schemas for the whole value if a member is there. */
function dependencies(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = listMembers(written, place).map(([key, needed]) => ({
    key,
    check: isArray(needed)
      ? createRequiredCheck(requireNames(needed, place), ` beside ${JSON.stringify(key)}`)
      : place.inner([key], needed),
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
    (written, place) =>
      place.schema['items'] === undefined
        ? items(undefined, { ...place, schema: { prefixItems: written } })
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
