// Parses the Erlang terms of an acl.conf, each with its position:
//
//   {allow, {user, "dashboard"}, subscribe, ["$SYS/#", {eq, "#"}]}.      % a comment
//
// Errors never quote the text: the setting may name a file that the user must not read.

import type { Position } from '../hocon/config-values.ts'

export type Term =
  | { readonly kind: 'atom' | 'text'; readonly text: string; readonly at: Position }
  | { readonly kind: 'tuple' | 'list'; readonly items: readonly Term[]; readonly at: Position }

export interface Statement {
  readonly term: Term
  /** The term as written in the file. */
  readonly text: string
}

/** An error in the text, with its position. */
export class TermError extends Error {
  readonly at: Position

  constructor(at: Position, message: string) {
    super(message)
    this.at = at
  }
}

/** Maximum depth of tuples and lists. */
const maxDepth = 16
const maxStatementText = 240

/** Returns every term that ends in a full stop. Throws TermError at the first invalid one. */
export function readTerms(text: string, file: string, maxStatements: number): readonly Statement[] {
  const reader = new TermReader(text, file)
  const statements: Statement[] = []
  while (!reader.isAtEnd()) {
    if (statements.length >= maxStatements) throw reader.createError(`there are more than ${maxStatements} rules`)
    statements.push(reader.readStatement())
  }
  return statements
}

const escapes: ReadonlyMap<string, string> = new Map([
  ['n', '\n'],
  ['t', '\t'],
  ['s', ' '],
])

class TermReader {
  readonly #text: string
  readonly #file: string
  #at = 0
  #line = 1
  #lineStart = 0

  constructor(text: string, file: string) {
    this.#text = text
    this.#file = file
  }

  /** Skips blanks and comments. */
  isAtEnd(): boolean {
    for (;;) {
      const character = this.#text[this.#at]
      if (character === undefined) return true
      if (character === '%') this.#skipLine()
      else if (/[\s\uFEFF]/.test(character)) this.#readCharacter()
      else return false
    }
  }

  readStatement(): Statement {
    const start = this.#at
    const term = this.#readTerm(0)
    if (!this.#take('.')) throw this.createError('a full stop is missing after the rule')
    const written = this.#text.slice(start, this.#at).replaceAll(/\s+/g, ' ')
    return { term, text: written.length > maxStatementText ? `${written.slice(0, maxStatementText)}...` : written }
  }

  createError(message: string): TermError {
    return new TermError(this.#findPosition(), message)
  }

  #readTerm(depth: number): Term {
    if (depth > maxDepth) throw this.createError(`tuples and lists are nested more than ${maxDepth} deep`)
    if (this.isAtEnd()) throw this.createError('the text ends in the middle of a rule')
    const at = this.#findPosition()
    if (this.#take('{')) return { kind: 'tuple', items: this.#readItems('}', depth), at }
    if (this.#take('[')) return { kind: 'list', items: this.#readItems(']', depth), at }
    if (this.#take('"')) return { kind: 'text', text: this.#readQuoted('"'), at }
    if (this.#take("'")) return { kind: 'atom', text: this.#readQuoted("'"), at }
    if (this.#take('<<')) return { kind: 'text', text: this.#readBinary(), at }
    const word = /^[a-z][A-Za-z0-9_@]*/.exec(this.#text.slice(this.#at, this.#at + 256))
    if (word === null) throw this.createError('this is not a rule; example: {allow, all}.')
    this.#at += word[0].length
    return { kind: 'atom', text: word[0], at }
  }

  #readItems(end: '}' | ']', depth: number): Term[] {
    const items: Term[] = []
    if (this.#take(end)) return items
    do items.push(this.#readTerm(depth + 1))
    while (this.#take(','))
    if (!this.#take(end)) throw this.createError(`expected "," or "${end}" here`)
    return items
  }

  #readBinary(): string {
    if (!this.#take('"')) throw this.createError('a " is missing after <<')
    const text = this.#readQuoted('"')
    this.#take('/utf8')
    if (!this.#take('>>')) throw this.createError('>> is missing here')
    return text
  }

  #readQuoted(end: string): string {
    const opened = this.#findPosition()
    let text = ''
    for (;;) {
      const character = this.#readCharacter()
      if (character === end) return text
      if (character === undefined || character === '\n') throw new TermError(opened, `the closing ${end} is missing`)
      if (character !== '\\') text += character
      else {
        const escaped = this.#readCharacter() ?? ''
        const meant = escapes.get(escaped) ?? escaped
        if (/[A-Za-z0-9]/.test(escaped) && !escapes.has(escaped)) throw this.createError('there is no such escape')
        text += meant
      }
    }
  }

  /** Skips blanks, and then `mark` if it follows. */
  #take(mark: string): boolean {
    if (this.isAtEnd() || !this.#text.startsWith(mark, this.#at)) return false
    this.#at += mark.length
    return true
  }

  #readCharacter(): string | undefined {
    const character = this.#text[this.#at]
    if (character === undefined) return undefined
    this.#at++
    if (character === '\n') {
      this.#line++
      this.#lineStart = this.#at
    }
    return character
  }

  #skipLine(): void {
    const end = this.#text.indexOf('\n', this.#at)
    this.#at = end === -1 ? this.#text.length : end
  }

  #findPosition(): Position {
    return { file: this.#file, line: this.#line, column: this.#at - this.#lineStart + 1 }
  }
}
