// Keywords of JSON Schema that apply other schemas.

import { isArray, isMap, type RuleMap, type RuleValue } from '../../values/index.ts'
import { countIn, type KeywordCompiler, type KeywordPlace, namesOf, patternOf, requiring } from './json-assertions.ts'
import { type CheckRun, type JsonCheck, type JsonProblem, problem } from './json-check.ts'

function listOf(written: RuleValue, { error, inner }: KeywordPlace): readonly JsonCheck[] {
  if (!isArray(written) || written.length === 0) throw error('expected an array of schemas')
  return written.map((schema, index) => inner([index], schema))
}

function allOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = listOf(written, place)
  return (value, run) => first(checks, (check) => run.deeper(check, value))
}

function anyOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = listOf(written, place)
  return (value, run) =>
    checks.some((check) => run.passes(check, value)) ? undefined : problem('must match at least one schema of anyOf')
}

function oneOf(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = listOf(written, place)
  return (value, run) => {
    const passed = checks.filter((check) => run.passes(check, value)).length
    return passed === 1 ? undefined : problem(`must match one schema of oneOf, not ${passed}`)
  }
}

function not(written: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], written)
  return (value, run) => (run.passes(check, value) ? problem('must not match the schema of not') : undefined)
}

/** `then` and `else` are read with `if`. */
function ifThenElse(written: RuleValue, place: KeywordPlace): JsonCheck {
  const condition = place.inner([], written)
  const branch = (key: 'then' | 'else'): JsonCheck | undefined =>
    place.schema[key] === undefined ? undefined : place.inner(['..', key], place.schema[key])
  const [whenTrue, whenFalse] = [branch('then'), branch('else')]
  return (value, run) => {
    const chosen = run.passes(condition, value) ? whenTrue : whenFalse
    return chosen === undefined ? undefined : run.deeper(chosen, value)
  }
}

function first<Item>(items: Iterable<Item>, check: (item: Item) => JsonProblem | undefined): JsonProblem | undefined {
  for (const item of items) {
    const found = check(item)
    if (found !== undefined) return found
  }
  return undefined
}

function mapOf(written: RuleValue, { error }: KeywordPlace): readonly (readonly [string, RuleValue])[] {
  if (!isMap(written)) throw error('expected an object')
  return Object.entries(written)
}

/** Members that the schema names, those whose names match a pattern, and the rest. */
function members(_written: RuleValue, place: KeywordPlace): JsonCheck {
  const { schema, inner } = place
  const at = (key: string): readonly (readonly [string, RuleValue])[] =>
    schema[key] === undefined ? [] : mapOf(schema[key], place)
  const named = new Map(at('properties').map(([name, below]) => [name, inner(['..', 'properties', name], below)]))
  const patterns = at('patternProperties').map(([pattern, below]) => ({
    matches: patternOf(pattern, place, ['..', 'patternProperties', pattern]),
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
    return first(Object.entries(value), ([key, member]) => {
      run.budget.step(1)
      if (member === undefined) return undefined
      const checks = patterns.filter(({ matches }) => matches(key, run)).map(({ check }) => check)
      const own = named.get(key)
      if (own !== undefined) checks.push(own)
      if (checks.length === 0 && isClosed) return problem(`has the unknown member ${JSON.stringify(key.slice(0, 60))}`)
      if (checks.length === 0 && rest !== undefined) checks.push(rest)
      return first(checks, (check) => run.member(key, check, member))
    })
  }
}

/** Only the first of these keywords compiles all of them. */
function membersUnless(...earlier: readonly string[]): KeywordCompiler {
  return (written, place) =>
    earlier.some((key) => place.schema[key] !== undefined) ? undefined : members(written, place)
}

function propertyNames(written: RuleValue, { inner }: KeywordPlace): JsonCheck {
  const check = inner([], written)
  return (value, run) => {
    if (!isMap(value)) return undefined
    return first(Object.keys(value), (key) => {
      const found = run.deeper(check, key)
      return found === undefined
        ? undefined
        : problem(`has the member ${JSON.stringify(key.slice(0, 60))}, whose name ${found.summary}`)
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
    return first(value.entries(), ([index, item]) => {
      run.budget.step(1)
      const check = checks[index] ?? rest
      return check === undefined ? undefined : run.member(index, check, item)
    })
  }
}

function contains(written: RuleValue, place: KeywordPlace): JsonCheck {
  const check = place.inner([], written)
  const least = countIn(place.schema['minContains'], place, 1, 'minContains')
  const max = countIn(place.schema['maxContains'], place, Number.POSITIVE_INFINITY, 'maxContains')
  return (value, run) => {
    if (!isArray(value)) return undefined
    const found = value.filter((item) => run.passes(check, item)).length
    if (found < least) return problem(`must contain at least ${least} items that match, not ${found}`)
    return found > max ? problem(`must contain at most ${max} items that match, not ${found}`) : undefined
  }
}

/** Names of members that other members need, or schemas for the whole value if a member is there. */
function dependencies(written: RuleValue, place: KeywordPlace): JsonCheck {
  const checks = mapOf(written, place).map(([key, needed]) => ({
    key,
    check: isArray(needed)
      ? requiring(namesOf(needed, place), ` beside ${JSON.stringify(key)}`)
      : place.inner([key], needed),
  }))
  return (value, run) => {
    if (!isMap(value)) return undefined
    return first(checks, ({ key, check }) => (isPresent(value, key, run) ? run.deeper(check, value) : undefined))
  }
}

function isPresent(value: RuleMap, key: string, { budget }: CheckRun): boolean {
  budget.step(1)
  return Object.hasOwn(value, key) && value[key] !== undefined
}

function unsupported(instead: string): KeywordCompiler {
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
  ['patternProperties', membersUnless('properties')],
  ['additionalProperties', membersUnless('properties', 'patternProperties')],
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
  ['unevaluatedProperties', unsupported('use additionalProperties')],
  ['unevaluatedItems', unsupported('use items')],
  ['$dynamicRef', unsupported('use $ref')],
  ['$recursiveRef', unsupported('use $ref')],
])
