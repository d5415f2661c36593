// Schemas of the schema registry: what encodes, decodes and checks values of rules. All codecs are pure, work on the values of
// rules, and count every step and byte against the budget of the rule. See docs/adr/0016.

import {
  type Budget,
  createLimitError,
  findPosition,
  RuleError,
  type RuleText,
  type RuleValue,
} from '../../values/index.ts'
import { maxSchemaLength, maxSchemaNodes } from './schema-limits.ts'

/** Kinds of schemas, by the names of the configuration. */
export const schemaTypes = ['json', 'avro', 'protobuf'] as const
export type SchemaType = (typeof schemaTypes)[number]

/** One schema as the configuration has it. */
export interface SchemaDefinition {
  readonly name: string
  readonly type: SchemaType
  readonly source: string
}

/** A schema that was compiled. Its functions throw RuleError. */
export interface CompiledSchema {
  readonly type: SchemaType
  /** Names of the message types of Protobuf; empty for other schemas. */
  readonly messageTypes: readonly string[]
  /** `messageType`: for Protobuf only. */
  encode(value: RuleValue, messageType: string | undefined, budget: Budget): RuleText
  decode(data: Uint8Array, messageType: string | undefined, budget: Budget): RuleValue
}

/** Position of an error in the source of a schema: an offset in the text, or a path of keys in JSON. */
export type SchemaPlace = { readonly source: string; readonly at: number } | { readonly path: string }

/** A text that is not a schema. `message` has the place: line and column, or the path in the JSON. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'

  constructor(place: SchemaPlace, summary: string) {
    super(`${describePlace(place)}: ${summary}`)
  }
}

function describePlace(place: SchemaPlace): string {
  if ('path' in place) return place.path === '' ? 'at the top of the schema' : `at ${place.path}`
  const { line, column } = findPosition(place.source, place.at)
  return `line ${line}, column ${column}`
}

/** Throws SchemaError if the text is longer than a schema may be. */
export function checkLength(source: string): void {
  if (source.length > maxSchemaLength) {
    throw new SchemaError(
      { path: '' },
      `the schema is too long: limit maxSchemaLength is ${maxSchemaLength} characters`,
    )
  }
}

/** Counts types, fields and keywords of one schema. */
export class NodeCounter {
  #count = 0

  /** Throws SchemaError if there are too many. */
  add(place: SchemaPlace, count = 1): void {
    this.#count += count
    if (this.#count > maxSchemaNodes)
      throw new SchemaError(place, `the schema is too large: limit maxSchemaNodes is ${maxSchemaNodes}`)
  }
}

/** Keys and positions that lead to the value at hand, for errors of encoding and checking. */
export class ValuePath {
  readonly #keys: (string | number)[] = []

  /** Runs `work` for the member `key`. */
  runWithin<Result>(key: string | number, work: () => Result): Result {
    this.#keys.push(key)
    const result = work()
    this.#keys.pop()
    return result
  }

  /** Leaves the members that failed work has entered. `depth` is an earlier `depth`. */
  leave(depth: number): void {
    this.#keys.length = depth
  }

  get depth(): number {
    return this.#keys.length
  }

  createError(summary: string): RuleError {
    return new RuleError(`${this.formatPath()}${summary}`)
  }

  /** `readings[2].value: `, or nothing for the whole value. */
  formatPath(): string {
    if (this.#keys.length === 0) return ''
    let text = ''
    for (const key of this.#keys.slice(0, maxShownKeys)) {
      if (typeof key === 'number') text += `[${key + 1}]`
      else text += `${text === '' ? '' : '.'}${key.slice(0, maxShownKeyLength)}`
    }
    return `${text}${this.#keys.length > maxShownKeys ? '…' : ''}: `
  }
}

/** Keys of a path, and characters of a key, that an error shows. */
const maxShownKeys = 20
const maxShownKeyLength = 60

/** Throws RuleError beyond a depth. */
export function checkValueDepth(depth: number, maximum: number): void {
  if (depth > maximum) throw createLimitError('the data is nested too deeply', 'maxValueDepth', maximum)
}
