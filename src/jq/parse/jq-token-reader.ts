// Reads the tokens of a jq program one after the other, and reports unexpected ones with their place.

import { maxExpressionDepth, RuleError } from '../../values/index.ts'
import type { JqToken } from './tokenize-jq.ts'

export class JqTokenReader {
  readonly #tokens: readonly JqToken[]
  #at = 0
  #depth = 0

  constructor(tokens: readonly JqToken[]) {
    this.#tokens = tokens
  }

  get isAtEnd(): boolean {
    return this.peek().kind === 'end'
  }

  /** Returns the current token. */
  peek(): JqToken {
    const token = this.#tokens[this.#at]
    if (token === undefined) throw new RuleError('jq: the program ends too early')
    return token
  }

  /** Returns the token behind the current one. */
  peekSecond(): JqToken | undefined {
    return this.#tokens[this.#at + 1]
  }

  /** Returns the current token, and passes it. */
  next(): JqToken {
    const token = this.peek()
    this.#at++
    return token
  }

  /** Whether the current token is this symbol or name. */
  is(text: string): boolean {
    const { kind, text: found } = this.peek()
    return (kind === 'symbol' || kind === 'name') && found === text
  }

  /** Passes the current token if it is this symbol or name. */
  take(text: string): boolean {
    if (!this.is(text)) return false
    this.#at++
    return true
  }

  /** Passes this symbol or name. Throws RuleError if the current token is another one. */
  expect(text: string): void {
    if (!this.take(text)) this.fail(text)
  }

  /** Throws RuleError for the current token. */
  fail(wanted?: string): never {
    const { kind, text, at } = this.peek()
    const found = kind === 'text' ? 'a text' : kind === 'end' ? 'the end' : JSON.stringify(text)
    const hint = wanted === undefined ? '' : `, ${JSON.stringify(wanted)} is`
    throw new RuleError(`jq: ${found} at character ${at + 1} is not expected${hint}`)
  }

  /** Parses an expression within another one. Throws RuleError if there are too many. */
  parseNested<T>(parse: () => T): T {
    if (++this.#depth > maxExpressionDepth)
      throw new RuleError(`jq: more than ${maxExpressionDepth} nested expressions`)
    const result = parse()
    this.#depth--
    return result
  }

  /** Passes a variable. Returns its name without `$`. */
  takeVariable(): string {
    const { kind, text } = this.next()
    if (kind !== 'variable') this.fail('a variable')
    return text.slice(1)
  }
}
