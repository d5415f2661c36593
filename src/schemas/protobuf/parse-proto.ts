// Reads a .proto text of proto2 or proto3. Services, options (except `packed`), extensions and reserved ranges are skipped.

import { maxSchemaDepth } from '../model/schema-limits.ts'
import { NodeCounter, SchemaError } from '../model/compiled-schema.ts'
import { type ProtoToken, ProtoTokens } from './proto-tokens.ts'

/** A field before its type is looked up. */
export interface ParsedField {
  readonly name: ProtoToken
  readonly number: number
  readonly label: 'required' | 'optional' | 'repeated' | 'implicit' | 'map'
  readonly type: ProtoToken
  readonly keyType: ProtoToken | undefined
  /** Value of the option `packed`; undefined: the field does not have the option. */
  readonly isPacked: boolean | undefined
  readonly oneof: string | undefined
}

export interface ParsedMessage {
  readonly kind: 'message'
  /** With the names of the messages around it, without the package. */
  readonly name: string
  /** Position of the name in the text. */
  readonly at: number
  readonly fields: readonly ParsedField[]
}

export interface ParsedEnum {
  readonly kind: 'enum'
  readonly name: string
  readonly at: number
  readonly values: readonly { readonly name: string; readonly number: number }[]
}

export interface ParsedProto {
  readonly source: string
  readonly isProto3: boolean
  readonly packageName: string
  readonly types: readonly (ParsedMessage | ParsedEnum)[]
}

/** Throws SchemaError with line and column. */
export function parseProto(source: string): ParsedProto {
  return new ProtoParser(source).parseFile()
}

const maxFieldNumber = 536_870_911
/** Field numbers that Protobuf reserves for its own use. */
const reserved = { from: 19_000, to: 19_999 }

class ProtoParser {
  readonly #tokens: ProtoTokens
  readonly #types: (ParsedMessage | ParsedEnum)[] = []
  readonly #nodes = new NodeCounter()
  #isProto3 = false
  #package = ''

  constructor(source: string) {
    this.#tokens = new ProtoTokens(source)
  }

  parseFile(): ParsedProto {
    if (this.#tokens.takeIf('syntax')) this.#parseSyntax()
    while (this.#tokens.next.kind !== 'end') this.#parseDefinition()
    return {
      source: this.#tokens.source,
      isProto3: this.#isProto3,
      packageName: this.#package,
      types: this.#types,
    }
  }

  #parseSyntax(): void {
    this.#tokens.expect('=')
    const { text } = this.#tokens.next
    if (text !== 'proto2' && text !== 'proto3') throw this.#tokens.createError('expected "proto2" or "proto3"')
    this.#isProto3 = text === 'proto3'
    this.#tokens.take()
    this.#tokens.expect(';')
  }

  #parseDefinition(): void {
    const { text } = this.#tokens.next
    switch (text) {
      case ';':
        this.#tokens.take()
        return
      case 'package':
        this.#tokens.take()
        this.#package = this.#tokens.takeQualifiedName('the name of a package').text
        this.#tokens.expect(';')
        return
      case 'message':
        return this.#parseMessage('', 0)
      case 'enum':
        return this.#parseEnum('')
      case 'option':
        return this.#skipStatement()
      case 'service':
      case 'extend':
        return this.#skipBlock()
      case 'import':
        throw this.#tokens.createError('a schema is one text without imports: write the types into it')
      default:
        throw this.#tokens.createError('expected message, enum, package or option')
    }
  }

  #count(): void {
    this.#nodes.add({ source: this.#tokens.source, at: this.#tokens.next.at })
  }

  #parseMessage(around: string, depth: number): void {
    this.#count()
    const { at } = this.#tokens.take()
    if (depth > maxSchemaDepth) {
      const summary = `messages are nested too deeply: limit maxSchemaDepth is ${maxSchemaDepth}`
      throw new SchemaError({ source: this.#tokens.source, at }, summary)
    }
    const { text, at: nameAt } = this.#tokens.takeName('the name of a message')
    const name = around + text
    const fields: ParsedField[] = []
    this.#types.push({ kind: 'message', name, at: nameAt, fields })
    this.#tokens.expect('{')
    while (!this.#tokens.takeIf('}')) this.#parseMember(name, fields, depth)
  }

  #parseMember(message: string, fields: ParsedField[], depth: number): void {
    const { text } = this.#tokens.next
    switch (text) {
      case ';':
        this.#tokens.take()
        return
      case 'message':
        return this.#parseMessage(`${message}.`, depth + 1)
      case 'enum':
        return this.#parseEnum(`${message}.`)
      case 'option':
      case 'reserved':
      case 'extensions':
        return this.#skipStatement()
      case 'extend':
        return this.#skipBlock()
      case 'oneof':
        return this.#parseOneof(fields)
      case 'map':
        fields.push(this.#parseMapField())
        return
      default:
        fields.push(this.#parseField(undefined))
    }
  }

  #parseOneof(fields: ParsedField[]): void {
    this.#tokens.take()
    const { text: oneof } = this.#tokens.takeName('the name of a oneof')
    this.#tokens.expect('{')
    while (!this.#tokens.takeIf('}')) {
      if (this.#tokens.next.text === 'option') this.#skipStatement()
      else if (!this.#tokens.takeIf(';')) fields.push(this.#parseField(oneof))
    }
  }

  #parseMapField(): ParsedField {
    this.#tokens.take()
    this.#tokens.expect('<')
    const keyType = this.#tokens.takeName('the type of the keys')
    this.#tokens.expect(',')
    const type = this.#tokens.takeQualifiedName('the type of the values')
    this.#tokens.expect('>')
    return { ...this.#parseRest(), label: 'map', type, keyType, isPacked: undefined, oneof: undefined }
  }

  #parseField(oneof: string | undefined): ParsedField {
    const label = oneof === undefined ? this.#parseLabel() : 'optional'
    if (this.#tokens.next.text === 'group') throw this.#tokens.createError('groups are not supported: expected a type')
    const type = this.#tokens.takeQualifiedName('the type of a field')
    return { label, type, keyType: undefined, oneof, ...this.#parseRest() }
  }

  #parseLabel(): ParsedField['label'] {
    for (const label of ['optional', 'repeated', 'required'] as const) {
      if (this.#tokens.next.text !== label) continue
      if (label === 'required' && this.#isProto3)
        throw this.#tokens.createError('proto3 has no required fields: expected a type')
      this.#tokens.take()
      return label
    }
    if (!this.#isProto3) throw this.#tokens.createError('a field of proto2 begins with optional, required or repeated')
    return 'implicit'
  }

  /** Reads the name, number and options of a field. */
  #parseRest(): Pick<ParsedField, 'name' | 'number' | 'isPacked'> {
    this.#count()
    const name = this.#tokens.takeName('the name of a field')
    this.#tokens.expect('=')
    const { at } = this.#tokens.next
    const number = this.#tokens.takeInteger('the number of the field')
    const isReserved = number >= reserved.from && number <= reserved.to
    if (number < 1 || number > maxFieldNumber || isReserved) {
      const summary = `a field has a number from 1 to ${maxFieldNumber}, except ${reserved.from} to ${reserved.to}`
      throw new SchemaError({ source: this.#tokens.source, at }, summary)
    }
    const isPacked = this.#parseOptions()
    this.#tokens.expect(';')
    return { name, number, isPacked }
  }

  /** Reads `[packed = true, …]`. Returns the value of `packed`; undefined: there is none. */
  #parseOptions(): boolean | undefined {
    if (this.#tokens.next.text !== '[') return undefined
    let isPacked: boolean | undefined
    let depth = 0
    do {
      const { kind, text } = this.#tokens.take()
      if (kind === 'end') throw this.#tokens.createError('expected "]"')
      if (kind === 'symbol' && /[[{]/.test(text)) depth++
      if (kind === 'symbol' && /[\]}]/.test(text)) depth--
      if (kind === 'name' && text === 'packed' && this.#tokens.takeIf('='))
        isPacked = this.#tokens.take().text === 'true'
    } while (depth > 0)
    return isPacked
  }

  #parseEnum(around: string): void {
    this.#count()
    this.#tokens.take()
    const { text: ownName, at } = this.#tokens.takeName('the name of an enum')
    const name = around + ownName
    const values: { name: string; number: number }[] = []
    this.#types.push({ kind: 'enum', name, at, values })
    this.#tokens.expect('{')
    while (!this.#tokens.takeIf('}')) {
      const { text } = this.#tokens.next
      if (text === 'option' || text === 'reserved') this.#skipStatement()
      else if (!this.#tokens.takeIf(';')) values.push(this.#parseEnumValue())
    }
    if (values.length === 0) throw this.#tokens.createError(`the enum ${name} has no values`)
  }

  #parseEnumValue(): { readonly name: string; readonly number: number } {
    this.#count()
    const name = this.#tokens.takeName('the name of a value').text
    this.#tokens.expect('=')
    const number = this.#tokens.takeInteger('the number of the value')
    this.#parseOptions()
    this.#tokens.expect(';')
    return { name, number }
  }

  /** Skips up to the semicolon that ends the statement. Values of options may have braces. */
  #skipStatement(): void {
    let depth = 0
    for (;;) {
      const { kind, text } = this.#tokens.take()
      if (kind === 'end') throw this.#tokens.createError('expected ";"')
      if (kind !== 'symbol') continue
      if (text === '{' || text === '[') depth++
      if (text === '}' || text === ']') depth--
      if (text === ';' && depth <= 0) return
    }
  }

  #skipBlock(): void {
    while (this.#tokens.next.text !== '{') {
      if (this.#tokens.next.kind === 'end') throw this.#tokens.createError('expected "{"')
      this.#tokens.take()
    }
    let depth = 0
    do {
      const { kind, text } = this.#tokens.take()
      if (kind === 'end') throw this.#tokens.createError('expected "}"')
      if (kind === 'symbol' && text === '{') depth++
      if (kind === 'symbol' && text === '}') depth--
    } while (depth > 0)
  }
}
