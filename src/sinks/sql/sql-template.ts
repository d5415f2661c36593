// Finds the values of an SQL template. All of them are bound, or written as one literal, so none of them becomes SQL.
//
//   INSERT INTO t VALUES (${a}, '${b}', 'site-${c}', '{"d":"${d}"}')
//                         value value  text           text (JSON)

import type { CompileTemplate, RuleData, Template } from '../sink.ts'

export interface SqlDialect {
  /** Whether a backslash escapes the next character of a quoted text. */
  readonly escapesWithBackslash: boolean
}

/** A placeholder, by its number, or a quoted text with placeholders. */
type BoundValue =
  | { readonly kind: 'value'; readonly number: number }
  | { readonly kind: 'text'; readonly text: Template }

export interface SqlTemplate {
  /** The texts around the values: one more than values. */
  readonly texts: readonly string[]
  resolveValues(data: RuleData): readonly unknown[]
}

/** Returns why a statement has a placeholder that cannot be a value, and undefined if all can. */
export function findSqlTemplateProblem(sql: string, dialect: SqlDialect, compile: CompileTemplate): string | undefined {
  return new Scanner(dialect, compile).scan(compile(sql)) === undefined
    ? 'a placeholder is in a name in quotes or in a comment: placeholders are values, so write the name itself'
    : undefined
}

/** Rendering throws TypeError if a placeholder cannot be a value. */
export function compileSqlTemplate(sql: string, dialect: SqlDialect, compile: CompileTemplate): SqlTemplate {
  const template = compile(sql)
  const scanned = new Scanner(dialect, compile).scan(template)
  if (scanned === undefined) return { texts: [sql], resolveValues: refuseValues }
  const { texts, bound } = scanned
  if (bound.every(({ kind }) => kind === 'value'))
    return { texts, resolveValues: (data) => template.resolveValues(data) }
  return {
    texts,
    resolveValues(data) {
      const values = template.resolveValues(data)
      return bound.map((value) => (value.kind === 'value' ? values[value.number] : value.text.render(data)))
    },
  }
}

function refuseValues(): never {
  throw new TypeError('a placeholder of the statement is in a name in quotes or in a comment')
}

type Context = 'statement' | "'" | '"' | '`' | 'line-comment' | 'block-comment'

class Scanner {
  readonly #dialect: SqlDialect
  readonly #compile: CompileTemplate
  readonly #texts: string[] = ['']
  readonly #bound: BoundValue[] = []
  #context: Context = 'statement'
  /** The open quoted text as it is written, and as the template of its value. */
  #quoted = { source: '', template: '', placeholders: [] as number[] }

  constructor(dialect: SqlDialect, compile: CompileTemplate) {
    this.#dialect = dialect
    this.#compile = compile
  }

  /** Undefined: a placeholder is where no value can be. */
  scan({ parts }: Template): { readonly texts: readonly string[]; readonly bound: readonly BoundValue[] } | undefined {
    let number = 0
    for (const part of parts) {
      if (typeof part === 'string') this.#scanText(part)
      else if (!this.#addPlaceholder((part as { readonly text: string }).text, number++)) return undefined
    }
    // The database reports a quoted text without end; a placeholder in it is no value.
    if (this.#context === "'" && this.#quoted.placeholders.length > 0) return undefined
    if (this.#context === "'") this.#append(this.#quoted.source)
    return { texts: this.#texts, bound: this.#bound }
  }

  #append(text: string): void {
    this.#texts[this.#texts.length - 1] += text
  }

  #addPlaceholder(text: string, number: number): boolean {
    if (this.#context === 'statement') this.#bind({ kind: 'value', number })
    else if (this.#context === "'") {
      this.#quoted.template += text
      this.#quoted.placeholders.push(number)
    } else return false
    return true
  }

  #bind(value: BoundValue): void {
    this.#bound.push(value)
    this.#texts.push('')
  }

  #scanText(text: string): void {
    for (let at = 0; at < text.length; at++) {
      const pair = text.slice(at, at + 2)
      const length = this.#context === "'" ? this.#scanQuoted(pair) : this.#scanOther(pair)
      at += length - 1
    }
  }

  /** Handles one character, or two. Returns their number. */
  #scanQuoted(pair: string): number {
    const [character = ''] = pair
    const isEscape = character === '\\' && this.#dialect.escapesWithBackslash && pair.length === 2
    if (isEscape || pair === "''") {
      this.#quoted.source += pair
      this.#quoted.template += pair.charAt(1)
      return 2
    }
    this.#quoted.source += character
    if (character === "'") this.#endQuoted()
    else this.#quoted.template += character
    return 1
  }

  #endQuoted(): void {
    const { source, template, placeholders } = this.#quoted
    const [first] = placeholders
    this.#context = 'statement'
    if (first === undefined) return this.#append(source)
    // `'${a}'` is the value itself, so that a number stays a number.
    if (source === "''") return this.#bind({ kind: 'value', number: first })
    this.#bind({ kind: 'text', text: this.#compile(template, 'json-if-shaped') })
  }

  #scanOther(pair: string): number {
    const [character = ''] = pair
    if (this.#context === 'statement') return this.#scanStatement(pair)
    const isEnd =
      this.#context === 'line-comment'
        ? character === '\n'
        : this.#context === 'block-comment'
          ? pair === '*/'
          : character === this.#context
    const length = isEnd && this.#context === 'block-comment' ? 2 : 1
    if (isEnd) this.#context = 'statement'
    this.#append(pair.slice(0, length))
    return length
  }

  #scanStatement(pair: string): number {
    const [character = ''] = pair
    if (character === "'") {
      this.#context = "'"
      this.#quoted = { source: "'", template: '', placeholders: [] }
      return 1
    }
    if (pair === '--') this.#context = 'line-comment'
    else if (pair === '/*') this.#context = 'block-comment'
    else if (character === '"' || character === '`') this.#context = character
    const length = pair === '--' || pair === '/*' ? 2 : 1
    this.#append(pair.slice(0, length))
    return length
  }
}
