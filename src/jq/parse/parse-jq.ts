// Parses a jq program: precedence climbing over tokens.

import { limitError, parseNumber, RuleError } from '../../values/index.ts'
import { maxJqLength } from '../model/jq-limits.ts'
import { jqBinaries } from './jq-operators.ts'
import type { JqFunction, JqNode, JqPattern } from '../model/jq-syntax.ts'
import { JqTokenReader } from './jq-token-reader.ts'
import { parseJqPattern } from './parse-jq-pattern.ts'
import { type JqToken, tokenizeJq } from './tokenize-jq.ts'

/** Throws RuleError with the place. */
export function parseJq(program: string): JqNode {
  if (program.length > maxJqLength) throw limitError('jq: the program is too long', 'maxJqLength', maxJqLength)
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
    const node = this.#pipe()
    if (!this.#reader.isAtEnd) this.#reader.fail()
    return node
  }

  parseDefinitions(): readonly JqFunction[] {
    const functions: JqFunction[] = []
    while (this.#reader.take('def')) functions.push(this.#definition())
    if (!this.#reader.isAtEnd) this.#reader.fail()
    return functions
  }

  #pipe(): JqNode {
    return this.#reader.parseNested(() => {
      if (this.#reader.take('def')) {
        const definition = this.#definition()
        return { kind: 'define', function: definition, rest: this.#pipe() }
      }
      if (this.#reader.take('label')) {
        const name = this.#reader.takeVariable()
        this.#reader.expect('|')
        return { kind: 'label', name, body: this.#pipe() }
      }
      const left = this.#binary(1)
      return this.#reader.take('|') ? { kind: 'pipe', left, right: this.#pipe() } : left
    })
  }

  #definition(): JqFunction {
    const { kind, text: name } = this.#reader.next()
    if (kind !== 'name') this.#reader.fail('a name')
    const parameters: string[] = []
    if (this.#reader.take('(')) {
      do parameters.push(this.#reader.next().text)
      while (this.#reader.take(';'))
      this.#reader.expect(')')
    }
    this.#reader.expect(':')
    const body = this.#pipe()
    this.#reader.expect(';')
    return { name, parameters, body }
  }

  #pattern(): JqPattern {
    return parseJqPattern(this.#reader, () => this.#key())
  }

  #binary(lowest: number): JqNode {
    return this.#reader.parseNested(() => {
      let left = this.#unary()
      let taken = Infinity
      for (;;) {
        const { kind, text } = this.#reader.peek()
        const binary = kind === 'symbol' || kind === 'name' ? jqBinaries.get(text) : undefined
        if (binary === undefined || binary.level < lowest) return left
        if (binary.associates === 'never' && binary.level === taken) this.#reader.fail()
        this.#reader.next()
        left = binary.make(left, this.#binary(binary.associates === 'right' ? binary.level : binary.level + 1))
        taken = binary.level
      }
    })
  }

  #unary(): JqNode {
    if (this.#reader.take('-')) return { kind: 'negate', of: this.#reader.parseNested(() => this.#unary()) }
    const source = this.#postfix()
    // `term as $x | body` binds tighter than any operator before it.
    if (!this.#reader.is('as')) return source
    this.#reader.next()
    const pattern = this.#pattern()
    this.#reader.expect('|')
    return { kind: 'bind', source, pattern, body: this.#pipe() }
  }

  #postfix(): JqNode {
    let node = this.#term()
    for (;;) {
      const token = this.#reader.peek()
      if (token.kind === 'field') {
        this.#reader.next()
        node = { kind: 'index', of: node, key: { kind: 'literal', value: token.text.slice(1) } }
      } else if (this.#reader.is('[')) node = this.#brackets(node)
      else if (this.#reader.is('.') && this.#isBehindDot()) {
        this.#reader.next()
        node = this.#reader.is('[') ? this.#brackets(node) : { kind: 'index', of: node, key: this.#text('') }
      } else if (this.#reader.take('?')) node = { kind: 'try', body: node, handler: undefined }
      else return node
    }
  }

  #isBehindDot(): boolean {
    const next = this.#reader.peekSecond()
    return next?.kind === 'text' || next?.text === '['
  }

  #brackets(of: JqNode): JqNode {
    this.#reader.expect('[')
    if (this.#reader.take(']')) return { kind: 'iterate', of }
    if (this.#reader.take(':')) {
      const to = this.#pipe()
      this.#reader.expect(']')
      return { kind: 'slice', of, from: undefined, to }
    }
    const key = this.#pipe()
    if (this.#reader.take(']')) return { kind: 'index', of, key }
    this.#reader.expect(':')
    const to = this.#reader.is(']') ? undefined : this.#pipe()
    this.#reader.expect(']')
    return { kind: 'slice', of, from: key, to }
  }

  #text(format: string): JqNode {
    const token = this.#reader.next()
    if (token.kind !== 'text') throw new RuleError(`jq: a text is expected at character ${token.at + 1}`)
    const parts = token.parts.map((part) => (typeof part === 'string' ? part : new JqParser(part).parseWhole()))
    const [only] = parts
    if (parts.length === 1 && typeof only === 'string') return { kind: 'literal', value: only }
    return { kind: 'text', parts, format }
  }

  #term(): JqNode {
    const token = this.#reader.peek()
    switch (token.kind) {
      case 'text':
        return this.#text('text')
      case 'number':
        this.#reader.next()
        return { kind: 'literal', value: numberOf(token.text) }
      case 'variable':
        return { kind: 'variable', name: this.#reader.takeVariable() }
      case 'format':
        this.#reader.next()
        return this.#reader.peek().kind === 'text'
          ? this.#text(token.text.slice(1))
          : { kind: 'format', format: token.text.slice(1) }
      case 'field':
        this.#reader.next()
        return { kind: 'index', of: identity, key: { kind: 'literal', value: token.text.slice(1) } }
      case 'name':
        return this.#word(token.text)
      default:
        return this.#symbol()
    }
  }

  #symbol(): JqNode {
    if (this.#reader.take('..')) return { kind: 'call', name: 'recurse', args: [] }
    if (this.#reader.take('.')) {
      if (this.#reader.peek().kind === 'text') return { kind: 'index', of: identity, key: this.#text('text') }
      return this.#reader.is('[') ? this.#brackets(identity) : identity
    }
    if (this.#reader.take('(')) {
      const node = this.#pipe()
      this.#reader.expect(')')
      return node
    }
    if (this.#reader.take('[')) {
      if (this.#reader.take(']')) return { kind: 'array', of: undefined }
      const of = this.#pipe()
      this.#reader.expect(']')
      return { kind: 'array', of }
    }
    if (this.#reader.take('{')) return this.#object()
    return this.#reader.fail()
  }

  #object(): JqNode {
    const members: { key: JqNode; value: JqNode }[] = []
    while (!this.#reader.take('}')) {
      members.push(this.#member())
      if (!this.#reader.is('}')) this.#reader.expect(',')
    }
    return { kind: 'object', members }
  }

  #member(): { key: JqNode; value: JqNode } {
    if (this.#reader.peek().kind === 'variable') {
      const name = this.#reader.takeVariable()
      return { key: { kind: 'literal', value: name }, value: { kind: 'variable', name } }
    }
    const isPlain = !this.#reader.is('(')
    const key = this.#key()
    if (this.#reader.take(':')) return { key, value: this.#memberValue() }
    if (!isPlain) this.#reader.fail(':')
    return { key, value: { kind: 'index', of: identity, key } }
  }

  /** Without a comma, which separates members. */
  #memberValue(): JqNode {
    const left = this.#binary(2)
    return this.#reader.take('|') ? { kind: 'pipe', left, right: this.#memberValue() } : left
  }

  #key(): JqNode {
    const token = this.#reader.peek()
    if (token.kind === 'text') return this.#text('text')
    if (this.#reader.take('(')) {
      const key = this.#pipe()
      this.#reader.expect(')')
      return key
    }
    if (token.kind === 'name' || token.kind === 'number') return { kind: 'literal', value: this.#reader.next().text }
    return this.#reader.fail('a key')
  }

  #word(name: string): JqNode {
    this.#reader.next()
    switch (name) {
      case 'if':
        return this.#condition()
      case 'try': {
        const body = this.#postfix()
        return { kind: 'try', body, handler: this.#reader.take('catch') ? this.#postfix() : undefined }
      }
      case 'reduce':
      case 'foreach':
        return this.#fold(name)
      case 'break':
        return { kind: 'break', name: this.#reader.takeVariable() }
      case 'null':
        return { kind: 'literal', value: null }
      case 'true':
      case 'false':
        return { kind: 'literal', value: name === 'true' }
      default:
        return this.#call(name)
    }
  }

  #call(name: string): JqNode {
    const args: JqNode[] = []
    if (this.#reader.take('(')) {
      do args.push(this.#pipe())
      while (this.#reader.take(';'))
      this.#reader.expect(')')
    }
    return { kind: 'call', name, args }
  }

  #condition(): JqNode {
    const condition = this.#pipe()
    this.#reader.expect('then')
    const yes = this.#pipe()
    if (this.#reader.take('elif'))
      return { kind: 'if', condition, yes, no: this.#reader.parseNested(() => this.#condition()) }
    const no = this.#reader.take('else') ? this.#pipe() : identity
    this.#reader.expect('end')
    return { kind: 'if', condition, yes, no }
  }

  #fold(kind: 'reduce' | 'foreach'): JqNode {
    const source = this.#postfix()
    this.#reader.expect('as')
    const pattern = this.#pattern()
    this.#reader.expect('(')
    const init = this.#pipe()
    this.#reader.expect(';')
    const update = this.#pipe()
    const extract = kind === 'foreach' && this.#reader.take(';') ? this.#pipe() : identity
    this.#reader.expect(')')
    return kind === 'reduce'
      ? { kind, source, pattern, init, update }
      : { kind, source, pattern, init, update, extract }
  }
}

function numberOf(text: string) {
  const value = parseNumber(text.startsWith('.') ? `0${text}` : text.replace(/\.(?!\d)/u, ''))
  if (value === undefined) throw new RuleError(`jq: ${text} is not a number`)
  return value
}
