// Parses a jq program: precedence climbing over tokens.

import { limitError, maxExpressionDepth, parseNumber, RuleError } from '../values/index.ts'
import { maxJqLength } from './jq-limits.ts'
import type { JqFunction, JqNode, JqOperator, JqPattern } from './jq-syntax.ts'
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

interface Binary {
  readonly level: number
  readonly associates: 'left' | 'right' | 'never'
  make(left: JqNode, right: JqNode): JqNode
}

const binaries = new Map<string, Binary>([
  [',', { level: 1, associates: 'left', make: (left, right) => ({ kind: 'comma', left, right }) }],
  ['//', { level: 2, associates: 'right', make: (left, right) => ({ kind: 'alternative', left, right }) }],
  ['or', { level: 4, associates: 'left', make: (left, right) => ({ kind: 'or', left, right }) }],
  ['and', { level: 5, associates: 'left', make: (left, right) => ({ kind: 'and', left, right }) }],
])
for (const operator of ['|=', '=', '//=', '+=', '-=', '*=', '/=', '%='] as const) {
  const name = (operator.length > 1 && operator !== '|=' ? operator.slice(0, -1) : operator) as '|='
  binaries.set(operator, {
    level: 3,
    associates: 'never',
    make: (left, right) => ({ kind: 'assign', operator: name, left, right }),
  })
}
const operatorLevels: readonly [JqOperator[], number, Binary['associates']][] = [
  [['==', '!=', '<', '<=', '>', '>='], 6, 'never'],
  [['+', '-'], 7, 'left'],
  [['*', '/', '%'], 8, 'left'],
]
for (const [operators, level, associates] of operatorLevels)
  for (const operator of operators)
    binaries.set(operator, { level, associates, make: (left, right) => ({ kind: 'operation', operator, left, right }) })

class JqParser {
  readonly #tokens: readonly JqToken[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly JqToken[]) {
    this.#tokens = tokens
  }

  parseWhole(): JqNode {
    if (this.#peek().kind === 'end') return identity
    const node = this.#pipe()
    if (this.#peek().kind !== 'end') this.#fail()
    return node
  }

  parseDefinitions(): readonly JqFunction[] {
    const functions: JqFunction[] = []
    while (this.#take('def')) functions.push(this.#definition())
    if (this.#peek().kind !== 'end') this.#fail()
    return functions
  }

  #peek(): JqToken {
    const token = this.#tokens[this.#at]
    if (token === undefined) throw new RuleError('jq: the program ends too early')
    return token
  }

  #next(): JqToken {
    const token = this.#peek()
    this.#at++
    return token
  }

  #is(text: string): boolean {
    const { kind, text: found } = this.#peek()
    return (kind === 'symbol' || kind === 'name') && found === text
  }

  #take(text: string): boolean {
    if (!this.#is(text)) return false
    this.#at++
    return true
  }

  #expect(text: string): void {
    if (!this.#take(text)) this.#fail(text)
  }

  #fail(wanted?: string): never {
    const { kind, text, at } = this.#peek()
    const found = kind === 'text' ? 'a text' : kind === 'end' ? 'the end' : JSON.stringify(text)
    const hint = wanted === undefined ? '' : `, ${JSON.stringify(wanted)} is`
    throw new RuleError(`jq: ${found} at character ${at + 1} is not expected${hint}`)
  }

  #nested<T>(parse: () => T): T {
    if (++this.#depth > maxExpressionDepth)
      throw new RuleError(`jq: more than ${maxExpressionDepth} nested expressions`)
    const result = parse()
    this.#depth--
    return result
  }

  #pipe(): JqNode {
    return this.#nested(() => {
      if (this.#take('def')) {
        const definition = this.#definition()
        return { kind: 'define', function: definition, rest: this.#pipe() }
      }
      if (this.#take('label')) {
        const name = this.#variable()
        this.#expect('|')
        return { kind: 'label', name, body: this.#pipe() }
      }
      const left = this.#binary(1)
      return this.#take('|') ? { kind: 'pipe', left, right: this.#pipe() } : left
    })
  }

  #definition(): JqFunction {
    const { kind, text: name } = this.#next()
    if (kind !== 'name') this.#fail('a name')
    const parameters: string[] = []
    if (this.#take('(')) {
      do parameters.push(this.#next().text)
      while (this.#take(';'))
      this.#expect(')')
    }
    this.#expect(':')
    const body = this.#pipe()
    this.#expect(';')
    return { name, parameters, body }
  }

  #variable(): string {
    const { kind, text } = this.#next()
    if (kind !== 'variable') this.#fail('a variable')
    return text.slice(1)
  }

  #pattern(): JqPattern {
    return this.#nested(() => {
      if (this.#take('[')) {
        const items: JqPattern[] = []
        do items.push(this.#pattern())
        while (this.#take(','))
        this.#expect(']')
        return { kind: 'array', items }
      }
      if (!this.#take('{')) return { kind: 'variable', name: this.#variable() }
      const members: { key: JqNode; pattern: JqPattern }[] = []
      do members.push(this.#patternMember())
      while (this.#take(','))
      this.#expect('}')
      return { kind: 'object', members }
    })
  }

  #patternMember(): { key: JqNode; pattern: JqPattern } {
    if (this.#peek().kind === 'variable') {
      const name = this.#variable()
      const key: JqNode = { kind: 'literal', value: name }
      return { key, pattern: this.#take(':') ? this.#pattern() : { kind: 'variable', name } }
    }
    const key = this.#key()
    this.#expect(':')
    return { key, pattern: this.#pattern() }
  }

  #binary(lowest: number): JqNode {
    return this.#nested(() => {
      let left = this.#unary()
      let taken = Infinity
      for (;;) {
        const { kind, text } = this.#peek()
        const binary = kind === 'symbol' || kind === 'name' ? binaries.get(text) : undefined
        if (binary === undefined || binary.level < lowest) return left
        if (binary.associates === 'never' && binary.level === taken) this.#fail()
        this.#at++
        left = binary.make(left, this.#binary(binary.associates === 'right' ? binary.level : binary.level + 1))
        taken = binary.level
      }
    })
  }

  #unary(): JqNode {
    if (this.#take('-')) return { kind: 'negate', of: this.#nested(() => this.#unary()) }
    const source = this.#postfix()
    // `term as $x | body` binds tighter than any operator before it.
    if (!this.#is('as')) return source
    this.#at++
    const pattern = this.#pattern()
    this.#expect('|')
    return { kind: 'bind', source, pattern, body: this.#pipe() }
  }

  #postfix(): JqNode {
    let node = this.#term()
    for (;;) {
      const token = this.#peek()
      if (token.kind === 'field') {
        this.#at++
        node = { kind: 'index', of: node, key: { kind: 'literal', value: token.text.slice(1) } }
      } else if (this.#is('[')) node = this.#brackets(node)
      else if (this.#is('.') && this.#isBehindDot()) {
        this.#at++
        node = this.#is('[') ? this.#brackets(node) : { kind: 'index', of: node, key: this.#text('') }
      } else if (this.#take('?')) node = { kind: 'try', body: node, handler: undefined }
      else return node
    }
  }

  #isBehindDot(): boolean {
    const next = this.#tokens[this.#at + 1]
    return next?.kind === 'text' || next?.text === '['
  }

  #brackets(of: JqNode): JqNode {
    this.#expect('[')
    if (this.#take(']')) return { kind: 'iterate', of }
    if (this.#take(':')) {
      const to = this.#pipe()
      this.#expect(']')
      return { kind: 'slice', of, from: undefined, to }
    }
    const key = this.#pipe()
    if (this.#take(']')) return { kind: 'index', of, key }
    this.#expect(':')
    const to = this.#is(']') ? undefined : this.#pipe()
    this.#expect(']')
    return { kind: 'slice', of, from: key, to }
  }

  #text(format: string): JqNode {
    const token = this.#next()
    if (token.kind !== 'text') throw new RuleError(`jq: a text is expected at character ${token.at + 1}`)
    const parts = token.parts.map((part) => (typeof part === 'string' ? part : new JqParser(part).parseWhole()))
    const [only] = parts
    if (parts.length === 1 && typeof only === 'string') return { kind: 'literal', value: only }
    return { kind: 'text', parts, format }
  }

  #term(): JqNode {
    const token = this.#peek()
    switch (token.kind) {
      case 'text':
        return this.#text('text')
      case 'number':
        this.#at++
        return { kind: 'literal', value: numberOf(token.text) }
      case 'variable':
        return { kind: 'variable', name: this.#variable() }
      case 'format':
        this.#at++
        return this.#peek().kind === 'text'
          ? this.#text(token.text.slice(1))
          : { kind: 'format', format: token.text.slice(1) }
      case 'field':
        this.#at++
        return { kind: 'index', of: identity, key: { kind: 'literal', value: token.text.slice(1) } }
      case 'name':
        return this.#word(token.text)
      default:
        return this.#symbol()
    }
  }

  #symbol(): JqNode {
    if (this.#take('..')) return { kind: 'call', name: 'recurse', args: [] }
    if (this.#take('.')) {
      if (this.#peek().kind === 'text') return { kind: 'index', of: identity, key: this.#text('text') }
      return this.#is('[') ? this.#brackets(identity) : identity
    }
    if (this.#take('(')) {
      const node = this.#pipe()
      this.#expect(')')
      return node
    }
    if (this.#take('[')) {
      if (this.#take(']')) return { kind: 'array', of: undefined }
      const of = this.#pipe()
      this.#expect(']')
      return { kind: 'array', of }
    }
    if (this.#take('{')) return this.#object()
    return this.#fail()
  }

  #object(): JqNode {
    const members: { key: JqNode; value: JqNode }[] = []
    while (!this.#take('}')) {
      members.push(this.#member())
      if (!this.#is('}')) this.#expect(',')
    }
    return { kind: 'object', members }
  }

  #member(): { key: JqNode; value: JqNode } {
    if (this.#peek().kind === 'variable') {
      const name = this.#variable()
      return { key: { kind: 'literal', value: name }, value: { kind: 'variable', name } }
    }
    const isPlain = !this.#is('(')
    const key = this.#key()
    if (this.#take(':')) return { key, value: this.#memberValue() }
    if (!isPlain) this.#fail(':')
    return { key, value: { kind: 'index', of: identity, key } }
  }

  /** Without a comma, which separates members. */
  #memberValue(): JqNode {
    const left = this.#binary(2)
    return this.#take('|') ? { kind: 'pipe', left, right: this.#memberValue() } : left
  }

  #key(): JqNode {
    const token = this.#peek()
    if (token.kind === 'text') return this.#text('text')
    if (this.#take('(')) {
      const key = this.#pipe()
      this.#expect(')')
      return key
    }
    this.#at++
    if (token.kind === 'name' || token.kind === 'number') return { kind: 'literal', value: token.text }
    this.#at--
    return this.#fail('a key')
  }

  #word(name: string): JqNode {
    this.#at++
    switch (name) {
      case 'if':
        return this.#condition()
      case 'try': {
        const body = this.#postfix()
        return { kind: 'try', body, handler: this.#take('catch') ? this.#postfix() : undefined }
      }
      case 'reduce':
      case 'foreach':
        return this.#fold(name)
      case 'break':
        return { kind: 'break', name: this.#variable() }
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
    if (this.#take('(')) {
      do args.push(this.#pipe())
      while (this.#take(';'))
      this.#expect(')')
    }
    return { kind: 'call', name, args }
  }

  #condition(): JqNode {
    const condition = this.#pipe()
    this.#expect('then')
    const yes = this.#pipe()
    if (this.#take('elif')) return { kind: 'if', condition, yes, no: this.#nested(() => this.#condition()) }
    const no = this.#take('else') ? this.#pipe() : identity
    this.#expect('end')
    return { kind: 'if', condition, yes, no }
  }

  #fold(kind: 'reduce' | 'foreach'): JqNode {
    const source = this.#postfix()
    this.#expect('as')
    const pattern = this.#pattern()
    this.#expect('(')
    const init = this.#pipe()
    this.#expect(';')
    const update = this.#pipe()
    const extract = kind === 'foreach' && this.#take(';') ? this.#pipe() : identity
    this.#expect(')')
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
