// Fields of a resource as data. The types of its values, its check, its defaults and the schema for the API server are derived from them:
// each fact is written once.
//
//   object ── fields: image, env, ...            a key each
//   map    ── values                             any key
//   list   ── items
//   text, integer, boolean, quantity, bytes      scalars
//   open                                         what Kubernetes checks and we pass on

import type { JsonObject, JsonValue } from '../documents/manifest-node.ts'

/** Form of a text. `pattern` is a regular expression that RE2 of the API server and JavaScript read alike. */
export interface TextForm {
  readonly pattern: string
  /** For "this is not ...". */
  readonly name: string
}

export interface TextField<T extends string = string> {
  readonly kind: 'text'
  readonly choices: readonly T[] | undefined
  readonly form: TextForm | undefined
  readonly minLength: number
  readonly maxLength: number
}

export interface IntegerField {
  readonly kind: 'integer'
  readonly format: 'int32' | 'int64'
  readonly min: number | undefined
  readonly max: number | undefined
}

export interface BooleanField {
  readonly kind: 'boolean'
}

/** A quantity of Kubernetes: `2`, `500m`, `1.5Gi`. */
export interface QuantityField {
  readonly kind: 'quantity'
}

/** A number or a percentage. */
export interface CountField {
  readonly kind: 'count'
}

/** Bytes in base64. */
export interface BytesField {
  readonly kind: 'bytes'
  readonly maxLength: number
}

/** Anything; `isObject`: only an object. */
export interface OpenField {
  readonly kind: 'open'
  readonly isObject: boolean
}

export interface MapField<V extends Field = Field> {
  readonly kind: 'map'
  readonly values: V
  readonly keyForm: TextForm | undefined
  readonly maxKeyLength: number
  readonly maxProperties: number
}

export interface ListField<I extends Field = Field> {
  readonly kind: 'list'
  readonly items: I
  readonly maxItems: number
  /** Field that names an item, which no two items share: the API server merges lists by it. */
  readonly key: string | undefined
  /** Singular of the items for messages. */
  readonly itemName: string
}

/** An object that may have `passesUnknown` fields beside its own: they are passed on as they are. */
export interface ObjectField<F extends Entries = Entries, Unknown extends boolean = boolean> {
  readonly kind: 'object'
  readonly fields: F
  readonly passesUnknown: Unknown
}

export type Field =
  | TextField
  | IntegerField
  | BooleanField
  | QuantityField
  | CountField
  | BytesField
  | OpenField
  | MapField
  | ListField
  | ObjectField

/** A field in an object. */
export interface Entry<F extends Field = Field, P extends Presence = Presence> {
  readonly field: F
  readonly description: string
  readonly presence: P
  /** Value if the field is absent; undefined: none. */
  readonly default: JsonValue | undefined
  /** Further names of the field, which other versions of the resource use. */
  readonly spellings: readonly string[]
}

type Presence = 'required' | 'default' | 'optional'

export interface Entries {
  readonly [name: string]: Entry
}

type PresentKeys<F extends Entries> = {
  [K in keyof F]: F[K]['presence'] extends 'optional' ? never : K
}[keyof F]

/** Value of a valid field, defaults filled in. */
export type ValueOf<F> =
  F extends TextField<infer T>
    ? T
    : F extends IntegerField
      ? number
      : F extends BooleanField
        ? boolean
        : F extends QuantityField | CountField
          ? string | number
          : F extends BytesField
            ? string
            : F extends OpenField
              ? F['isObject'] extends true
                ? JsonObject
                : JsonValue
              : F extends MapField<infer V>
                ? Readonly<Record<string, ValueOf<V>>>
                : F extends ListField<infer I>
                  ? readonly ValueOf<I>[]
                  : F extends ObjectField<infer E>
                    ? { readonly [K in PresentKeys<E>]: ValueOf<E[K]['field']> } & {
                        readonly [K in Exclude<keyof E, PresentKeys<E>>]?: ValueOf<E[K]['field']> | undefined
                      }
                    : never

/** What is left of a value whose invalid parts are undefined: rules check it, so that all faults are reported at once. */
export type Draft<T> = T extends JsonObject
  ? JsonValue extends T[keyof T]
    ? T
    : DraftObject<T>
  : T extends readonly (infer I)[]
    ? readonly (Draft<I> | undefined)[]
    : T extends object
      ? DraftObject<T>
      : T
type DraftObject<T> = { readonly [K in keyof T]?: Draft<NonNullable<T[K]>> | undefined }

/** Defaults of the lengths: the API server estimates the cost of rules by them. */
const defaultLengths = { text: 1_024, entries: 64, items: 64 }

export function text(options: { form?: TextForm; minLength?: number; maxLength?: number } = {}): TextField {
  const { form, minLength = 0, maxLength = defaultLengths.text } = options
  return { kind: 'text', choices: undefined, form, minLength, maxLength }
}

export function choice<const T extends string>(choices: readonly T[]): TextField<T> {
  return {
    kind: 'text',
    choices,
    form: undefined,
    minLength: 0,
    maxLength: Math.max(...choices.map((one) => one.length)),
  }
}

export function integer(options: { format?: 'int32' | 'int64'; min?: number; max?: number } = {}): IntegerField {
  return { kind: 'integer', format: options.format ?? 'int32', min: options.min, max: options.max }
}

export const boolean: BooleanField = { kind: 'boolean' }
export const quantity: QuantityField = { kind: 'quantity' }
export const count: CountField = { kind: 'count' }

export function bytes(maxLength: number): BytesField {
  return { kind: 'bytes', maxLength }
}

export const openObject: OpenField & { readonly isObject: true } = { kind: 'open', isObject: true }
export const openValue: OpenField & { readonly isObject: false } = { kind: 'open', isObject: false }

export function mapOf<V extends Field>(
  values: V,
  options: { keyForm?: TextForm; maxKeyLength?: number; maxProperties?: number } = {},
): MapField<V> {
  const { keyForm, maxKeyLength = 317, maxProperties = defaultLengths.entries } = options
  return { kind: 'map', values, keyForm, maxKeyLength, maxProperties }
}

export function listOf<I extends Field>(
  items: I,
  options: { maxItems?: number; key?: string; itemName?: string } = {},
): ListField<I> {
  const { maxItems = defaultLengths.items, key, itemName = 'item' } = options
  return { kind: 'list', items, maxItems, key, itemName }
}

export function object<F extends Entries>(fields: F): ObjectField<F, false> {
  return { kind: 'object', fields, passesUnknown: false }
}

/** An object of which only the given fields are checked. */
export function partlyOpen<F extends Entries>(fields: F): ObjectField<F, true> {
  return { kind: 'object', fields, passesUnknown: true }
}

interface EntryOptions {
  readonly spellings?: readonly string[]
}

export function optional<F extends Field>(
  field: F,
  description: string,
  { spellings = [] }: EntryOptions = {},
): Entry<F, 'optional'> {
  return { field, description, presence: 'optional', default: undefined, spellings }
}

export function required<F extends Field>(
  field: F,
  description: string,
  { spellings = [] }: EntryOptions = {},
): Entry<F, 'required'> {
  return { field, description, presence: 'required', default: undefined, spellings }
}

export function withDefault<F extends Field>(
  field: F,
  defaultValue: JsonValue,
  description: string,
  { spellings = [] }: EntryOptions = {},
): Entry<F, 'default'> {
  return { field, description, presence: 'default', default: defaultValue, spellings }
}
