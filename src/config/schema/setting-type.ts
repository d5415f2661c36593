// Types of settings: how a value is read from a configuration, written, and described.

import { quoteForMessage } from '../hocon/config-errors.ts'
import type { NamedPath } from './named-path.ts'
import { readScalar, formatScalar, type ConfigValue, type PlainValue, type Position } from '../hocon/config-values.ts'

/** A valid value, possibly with a warning, or what is wrong. `at`: the part of the value that is meant, if not all. */
export type ReadValue<T> =
  | { readonly value: T; readonly warning?: string }
  | { readonly problem: string; readonly at?: Position }

export interface SettingType<T> {
  /** Completes the sentence "the value is ...", for messages and for the reference. */
  readonly name: string
  /** JSON Schema of valid values. */
  readonly jsonSchema: PlainValue
  read(value: ConfigValue): ReadValue<T>
  /** Returns the value as in a configuration; reading it gives the same value. */
  show(value: T): string
  /** Whether a value may have several lines. */
  readonly hasLines?: boolean | undefined
  /** Returns paths of files and directories in a value; absent: there are none. */
  listPaths?(value: T): readonly NamedPath[]
}

/** The error for a value that is not a `name`. */
export function createTypeProblem(name: string, value: ConfigValue): { readonly problem: string } {
  return { problem: `${describeValue(value)} is not ${name}` }
}

function describeValue(value: ConfigValue): string {
  if (value.kind === 'object') return 'an object'
  if (value.kind === 'array') return 'a list'
  return quoteForMessage(formatScalar(value))
}

/** Returns the scalar's text; undefined for objects, lists and null. */
export function toScalarText(value: ConfigValue): string | undefined {
  if (value.kind === 'object' || value.kind === 'array' || value.kind === 'null') return undefined
  return formatScalar(value)
}

/** Returns text as in a configuration: quoted if needed. */
export function showText(text: string): string {
  const isPlain = /^[A-Za-z_/][A-Za-z0-9_./-]*$/.test(text) && !text.includes('//')
  const at: Position = { file: '', line: 0, column: 0 }
  return isPlain && readScalar(text, at).kind === 'text' ? text : JSON.stringify(text)
}

const switchWords: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['on', true],
  ['yes', true],
  ['false', false],
  ['off', false],
  ['no', false],
])

export const boolean: SettingType<boolean> = {
  name: 'true or false',
  jsonSchema: { type: 'boolean' },
  read(value) {
    const word = switchWords.get(toScalarText(value)?.toLowerCase() ?? '')
    return word === undefined ? createTypeProblem(this.name, value) : { value: word }
  },
  show: String,
}

/** A whole number within both bounds. */
export function integer(bounds: { readonly min: number; readonly max: number }): SettingType<number> {
  const name = `a whole number from ${bounds.min} to ${bounds.max}`
  return {
    name,
    jsonSchema: { type: 'integer', minimum: bounds.min, maximum: bounds.max },
    read(value) {
      const text = toScalarText(value) ?? ''
      // 1e3 and 10.0 are whole numbers too, but they are probably a mistake.
      const number = /^-?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
      return number >= bounds.min && number <= bounds.max ? { value: number } : createTypeProblem(name, value)
    },
    show: String,
  }
}

/** A number above `moreThan` and up to `max`. */
export function decimal(bounds: { readonly moreThan: number; readonly max: number }): SettingType<number> {
  const name = `a number above ${bounds.moreThan}, at most ${bounds.max}`
  return {
    name,
    jsonSchema: { type: 'number', exclusiveMinimum: bounds.moreThan, maximum: bounds.max },
    read(value) {
      const text = toScalarText(value) ?? ''
      const number = /^-?[0-9]{1,16}(?:\.[0-9]{1,16})?$/.test(text) ? Number(text) : Number.NaN
      return number > bounds.moreThan && number <= bounds.max ? { value: number } : createTypeProblem(name, value)
    },
    show: String,
  }
}

/** One of several words, case-insensitive. */
export function choice<const Word extends string>(words: readonly Word[]): SettingType<Word> {
  const name = `one of ${words.join(', ')}`
  return {
    name,
    jsonSchema: { type: 'string', enum: words },
    read(value) {
      const text = toScalarText(value)?.toLowerCase()
      const word = words.find((candidate) => candidate.toLowerCase() === text)
      return word === undefined ? createTypeProblem(name, value) : { value: word }
    },
    // A digit needs no quotes: it is read as a word again.
    show: (word) => (/^[0-9]$/.test(word) ? word : showText(word)),
  }
}

interface TextBounds {
  /** Bytes of UTF-8. */
  readonly maxBytes?: number
  readonly isEmptyAllowed?: boolean
  /** Required form with its name: "a host name or address". */
  readonly form?: { readonly pattern: RegExp; readonly name: string }
}

/** Default; the longest text in an MQTT packet. */
export const maxTextBytes = 65_535

/** Text; numbers and booleans are taken as they were written. */
export function text(bounds: TextBounds = {}): SettingType<string> {
  const maxBytes = bounds.maxBytes ?? maxTextBytes
  const name = bounds.form?.name ?? (bounds.isEmptyAllowed === true ? 'text' : 'text that is not empty')
  return {
    name,
    jsonSchema: { type: 'string', ...(bounds.form === undefined ? {} : { pattern: bounds.form.pattern.source }) },
    read(value) {
      const found = toScalarText(value)
      if (found === undefined || (found === '' && bounds.isEmptyAllowed !== true)) return createTypeProblem(name, value)
      if (Buffer.byteLength(found) > maxBytes) return { problem: `the text is longer than ${maxBytes} bytes` }
      if (bounds.form !== undefined && !bounds.form.pattern.test(found)) return createTypeProblem(name, value)
      // A control character in a name or a path is a mistake or an attack.
      return /\p{Cc}/u.test(found) ? { problem: 'the text contains a control character' } : { value: found }
    },
    show: showText,
  }
}

// Any of these words means no value, for a setting that allows it.
const emptyWords: ReadonlySet<string> = new Set(['none', 'unlimited', 'infinity', 'auto', 'unset'])

/** The type, or undefined, written as `word`. */
export function optional<T>(
  type: SettingType<T>,
  word: 'none' | 'unlimited' | 'auto' | 'unset',
): SettingType<T | undefined> {
  const name = `${type.name}, or ${word}`
  return {
    name,
    jsonSchema: { anyOf: [type.jsonSchema, { type: 'string', enum: [...emptyWords] }, { type: 'null' }] },
    read(value) {
      const found = toScalarText(value)?.toLowerCase() ?? ''
      if (emptyWords.has(found)) return { value: undefined }
      const read = type.read(value)
      return 'problem' in read && read.problem.endsWith(type.name)
        ? { ...read, problem: `${read.problem}, or ${word}` }
        : read
    },
    show: (value) => (value === undefined ? word : type.show(value)),
    hasLines: type.hasLines,
    listPaths: (value) => (value === undefined ? [] : (type.listPaths?.(value) ?? [])),
  }
}
