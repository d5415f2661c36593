// Compiles a JSON Schema of drafts 4, 6, 7, 2019-09 and 2020-12 to checks.

import { maxSchemaDepth } from '../model/schema-limits.ts'
import { type Budget, isArray, isMap, quoteText, RuleError, type RuleMap, type RuleValue } from '../../values/index.ts'
import { readSchemaJson } from '../model/read-schema-json.ts'
import { NodeCounter, SchemaError } from '../model/compiled-schema.ts'
import { jsonApplicators } from './json-applicators.ts'
import { jsonAssertions, type KeywordPlace } from './json-assertions.ts'
import { CheckRun, type JsonCheck, type JsonProblem, createProblem } from './json-check.ts'

/** Throws RuleError with the place in the value. */
export type ValidateJson = (value: RuleValue, budget: Budget) => void

/** Throws SchemaError with line and column, or the path in the schema. */
export function compileJsonSchema(source: string): ValidateJson {
  const schema = readSchemaJson(source)
  const check = new JsonSchemaCompiler(schema).compile()
  return (value, budget) => {
    const found = new CheckRun(budget).runDeeper(check, value)
    if (found !== undefined) throw new RuleError(`${formatPlace(found)} ${found.summary}`)
  }
}

const maxShownKeys = 20

function formatPlace({ keys }: JsonProblem): string {
  if (keys.length === 0) return 'the value'
  const path = keys.toReversed().map((key) => (typeof key === 'number' ? `[${key + 1}]` : `.${key.slice(0, 60)}`))
  return path.slice(0, maxShownKeys).join('').replace(/^\./, '')
}

/** Drafts by a part of `$schema`, and whether keywords beside `$ref` count. */
const drafts = [
  { part: 'draft-04', isDraft4: true, ignoresSiblings: true },
  { part: 'draft-06', isDraft4: false, ignoresSiblings: true },
  { part: 'draft-07', isDraft4: false, ignoresSiblings: true },
  { part: '2019-09', isDraft4: false, ignoresSiblings: false },
  { part: '2020-12', isDraft4: false, ignoresSiblings: false },
] as const

interface ReferenceTarget {
  readonly schema: RuleValue
  readonly path: string
  check: JsonCheck
}

class JsonSchemaCompiler {
  readonly #root: RuleValue
  readonly #draft: Pick<(typeof drafts)[number], 'isDraft4' | 'ignoresSiblings'>
  readonly #nodes = new NodeCounter()
  /** Targets of references by their paths. A target may refer to itself. */
  readonly #targets = new Map<string, ReferenceTarget>()
  /** References that are still to be compiled. The list avoids a deep recursion for chains of references. */
  readonly #pending: ReferenceTarget[] = []
  /** Paths of schemas that have a name. */
  #names: ReadonlyMap<string, string> | undefined

  constructor(root: RuleValue) {
    this.#root = root
    this.#draft = findDraft(root)
  }

  compile(): JsonCheck {
    const check = this.#check(this.#root, '', 0)
    for (let next = this.#pending.pop(); next !== undefined; next = this.#pending.pop()) {
      next.check = this.#check(next.schema, next.path, 0)
    }
    return check
  }

  #check(schema: RuleValue, path: string, depth: number): JsonCheck {
    this.#nodes.add({ path })
    if (depth > maxSchemaDepth)
      throw new SchemaError({ path }, `schemas are nested too deeply: limit maxSchemaDepth is ${maxSchemaDepth}`)
    if (schema === true) return () => undefined
    if (schema === false) return () => createProblem('is not allowed')
    if (!isMap(schema)) throw new SchemaError({ path }, 'a schema is an object, true or false')
    const checks = this.#compileKeywords(schema, path, depth)
    if (checks.length === 1) return checks[0]
    return (value, run) => {
      run.budget.countSteps(checks.length)
      for (const check of checks) {
        const found = check(value, run)
        if (found !== undefined) return found
      }
      return undefined
    }
  }

  #compileKeywords(schema: RuleMap, path: string, depth: number): JsonCheck[] {
    const checks: JsonCheck[] = []
    const target = schema['$ref']
    if (target !== undefined) {
      const place = this.#createPlace(schema, { path, keyword: '$ref', depth })
      if (typeof target !== 'string') throw place.error('expected the place of a schema, such as "#/$defs/name"')
      checks.push(place.compileReference(target))
      if (this.#draft.ignoresSiblings) return checks
    }
    for (const [keyword, written] of Object.entries(schema)) {
      const compile = jsonAssertions.get(keyword) ?? jsonApplicators.get(keyword)
      if (compile === undefined || written === undefined) continue
      this.#nodes.add({ path })
      const check = compile(written, this.#createPlace(schema, { path, keyword, depth }))
      if (check !== undefined) checks.push(check)
    }
    return checks
  }

  #createPlace(
    schema: RuleMap,
    { path, keyword, depth }: { path: string; keyword: string; depth: number },
  ): KeywordPlace {
    /** A first key `..` stands for the keyword beside this one. */
    const formatKeywordPath = (keys: readonly (string | number)[]): string => {
      const all = keys[0] === '..' ? keys.slice(1) : [keyword, ...keys]
      return `${path}${all.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')}`
    }
    return {
      schema,
      isDraft4: this.#draft.isDraft4,
      inner: (keys, below) => this.#check(below, formatKeywordPath(keys), depth + 1),
      compileReference: (target) => this.#compileReference(target, formatKeywordPath([])),
      error: (summary, below = []) => new SchemaError({ path: formatKeywordPath(below) }, summary),
    }
  }

  #compileReference(target: string, path: string): JsonCheck {
    const found = this.#findPath(target)
    const schema = found === undefined ? undefined : this.#findAt(found)
    if (found === undefined || schema === undefined) {
      const summary = `there is no schema ${quoteText(target)} in this one: schemas elsewhere are not loaded`
      throw new SchemaError({ path }, summary)
    }
    let reference = this.#targets.get(found)
    if (reference === undefined) {
      reference = { schema, path: found, check: acceptAll }
      this.#targets.set(found, reference)
      this.#pending.push(reference)
    }
    const known = reference
    return (value, run) => run.runDeeper(known.check, value)
  }

  /** Returns the path of the target of a reference: `#/$defs/a`, `#name`, or the `$id` of a part. */
  #findPath(target: string): string | undefined {
    const hash = target.indexOf('#')
    const [base, fragment] = hash === -1 ? [target, ''] : [target.slice(0, hash), target.slice(hash + 1)]
    this.#names ??= findNamedParts(this.#root)
    const start = base === '' ? '' : this.#names.get(base)
    if (start === undefined) return undefined
    if (fragment === '' || fragment.startsWith('/')) return start + decodeFragment(fragment)
    return this.#names.get(`#${fragment}`)
  }

  #findAt(path: string): RuleValue {
    let value = this.#root
    for (const part of path.split('/').slice(1)) {
      const key = part.replaceAll('~1', '/').replaceAll('~0', '~')
      if (isArray(value)) value = value[Number(key)]
      else if (isMap(value) && Object.hasOwn(value, key)) value = value[key]
      else return undefined
    }
    return value
  }
}

const acceptAll: JsonCheck = () => undefined

function findDraft(root: RuleValue): Pick<(typeof drafts)[number], 'isDraft4' | 'ignoresSiblings'> {
  const written = isMap(root) ? root['$schema'] : undefined
  if (written === undefined) return { isDraft4: false, ignoresSiblings: false }
  const found = drafts.find(({ part }) => typeof written === 'string' && written.includes(part))
  if (found !== undefined) return found
  const known = drafts.map(({ part }) => part).join(', ')
  throw new SchemaError({ path: '/$schema' }, `this version of JSON Schema is not supported: use one of ${known}`)
}

function decodeFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    // Not percent-encoded: the path as it is written.
    return fragment
  }
}

/** Finds `$id`, `id` and `$anchor` anywhere in the schema. */
function findNamedParts(root: RuleValue): Map<string, string> {
  const names = new Map<string, string>()
  const pending = [{ value: root, path: '' }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, path } = next
    if (isArray(value)) value.forEach((item, index) => pending.push({ value: item, path: `${path}/${index}` }))
    if (!isMap(value)) continue
    for (const key of ['$id', 'id', '$anchor']) {
      const name = value[key]
      if (typeof name === 'string') names.set(key === '$anchor' ? `#${name}` : name.replace(/#$/, ''), path)
    }
    for (const [key, member] of Object.entries(value)) {
      pending.push({ value: member, path: `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}` })
    }
  }
  return names
}
