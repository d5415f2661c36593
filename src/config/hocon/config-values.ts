// Resolved values of a configuration. Each value has the position where it was written, for errors.
//
//   object ── entries: key -> value      (a Map: keys of a text cannot change a prototype)
//   array  ── items
//   text, number, boolean, null

import { assertNever } from './assert-never.ts'

/** A position. Lines and columns start at 1; line 0 means "not in a file" (an override, the environment). */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

export interface ConfigObject {
  readonly kind: 'object'
  readonly entries: ReadonlyMap<string, ConfigValue>
  readonly at: Position
}

export interface ConfigArray {
  readonly kind: 'array'
  readonly items: readonly ConfigValue[]
  readonly at: Position
}

export interface ConfigText {
  readonly kind: 'text'
  readonly text: string
  readonly at: Position
}

/** `text` is the number as it was written, for concatenation with other text: `1.50` stays `1.50`. */
export interface ConfigNumber {
  readonly kind: 'number'
  readonly value: number
  readonly text: string
  readonly at: Position
}

export interface ConfigBoolean {
  readonly kind: 'boolean'
  readonly value: boolean
  readonly at: Position
}

export interface ConfigNull {
  readonly kind: 'null'
  readonly at: Position
}

export type ConfigScalar = ConfigText | ConfigNumber | ConfigBoolean | ConfigNull

export type ConfigValue = ConfigObject | ConfigArray | ConfigScalar

/** A plain value, as in JSON; objects have no prototype. */
export type PlainValue =
  | string
  | number
  | boolean
  | null
  | readonly PlainValue[]
  | { readonly [key: string]: PlainValue }

const numberForm = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/

/** Parses unquoted text: `true`, `false`, `null` and JSON numbers, otherwise text. */
export function readScalar(text: string, at: Position): ConfigScalar {
  if (text === 'true' || text === 'false') return { kind: 'boolean', value: text === 'true', at }
  if (text === 'null') return { kind: 'null', at }
  if (numberForm.test(text)) {
    const value = Number(text)
    if (Number.isFinite(value)) return { kind: 'number', value, text, at }
  }
  return { kind: 'text', text, at }
}

/** Returns the scalar as part of a longer text. */
export function formatScalar(scalar: ConfigScalar): string {
  if (scalar.kind === 'null') return 'null'
  if (scalar.kind === 'boolean') return String(scalar.value)
  return scalar.text
}

/** Leaves the positions out. */
export function toPlain(value: ConfigValue): PlainValue {
  switch (value.kind) {
    case 'object': {
      const plain = Object.create(null) as Record<string, PlainValue>
      for (const [key, entry] of value.entries) plain[key] = toPlain(entry)
      return plain
    }
    case 'array':
      return value.items.map(toPlain)
    case 'text':
      return value.text
    case 'null':
      return null
    case 'number':
    case 'boolean':
      return value.value
    default:
      return assertNever(value)
  }
}
