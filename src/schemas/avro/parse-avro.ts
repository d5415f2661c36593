// Reads the JSON of an Avro schema.

import { maxSchemaDepth } from '../model/schema-limits.ts'
import { isArray, isMap, quoted, type RuleMap, type RuleValue, textFromBytes } from '../../values/index.ts'
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

  parseType(written: RuleValue, place: Place): AvroType {
    this.#nodes.add(place)
    if (place.depth > maxSchemaDepth)
      throw new SchemaError(place, `types are nested too deeply: limit maxSchemaDepth is ${maxSchemaDepth}`)
    if (typeof written === 'string') return this.#findType(written, place)
    if (isArray(written)) return this.#parseUnion(written, place)
    if (isMap(written)) return this.#parseObject(written, place)
    throw new SchemaError(place, 'a type is the name of a type, an object with `type`, or an array of types')
  }

  #findType(name: string, place: Place): AvroType {
    const qualified = place.namespace === '' || name.includes('.') ? name : `${place.namespace}.${name}`
    const found = primitives.get(name) ?? this.#named.get(qualified) ?? this.#named.get(name)
    if (found !== undefined) return found
    throw new SchemaError(place, `there is no type ${quoted(name)}: define it before it is used`)
  }

  #parseUnion(branches: readonly RuleValue[], place: Place): AvroType {
    if (branches.length === 0) throw new SchemaError(place, 'a union needs at least one type')
    const types = branches.map((branch, index) => this.parseType(branch, toInnerPlace(place, index)))
    const kinds = types.map((type) => ('name' in type ? type.name : type.kind))
    if (kinds.includes('union')) throw new SchemaError(place, 'a union cannot contain a union')
    const twice = kinds.find((kind, index) => kinds.indexOf(kind) !== index)
    if (twice !== undefined) throw new SchemaError(place, `the union has the type ${quoted(twice)} twice`)
    return { kind: 'union', branches: types }
  }

  #parseObject(written: RuleMap, place: Place): AvroType {
    const kind = written['type']
    switch (kind) {
      case 'record':
      case 'error':
        return this.#parseRecord(written, place)
      case 'enum':
        return this.#parseEnum(written, place)
      case 'fixed':
        return this.#parseFixed(written, place)
      case 'array':
        return { kind, items: this.parseType(written['items'], toInnerPlace(place, 'items')) }
      case 'map':
        return { kind, values: this.parseType(written['values'], toInnerPlace(place, 'values')) }
      default:
        return this.parseType(kind, toInnerPlace(place, 'type'))
    }
  }

  #parseRecord(written: RuleMap, place: Place): AvroRecord {
    const { name, namespace } = this.#parseName(written, place)
    const record: AvroRecord = { kind: 'record', name, fields: [] }
    this.#define(record, place)
    const fields = written['fields']
    if (!isArray(fields)) throw new SchemaError(toInnerPlace(place, 'fields'), 'a record needs an array of fields')
    const known = new Set<string>()
    for (const [index, field] of fields.entries()) {
      const at = { ...toInnerPlace(toInnerPlace(place, 'fields'), index), namespace }
      const read = this.#parseField(field, at)
      if (known.has(read.name)) throw new SchemaError(at, `the record has the field ${quoted(read.name)} twice`)
      known.add(read.name)
      record.fields.push(read)
    }
    return record
  }

  #parseField(written: RuleValue, place: Place): AvroField {
    if (!isMap(written)) throw new SchemaError(place, 'a field is an object with `name` and `type`')
    const name = written['name']
    if (typeof name !== 'string' || !namePattern.test(name))
      throw new SchemaError(toInnerPlace(place, 'name'), 'a field needs a name of letters, digits and `_`')
    const type = this.parseType(written['type'], toInnerPlace(place, 'type'))
    return { name, type, defaultValue: toDefault(type, written['default']) }
  }

  #parseEnum(written: RuleMap, place: Place): AvroType {
    const { name } = this.#parseName(written, place)
    const symbols = written['symbols']
    const isList = isArray(symbols) && symbols.every((symbol) => typeof symbol === 'string' && namePattern.test(symbol))
    if (!isList) throw new SchemaError(toInnerPlace(place, 'symbols'), 'an enum needs an array of names')
    this.#nodes.add(place, symbols.length)
    if (new Set(symbols).size < symbols.length)
      throw new SchemaError(toInnerPlace(place, 'symbols'), 'an enum has each symbol once')
    const indexes = new Map(symbols.map((symbol, index) => [symbol as string, index]))
    return this.#define({ kind: 'enum', name, symbols: symbols as readonly string[], indexes }, place)
  }

  #parseFixed(written: RuleMap, place: Place): AvroType {
    const { name } = this.#parseName(written, place)
    const size = written['size']
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 0 || size > maxFixedSize)
      throw new SchemaError(toInnerPlace(place, 'size'), `a fixed type needs a size from 0 to ${maxFixedSize}`)
    return this.#define({ kind: 'fixed', name, size }, place)
  }

  #parseName(written: RuleMap, place: Place): { readonly name: string; readonly namespace: string } {
    const name = written['name']
    if (typeof name !== 'string' || !fullNamePattern.test(name))
      throw new SchemaError(toInnerPlace(place, 'name'), 'the type needs a name of letters, digits and `_`')
    if (name.includes('.')) return { name, namespace: name.slice(0, name.lastIndexOf('.')) }
    const namespace = typeof written['namespace'] === 'string' ? written['namespace'] : place.namespace
    return { name: namespace === '' ? name : `${namespace}.${name}`, namespace }
  }

  #define<Type extends AvroType & { readonly name: string }>(type: Type, place: Place): Type {
    if (this.#named.has(type.name) || primitives.has(type.name))
      throw new SchemaError(toInnerPlace(place, 'name'), `the type ${quoted(type.name)} is defined twice: rename one`)
    this.#named.set(type.name, type)
    return type
  }
}

function toInnerPlace(place: Place, key: string | number): Place {
  return { ...place, path: `${place.path}/${key}`, depth: place.depth + 1 }
}

/** Defaults of bytes are written as texts, with a character for each byte. */
function toDefault(type: AvroType, written: RuleValue): RuleValue {
  const isBytes = type.kind === 'bytes' || type.kind === 'fixed'
  return isBytes && typeof written === 'string' ? textFromBytes(Buffer.from(written, 'latin1')) : written
}
