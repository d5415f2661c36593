// Types of Avro, as a graph: a named type may contain itself.

import type { RuleValue } from '../../values/index.ts'

export const primitiveKinds = ['null', 'boolean', 'int', 'long', 'float', 'double', 'bytes', 'string'] as const
export type PrimitiveKind = (typeof primitiveKinds)[number]

export interface AvroField {
  readonly name: string
  readonly type: AvroType
  /** For encoding; undefined: the field has none. */
  readonly defaultValue: RuleValue
}

export interface AvroRecord {
  readonly kind: 'record'
  readonly name: string
  readonly fields: AvroField[]
}

export type AvroType =
  | { readonly kind: PrimitiveKind }
  | { readonly kind: 'fixed'; readonly name: string; readonly size: number }
  | {
      readonly kind: 'enum'
      readonly name: string
      readonly symbols: readonly string[]
      readonly indexes: ReadonlyMap<string, number>
    }
  | { readonly kind: 'array'; readonly items: AvroType }
  | { readonly kind: 'map'; readonly values: AvroType }
  | { readonly kind: 'union'; readonly branches: readonly AvroType[] }
  | AvroRecord

/** Returns a type for a message: `long`, or `record Reading`. */
export function describeAvro(type: AvroType): string {
  return 'name' in type ? `${type.kind} ${type.name}` : type.kind
}
