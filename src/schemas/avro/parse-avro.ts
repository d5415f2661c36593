// Reads the JSON of an Avro schema.

import { maxSchemaDepth } from '../model/schema-limits.ts'
import { isArray, isMap, quoteText, type RuleMap, type RuleValue, toRuleText } from '../../values/index.ts'
import { readSchemaJson } from '../model/read-schema-json.ts'
import { NodeCounter, SchemaError } from '../model/compiled-schema.ts'
import { type AvroField, type AvroRecord, type AvroType, type PrimitiveKind, primitiveKinds } from './avro-types.ts'

/** Throws SchemaError. */
export function parseAvro(source: string): AvroType {
  return new AvroParser().parseType(readSchemaJson(source), { path: '', namespace: '', depth: 0 })
}

interface Place {
  readonly path: string
  /** Namespace of the enclosing named type. */
  readonly namespace: string
  readonly depth: number
}

const namePattern = /^[A-Za-z_][A-Za-z0-9_]*$/
const fullNamePattern = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/
const primitives = new Map<string, AvroType>(primitiveKinds.map((kind: PrimitiveKind) => [kind, { kind }]))

/** Bytes of a value of a fixed type. */
const maxFixedSize = 1_048_576

class AvroParser {
  readonly #named = new Map<string, AvroType>()
  readonly #nodes = new NodeCounter()

  parseType(definition: RuleValue, location: Place): AvroType {
    this.#nodes.add(location)
    if (location.depth > maxSchemaDepth)
      throw new SchemaError(location, `types are nested too deeply: limit maxSchemaDepth is ${maxSchemaDepth}`)
    if (typeof definition === 'string') return this.#findType(definition, location)
    if (isArray(definition)) return this.#parseUnion(definition, location)
    if (isMap(definition)) return this.#parseObject(definition, location)
    throw new SchemaError(location, 'a type is the name of a type, an object with `type`, or an array of types')
  }

  #findType(name: string, location: Place): AvroType {
    const qualified = location.namespace === '' || name.includes('.') ? name : `${location.namespace}.${name}`
    const found = primitives.get(name) ?? this.#named.get(qualified) ?? this.#named.get(name)
    if (found !== undefined) return found
    throw new SchemaError(location, `there is no type ${quoteText(name)}: define it before it is used`)
  }

  #parseUnion(branches: readonly RuleValue[], location: Place): AvroType {
    if (branches.length === 0) throw new SchemaError(location, 'a union needs at least one type')
    const types = branches.map((branch, index) => this.parseType(branch, toInnerPlace(location, index)))
    const kinds = types.map((type) => ('name' in type ? type.name : type.kind))
    if (kinds.includes('union')) throw new SchemaError(location, 'a union cannot contain a union')
    const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index)
    if (twice !== undefined) throw new SchemaError(location, `the union has the type ${quoteText(twice)} twice`)
    return { kind: 'union', branches: types }
  }

  #parseObject(definition: RuleMap, location: Place): AvroType {
    const kind = definition['type']
    switch (kind) {
      case 'record':
      case 'error':
        return this.#parseRecord(definition, location)
      case 'enum':
        return this.#parseEnum(definition, location)
      case 'fixed':
        return this.#parseFixed(definition, location)
      case 'array':
        return { kind, items: this.parseType(definition['items'], toInnerPlace(location, 'items')) }
      case 'map':
        return { kind, values: this.parseType(definition['values'], toInnerPlace(location, 'values')) }
      default:
        return this.parseType(kind, toInnerPlace(location, 'type'))
    }
  }

  #parseRecord(definition: RuleMap, location: Place): AvroRecord {
    const { name, namespace } = this.#parseName(definition, location)
    const record: AvroRecord = { kind: 'record', name, fields: [] }
    this.#define(record, location)
    const fields = definition['fields']
    if (!isArray(fields)) throw new SchemaError(toInnerPlace(location, 'fields'), 'a record needs an array of fields')
    const known = new Set<string>()
    for (const [index, field] of fields.entries()) {
      const at = { ...toInnerPlace(toInnerPlace(location, 'fields'), index), namespace }
      const read = this.#parseField(field, at)
      if (known.has(read.name)) throw new SchemaError(at, `the record has the field ${quoteText(read.name)} twice`)
      known.add(read.name)
      record.fields.push(read)
    }
    return record
  }

  #parseField(definition: RuleValue, location: Place): AvroField {
    if (!isMap(definition)) throw new SchemaError(location, 'a field is an object with `name` and `type`')
    const name = definition['name']
    if (typeof name !== 'string' || !namePattern.test(name))
      throw new SchemaError(toInnerPlace(location, 'name'), 'a field needs a name of letters, digits and `_`')
    const type = this.parseType(definition['type'], toInnerPlace(location, 'type'))
    return { name, type, defaultValue: toDefault(type, definition['default']) }
  }

  #parseEnum(definition: RuleMap, location: Place): AvroType {
    const { name } = this.#parseName(definition, location)
    const symbols = definition['symbols']
    const isList = isArray(symbols) && symbols.every((symbol) => typeof symbol === 'string' && namePattern.test(symbol))
    if (!isList) throw new SchemaError(toInnerPlace(location, 'symbols'), 'an enum needs an array of names')
    this.#nodes.add(location, symbols.length)
    if (new Set(symbols).size < symbols.length)
      throw new SchemaError(toInnerPlace(location, 'symbols'), 'an enum has each symbol once')
    const indexes = new Map(symbols.map((symbol, index) => [symbol as string, index]))
    return this.#define({ kind: 'enum', name, symbols: symbols as readonly string[], indexes }, location)
  }

  #parseFixed(definition: RuleMap, location: Place): AvroType {
    const { name } = this.#parseName(definition, location)
    const size = definition['size']
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > maxFixedSize)
      throw new SchemaError(toInnerPlace(location, 'size'), `a fixed type needs a size from 0 to ${maxFixedSize}`)
    return this.#define({ kind: 'fixed', name, size }, location)
  }

  #parseName(definition: RuleMap, location: Place): { readonly name: string; readonly namespace: string } {
    const name = definition['name']
    if (typeof name !== 'string' || !fullNamePattern.test(name))
      throw new SchemaError(toInnerPlace(location, 'name'), 'the type needs a name of letters, digits and `_`')
    if (name.includes('.')) return { name, namespace: name.slice(0, name.lastIndexOf('.')) }
    const namespace = typeof definition['namespace'] === 'string' ? definition['namespace'] : location.namespace
    return { name: namespace === '' ? name : `${namespace}.${name}`, namespace }
  }

  #define<Type extends AvroType & { readonly name: string }>(type: Type, location: Place): Type {
    if (this.#named.has(type.name) || primitives.has(type.name))
      throw new SchemaError(
        toInnerPlace(location, 'name'),
        `the type ${quoteText(type.name)} is defined twice: rename one`,
      )
    this.#named.set(type.name, type)
    return type
  }
}

function toInnerPlace(location: Place, key: string | number): Place {
  return { ...location, path: `${location.path}/${key}`, depth: location.depth + 1 }
}

/** Defaults of bytes are written as texts, with a character for each byte. */
function toDefault(type: AvroType, definition: RuleValue): RuleValue {
  const isBytes = type.kind === 'bytes' || type.kind === 'fixed'
  return isBytes && typeof definition === 'string' ? toRuleText(Buffer.from(definition, 'latin1')) : definition
}
