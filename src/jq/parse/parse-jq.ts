// Parses a jq program: precedence climbing over tokens.

import { createLimitError, parseNumber, RuleError } from '../../values/index.ts'
import { maxJqLength } from '../model/jq-limits.ts'
import { jqBinaries } from './jq-operators.ts'
import type { JqFunction, JqNode, JqPattern } from '../model/jq-syntax.ts'
import { JqTokenReader } from './jq-token-reader.ts'
import { parseJqPattern } from './parse-jq-pattern.ts'
import { type JqToken, tokenizeJq } from './tokenize-jq.ts'

/** Throws RuleError with the place. */
export function parseJq(program: string): JqNode {
  if (program.length > maxJqLength) throw createLimitError('jq: the program is too long', 'maxJqLength', maxJqLength)
  return new JqParser(tokenizeJq(program)).parseWhole()
}

/** Definitions, one after the other. */
export function parseJqLibrary(program: string): readonly JqFunction[] {
  return new JqParser(tokenizeJq(program)).parseDefinitions()
}

const identity: JqNode = { kind: 'identity' }

class JqParser {
  readonly #reader: JqTokenReader

  constructor(tokens: readonly JqToken[]) {
    this.#reader = new JqTokenReader(tokens)
  }

  parseWhole(): JqNode {
    if (this.#reader.isAtEnd) return identity
    const node = this.#parsePipe()
    if (!this.#reader.isAtEnd) this.#reader.fail()
    return node
  }

  parseDefinitions(): readonly JqFunction[] {
    const functions: JqFunction[] = []
    while (this.#reader.take('def')) functions.push(this.#parseDefinition())
    if (!this.#reader.isAtEnd) this.#reader.fail()
    return functions
  }

  #parsePipe(): JqNode {
    return this.#reader.parseNested(() => {
      if (this.#reader.take('def')) {
        const definition = this.#parseDefinition()
        return { kind: 'define', function: definition, rest: this.#parsePipe() }
      }
      if (this.#reader.take('label')) {
        const name = this.#reader.takeVariable()
        this.#reader.expect('|')
        return { kind: 'label', name, body: this.#parsePipe() }
      }
      const left = this.#parseBinary(1)
      return this.#reader.take('|') ? { kind: 'pipe', left, right: this.#parsePipe() } : left
    })
  }

  #parseDefinition(): JqFunction {
    const { kind, text: name } = this.#reader.next()
    if (kind !== 'name') this.#reader.fail('a name')
    const parameters: string[] = []
    if (this.#reader.take('(')) {
      do parameters.push(this.#reader.next().text)
      while (this.#reader.take(';'))
      this.#reader.expect(')')
    }
    this.#reader.expect(':')
    const body = this.#parsePipe()
    this.#reader.expect(';')
    return { name, parameters, body }
  }

  #parsePattern(): JqPattern {
    return parseJqPattern(this.#reader, () => this.#parseKey())
  }

  #parseBinary(lowest: number): JqNode {
    return this.#reader.parseNested(() => {
      let left = this.#parseUnary()
      let taken = Infinity
      for (;;) {
        const { kind, text } = this.#reader.peek()
        const binary = kind === 'symbol' || kind === 'name' ? jqBinaries.get(text) : undefined
        if (binary === undefined || binary.level < lowest) return left
        if (binary.associates === 'never' && binary.level === taken) this.#reader.fail()
        this.#reader.next()
        left = binary.make(left, this.#parseBinary(binary.associates === 'right' ? binary.level : binary.level + 1))
        taken = binary.level
      }
    })
  }

  #parseUnary(): JqNode {
    if (this.#reader.take('-')) return { kind: 'negate', of: this.#reader.parseNested(() => this.#parseUnary()) }
    const source = this.#parsePostfix()
    // `term as $x | body` binds tighter than any operator before it.
    if (!this.#reader.is('as')) return source
    this.#reader.next()
    const pattern = this.#parsePattern()
    this.#reader.expect('|')
    return { kind: 'bind', source, pattern, body: this.#parsePipe() }
  }

  #parsePostfix(): JqNode {
    let node = this.#parseTerm()
    for (;;) {
      const token = this.#reader.peek()
      if (token.kind === 'field') {
        this.#reader.next()
        node = { kind: 'index', of: node, key: { kind: 'literal', value: token.text.slice(1) } }
      } else if (this.#reader.is('[')) node = this.#parseBrackets(node)
      else if (this.#reader.is('.') && this.#isBehindDot()) {
        this.#reader.next()
        node = this.#reader.is('[') ? this.#parseBrackets(node) : { kind: 'index', of: node, key: this.#parseText('') }
      } else if (this.#reader.take('?')) node = { kind: 'try', body: node, handler: undefined }
      else return node
    }
  }

  #isBehindDot(): boolean {
    const next = this.#reader.peekSecond()
    return next?.kind === 'text' || next?.text === '['
  }

  #parseBrackets(target: JqNode): JqNode {
    this.#reader.expect('[')
    if (this.#reader.take(']')) return { kind: 'iterate', of: target }
    if (this.#reader.take(':')) {
      const to = this.#parsePipe()
      this.#reader.expect(']')
      return { kind: 'slice', of: target, from: undefined, to }
    }
    const key = this.#parsePipe()
    if (this.#reader.take(']')) return { kind: 'index', of: target, key }
    this.#reader.expect(':')
    const to = this.#reader.is(']') ? undefined : this.#parsePipe()
    this.#reader.expect(']')
    return { kind: 'slice', of: target, from: key, to }
  }

  #parseText(format: string): JqNode {
    const token = this.#reader.next()
    if (token.kind !== 'text') throw new RuleError(`jq: a text is expected at character ${token.at + 1}`)
    const parts = token.parts.map((part) => (typeof part === 'string' ? part : new JqParser(part).parseWhole()))
    const [only] = parts
    if (parts.length === 1 && typeof only === 'string') return { kind: 'literal', value: only }
    return { kind: 'text', parts, format }
  }

  #parseTerm(): JqNode {
    const token = this.#reader.peek()
    switch (token.kind) {
      case 'text':
        return this.#parseText('text')
      case 'number':
        this.#reader.next()
        return { kind: 'literal', value: parseJqNumber(token.text) }
      case 'variable':
        return { kind: 'variable', name: this.#reader.takeVariable() }
      case 'format':
        this.#reader.next()
        return this.#reader.peek().kind === 'text'
          ? this.#parseText(token.text.slice(1))
          : { kind: 'format', format: token.text.slice(1) }
      case 'field':
        this.#reader.next()
        return { kind: 'index', of: identity, key: { kind: 'literal', value: token.text.slice(1) } }
      case 'name':
        return this.#parseWord(token.text)
      default:
        return this.#parseSymbol()
    }
  }

  #parseSymbol(): JqNode {
    if (this.#reader.take('..')) return { kind: 'call', name: 'recurse', args: [] }
    if (this.#reader.take('.')) {
      if (this.#reader.peek().kind === 'text') return { kind: 'index', of: identity, key: this.#parseText('text') }
      return this.#reader.is('[') ? this.#parseBrackets(identity) : identity
    }
    if (this.#reader.take('(')) {
      const node = this.#parsePipe()
      this.#reader.expect(')')
      return node
    }
    if (this.#reader.take('[')) {
      if (this.#reader.take(']')) return { kind: 'array', of: undefined }
      const of = this.#parsePipe()
      this.#reader.expect(']')
      return { kind: 'array', of }
    }
    if (this.#reader.take('{')) return this.#parseObject()
    return this.#reader.fail()
  }

  #parseObject(): JqNode {
    const members: { key: JqNode; value: JqNode }[] = []
    while (!this.#reader.take('}')) {
      members.push(this.#parseMember())
      if (!this.#reader.is('}')) this.#reader.expect(',')
    }
    return { kind: 'object', members }
  }

  #parseMember(): { key: JqNode; value: JqNode } {
    if (this.#reader.peek().kind === 'variable') {
      const name = this.#reader.takeVariable()
      return { key: { kind: 'literal', value: name }, value: { kind: 'variable', name } }
    }
    const isPlain = !this.#reader.is('(')
    const key = this.#parseKey()
    if (this.#reader.take(':')) return { key, value: this.#parseMemberValue() }
    if (!isPlain) this.#reader.fail(':')
    return { key, value: { kind: 'index', of: identity, key } }
  }

  /** Without a comma, which separates members. */
  #parseMemberValue(): JqNode {
    const left = this.#parseBinary(2)
    return this.#reader.take('|') ? { kind: 'pipe', left, right: this.#parseMemberValue() } : left
  }

  #parseKey(): JqNode {
    const token = this.#reader.peek()
    if (token.kind === 'text') return this.#parseText('text')
    if (this.#reader.take('(')) {
      const key = this.#parsePipe()
      this.#reader.expect(')')
      return key
    }
    if (token.kind === 'name' || token.kind === 'number') return { kind: 'literal', value: this.#reader.next().text }
    return this.#reader.fail('a key')
  }

  #parseWord(name: string): JqNode {
    this.#reader.next()
    switch (name) {
      case 'if':
        return this.#parseCondition()
      case 'try': {
        const body = this.#parsePostfix()
        return { kind: 'try', body, handler: this.#reader.take('catch') ? this.#parsePostfix() : undefined }
      }
      case 'reduce':
      case 'foreach':
        return this.#parseFold(name)
      case 'break':
        return { kind: 'break', name: this.#reader.takeVariable() }
      case 'null':
        return { kind: 'literal', value: null }
      case 'true':
      case 'false':
        return { kind: 'literal', value: name === 'true' }
      default:
        return this.#parseCall(name)
    }
  }

  #parseCall(name: string): JqNode {
    const args: JqNode[] = []
    if (this.#reader.take('(')) {
      do args.push(this.#parsePipe())
      while (this.#reader.take(';'))
      this.#reader.expect(')')
    }
    return { kind: 'call', name, args }
  }

  #parseCondition(): JqNode {
    const condition = this.#parsePipe()
    this.#reader.expect('then')
    const yes = this.#parsePipe()
    if (this.#reader.take('elif'))
      return { kind: 'if', condition, yes, no: this.#reader.parseNested(() => this.#parseCondition()) }
    const no = this.#reader.take('else') ? this.#parsePipe() : identity
    this.#reader.expect('end')
    return { kind: 'if', condition, yes, no }
  }

  #parseFold(kind: 'reduce' | 'foreach'): JqNode {
    const source = this.#parsePostfix()
    this.#reader.expect('as')
    const pattern = this.#parsePattern()
    this.#reader.expect('(')
    const init = this.#parsePipe()
    this.#reader.expect(';')
    const update = this.#parsePipe()
    const extract = kind === 'foreach' && this.#reader.take(';') ? this.#parsePipe() : identity
    this.#reader.expect(')')
    return kind === 'reduce'
      ? { kind, source, pattern, init, update }
      : { kind, source, pattern, init, update, extract }
  }
}

function parseJqNumber(text: string) {
  const value = parseNumber(text.startsWith('.') ? `0${text}` : text.replace(/\.(?!\d)/u, ''))
  if (value === undefined) throw new RuleError(`jq: ${text} is not a number`)
  return value
}
