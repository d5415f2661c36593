// A cursor over tokens, with the limits on depth and number of nodes.

import { maxExpressionDepth, quoteText } from '../../values/index.ts'
import { maxSqlNodes } from '../limits/rule-limits.ts'
import { RuleCompileError } from './compile-error.ts'
import { type Token, tokenize } from './tokens.ts'

const keywords = new Set([
  'SELECT', 'FROM', 'WHERE', 'FOREACH', 'DO', 'INCASE', 'CASE', 'WHEN', 'THEN', 'ELSE', 'END',
  'AS', 'AND', 'OR', 'NOT', 'IN', 'DIV',
]) // oxfmt-ignore

export function isKeyword(token: Token): boolean {
  return token.kind === 'word' && keywords.has(token.key)
}

export class TokenReader {
  readonly sql: string
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0
  #nodes = 0

  constructor(sql: string) {
    this.sql = sql
    this.#tokens = tokenize(sql)
  }

  get current(): Token {
    return this.#tokens[this.#at]
  }

  /** The token after the current one. */
  get following(): Token {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)]
  }

  /** End of the token before the current one. */
  get previousEnd(): number {
    return this.#at === 0 ? 0 : this.#tokens[this.#at - 1].end
  }

  advance(): Token {
    const token = this.current
    if (token.kind !== 'end') this.#at++
    return token
  }

  /** Whether the current token is this keyword or symbol. */
  is(key: string): boolean {
    return this.current.key === key
  }

  /** Advances if the current token is this keyword or symbol. */
  take(key: string): boolean {
    if (!this.is(key)) return false
    this.advance()
    return true
  }

  expect(key: string, context: string, hint = ''): Token {
    if (!this.is(key)) throw this.createUnexpectedError(`expected ${key} ${context}`, hint)
    return this.advance()
  }

  /** Runs `parse` one level deeper. */
  parseNested<T>(parse: () => T): T {
    if (++this.#depth > maxExpressionDepth) {
      throw this.createError(
        this.current,
        `too many nested expressions: limit maxExpressionDepth is ${maxExpressionDepth}`,
      )
    }
    const result = parse()
    this.#depth--
    return result
  }

  /** Counts a node of the syntax tree. */
  count(): void {
    if (++this.#nodes > maxSqlNodes) {
      throw this.createError(this.current, `too many expressions: limit maxSqlNodes is ${maxSqlNodes}`)
    }
  }

  /** The bounds of a range after the `[` at the cursor, and how many tokens they take. Does not advance. */
  peekRange(): { from: number; to: number; tokens: number } | undefined {
    let at = this.#at + 1
    const readBound = (): number | undefined => {
      const isNegative = this.#tokens[at]?.key === '-'
      if (isNegative) at++
      const token = this.#tokens[at]
      if (token?.kind !== 'integer') return undefined
      at++
      return isNegative ? 0 - Number(token.text) : Number(token.text)
    }
    const from = readBound()
    if (from === undefined || this.#tokens[at]?.key !== '..') return undefined
    at++
    const to = readBound()
    return to === undefined ? undefined : { from, to, tokens: at - this.#at }
  }

  createUnexpectedError(expected: string, hint = ''): RuleCompileError {
    return this.createError(this.current, `unexpected ${describe(this.current)}; ${expected}`, hint)
  }

  createError(at: { readonly start: number }, summary: string, hint = ''): RuleCompileError {
    return new RuleCompileError(this.sql, at.start, summary, hint)
  }
}

function describe(token: Token): string {
  switch (token.kind) {
    case 'end':
      return 'end of the SQL'
    case 'word':
      return isKeyword(token) ? `keyword ${token.key}` : `name ${quoteText(token.text)}`
    case 'name':
      return `name ${quoteText(token.text)}`
    case 'text':
      return `text ${quoteText(token.text)}`
    case 'integer':
    case 'float':
      return `number ${quoteText(token.text)}`
    case 'symbol':
      return quoteText(token.text)
    default:
      throw token.kind satisfies never
  }
}
