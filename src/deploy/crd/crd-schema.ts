// The schema of a field for the API server: structural, as `apiextensions.k8s.io/v1` demands it.

import type { JsonObject, JsonValue } from '../documents/manifest-node.ts'
import type { Entry, Field, ListField, ObjectField, TextField } from '../resource/field-types.ts'
import type { Rule, TransitionRule } from '../rules/rule.ts'
import { quantityPattern } from '../resource/resource-quantities.ts'

type AnyRule = Rule | TransitionRule

/** Creates schemas with the rules at their places. */
export class SchemaWriter {
  readonly #rules: ReadonlyMap<string, readonly AnyRule[]>

  constructor(rules: readonly AnyRule[]) {
    this.#rules = Map.groupBy(rules, ({ at }) => at)
  }

  /** Returns the schema of the field at `at`: `spec`, `spec.env[]`. */
  writeField(field: Field, at: string, description?: string): JsonObject {
    const schema = { ...(description === undefined ? {} : { description }), ...this.#writeType(field, at) }
    const rules = [...this.writeRules(at), ...writeSpellingRules(field)]
    return rules.length === 0 ? schema : { ...schema, 'x-kubernetes-validations': rules }
  }

  /** Returns the rules at `at` that CEL can express. */
  writeRules(at: string): readonly JsonObject[] {
    return (this.#rules.get(at) ?? []).flatMap(({ cel, message, hint }) =>
      cel === undefined ? [] : [{ rule: cel, message: `${message}; ${hint}` }],
    )
  }

  #writeType(field: Field, at: string): JsonObject {
    switch (field.kind) {
      case 'text':
        return writeText(field)
      case 'integer': {
        const { format, min, max } = field
        const limits = {
          ...(min === undefined ? {} : { minimum: min }),
          ...(max === undefined ? {} : { maximum: max }),
        }
        return { type: 'integer', format, ...limits }
      }
      case 'boolean':
        return { type: 'boolean' }
      case 'quantity':
        return { ...intOrString, pattern: quantityPattern, maxLength: maxQuantityLength }
      case 'count':
        return { ...intOrString, maxLength: maxQuantityLength }
      case 'bytes':
        return { type: 'string', format: 'byte', maxLength: field.maxLength }
      case 'open':
        return field.isObject ? { type: 'object', ...preserved } : preserved
      case 'map': {
        const { maxProperties, values } = field
        return { type: 'object', maxProperties, additionalProperties: this.writeField(values, `${at}{}`) }
      }
      case 'list':
        return this.#writeList(field, at)
      case 'object':
        return this.#writeObject(field, at)
      default:
        return field satisfies never
    }
  }

  #writeList({ items, maxItems, key }: ListField, at: string): JsonObject {
    const schema = { type: 'array', maxItems, items: this.writeField(items, `${at}[]`) }
    if (key === undefined) return { ...schema, 'x-kubernetes-list-type': 'atomic' }
    return { ...schema, 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': [key] }
  }

  #writeObject({ fields, passesUnknown }: ObjectField, at: string): JsonObject {
    const properties = Object.entries(fields).flatMap(([name, entry]): [string, JsonValue][] =>
      [name, ...entry.spellings].map((spelling) => [spelling, this.#writeEntry(name, spelling, entry, at)]),
    )
    const required = Object.entries(fields).flatMap(([name, { presence }]) => (presence === 'required' ? [name] : []))
    return {
      type: 'object',
      ...(required.length === 0 ? {} : { required }),
      ...(properties.length === 0 ? {} : { properties: Object.fromEntries(properties) }),
      ...(passesUnknown ? preserved : {}),
    }
  }

  /** A default of another spelling would make both fields present, with different values. */
  #writeEntry(name: string, spelling: string, entry: Entry, at: string): JsonObject {
    const words = spelling === name ? entry.description : `Another name of ${name}. ${entry.description}`
    const schema = this.writeField(entry.field, `${at}.${name}`, words)
    const hasDefault = entry.default !== undefined && entry.spellings.length === 0
    return hasDefault && entry.default !== undefined ? { ...schema, default: entry.default } : schema
  }
}

const intOrString = { 'x-kubernetes-int-or-string': true } as const
const preserved = { 'x-kubernetes-preserve-unknown-fields': true } as const
const maxQuantityLength = 64

function writeText({ choices, form, minLength, maxLength }: TextField): JsonObject {
  if (choices !== undefined) return { type: 'string', enum: [...choices] }
  const limits = { ...(minLength === 0 ? {} : { minLength }), maxLength }
  if (form === undefined) return { type: 'string', ...limits }
  // An optional text may be empty, which is the same as absent.
  const pattern = minLength > 0 ? form.pattern : `^$|${form.pattern}`
  return { type: 'string', ...limits, pattern }
}

/** Fields with several names may not have different values. For CEL, objects of two fields have different types. */
function writeSpellingRules(field: Field): readonly JsonObject[] {
  if (field.kind !== 'object') return []
  return Object.entries(field.fields).flatMap(([name, { spellings }]) =>
    spellings.map((spelling) => {
      const [own, other] = [name, spelling].map((key) => `self.${key.replaceAll('.', '__dot__')}`)
      const rule = `!has(${own}) || !has(${other}) || dyn(${own}) == dyn(${other})`
      return {
        rule,
        message: `${name} and ${spelling} are the same field and have different values; remove ${spelling}`,
      }
    }),
  )
}
