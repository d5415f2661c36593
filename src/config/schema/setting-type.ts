// What kinds of values settings have: how each is read from a configuration, written into one, and described.

import { quoteForMessage } from '../config-errors.ts'
import type { NamedPath } from './named-path.ts'
import { readScalar, textOf, type ConfigValue, type PlainValue, type Position } from '../hocon/values.ts'

/**
 * A value that was understood, perhaps with a warning about it, or what is wrong with it. `at`: the part of the value
 * that is meant, if not all.
 */
export type ReadValue<T> =
  | { readonly value: T; readonly warning?: string }
  | { readonly problem: string; readonly at?: Position }

export interface SettingType<T> {
  /** Completes the sentence "the value is ...", for messages and for the reference page. */
  readonly name: string
  /** JSON Schema of what may be written. */
  readonly jsonSchema: PlainValue
  read(value: ConfigValue): ReadValue<T>
  /** The value as it is written in a configuration; reading that gives the same value. */
  show(value: T): string
  /** The paths of files and directories in a value; absent: it holds none. */
  pathsIn?(value: T): readonly NamedPath[]
}

/** What is wrong when `value` is not a `name`. */
export function notA(name: string, value: ConfigValue): { readonly problem: string } {
  return { problem: `${nameValue(value)} is not ${name}` }
}

function nameValue(value: ConfigValue): string {
  if (value.kind === 'object') return 'an object'
  if (value.kind === 'array') return 'a list'
  return quoteForMessage(textOf(value))
}

/** The scalar's text; undefined for objects, lists and null. */
export function scalarText(value: ConfigValue): string | undefined {
  if (value.kind === 'object' || value.kind === 'array' || value.kind === 'null') return undefined
  return textOf(value)
}

/** Text in the spelling of a configuration: with quotes wherever they are needed. */
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
    const word = switchWords.get(scalarText(value)?.toLowerCase() ?? '')
    return word === undefined ? notA(this.name, value) : { value: word }
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
      const text = scalarText(value) ?? ''
      // 1e3 and 10.0 are whole numbers too, but nobody who writes them means a count.
      const number = /^-?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN
      return number >= bounds.min && number <= bounds.max ? { value: number } : notA(name, value)
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
      const text = scalarText(value) ?? ''
      const number = /^-?[0-9]{1,16}(?:\.[0-9]{1,16})?$/.test(text) ? Number(text) : Number.NaN
      return number > bounds.moreThan && number <= bounds.max ? { value: number } : notA(name, value)
    },
    show: String,
  }
}

/** One of some words, in capitals or not. */
export function choice<const Word extends string>(words: readonly Word[]): SettingType<Word> {
  const name = `one of ${words.join(', ')}`
  return {
    name,
    jsonSchema: { type: 'string', enum: words },
    read(value) {
      const text = scalarText(value)?.toLowerCase()
      const word = words.find((candidate) => candidate.toLowerCase() === text)
      return word === undefined ? notA(name, value) : { value: word }
    },
    // A digit needs no quotes here: it is read as a word again.
    show: (word) => (/^[0-9]$/.test(word) ? word : showText(word)),
  }
}

interface TextBounds {
  /** Bytes of UTF-8. */
  readonly maxBytes?: number
  readonly isEmptyAllowed?: boolean
  /** What the text must look like, with its name: "a host name or address". */
  readonly form?: { readonly pattern: RegExp; readonly name: string }
}

/** Where nothing else is said; a packet of MQTT carries no longer one. */
export const maxTextBytes = 65_535

/** Text; numbers and switches are taken as the text that they were written as. */
export function text(bounds: TextBounds = {}): SettingType<string> {
  const maxBytes = bounds.maxBytes ?? maxTextBytes
  const name = bounds.form?.name ?? (bounds.isEmptyAllowed === true ? 'text' : 'text that is not empty')
  return {
    name,
    jsonSchema: { type: 'string', ...(bounds.form === undefined ? {} : { pattern: bounds.form.pattern.source }) },
    read(value) {
      const found = scalarText(value)
      if (found === undefined || (found === '' && bounds.isEmptyAllowed !== true)) return notA(name, value)
      if (Buffer.byteLength(found) > maxBytes) return { problem: `the text is longer than ${maxBytes} bytes` }
      if (bounds.form !== undefined && !bounds.form.pattern.test(found)) return notA(name, value)
      // A NUL or another control character in a name or a path is a mistake or an attack, never a wish.
      return /\p{Cc}/u.test(found) ? { problem: 'the text holds a control character' } : { value: found }
    },
    show: showText,
  }
}

// Whichever of these is written where a setting may be without a value, it means the same.
const emptyWords: ReadonlySet<string> = new Set(['none', 'unlimited', 'infinity', 'auto', 'unset'])

/** The type, or nothing: undefined, written as `word`. */
export function optional<T>(
  type: SettingType<T>,
  word: 'none' | 'unlimited' | 'auto' | 'unset',
): SettingType<T | undefined> {
  const name = `${type.name}, or ${word}`
  return {
    name,
    jsonSchema: { anyOf: [type.jsonSchema, { type: 'string', enum: [...emptyWords] }, { type: 'null' }] },
    read(value) {
      const found = scalarText(value)?.toLowerCase() ?? ''
      if (emptyWords.has(found)) return { value: undefined }
      const read = type.read(value)
      return 'problem' in read && read.problem.endsWith(type.name)
        ? { ...read, problem: `${read.problem}, or ${word}` }
        : read
    },
    show: (value) => (value === undefined ? word : type.show(value)),
    pathsIn: (value) => (value === undefined ? [] : (type.pathsIn?.(value) ?? [])),
  }
}
