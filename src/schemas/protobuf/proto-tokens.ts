// Tokens of a .proto text.

import { checkLength, SchemaError } from '../model/compiled-schema.ts'

export interface ProtoToken {
  readonly kind: 'name' | 'number' | 'text' | 'symbol' | 'end'
  /** The token. A string token has no quotes here. */
  readonly text: string
  readonly at: number
}

const skipped = /(?:\s|\/\/[^\n]*|\/\*[^*]*\*+(?:[^/*][^*]*\*+)*\/)*/y
const patterns = [
  ['name', /[A-Za-z_][A-Za-z0-9_]*/y],
  ['number', /0[xX][0-9A-Fa-f]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?/y],
  ['text', /"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'/y],
  ['symbol', /[{}()[\]<>;,=.+:-]/y],
] as const

/** Reads tokens one after the other. Throws SchemaError for characters that are none. */
export class ProtoTokens {
  readonly source: string
  #at = 0
  #next: ProtoToken

  constructor(source: string) {
    checkLength(source)
    this.source = source
    this.#next = this.#read()
  }

  get next(): ProtoToken {
    return this.#next
  }

  take(): ProtoToken {
    const token = this.#next
    this.#next = this.#read()
    return token
  }

  /** Takes the next token if it has this text. */
  takeIf(text: string): boolean {
    if (this.#next.text !== text || this.#next.kind === 'text') return false
    this.take()
    return true
  }

  expect(text: string): ProtoToken {
    const token = this.#next
    if (!this.takeIf(text)) throw this.createError(`expected "${text}"`)
    return token
  }

  takeName(expectation: string): ProtoToken {
    if (this.#next.kind !== 'name') throw this.createError(`expected ${expectation}`)
    return this.take()
  }

  /** `a.b.c`, also with a dot in front. */
  takeQualifiedName(expected: string): ProtoToken {
    const { at } = this.#next
    let text = this.takeIf('.') ? '.' : ''
    text += this.takeName(expected).text
    while (this.takeIf('.')) text += `.${this.takeName(expected).text}`
    return { kind: 'name', text, at }
  }

  takeInteger(expectation: string): number {
    const isNegative = this.takeIf('-')
    const { kind, text } = this.#next
    const value = kind === 'number' && /^(?:0[xX][0-9A-Fa-f]+|\d+)$/.test(text) ? readInteger(text) : Number.NaN
    if (!Number.isSafeInteger(value)) throw this.createError(`expected ${expectation}`)
    this.take()
    return isNegative ? -value : value
  }

  /** The error for the next token. */
  createError(summary: string): SchemaError {
    const { kind, text, at } = this.#next
    const found = kind === 'end' ? 'the end of the text' : JSON.stringify(text.slice(0, 40))
    return new SchemaError({ source: this.source, at }, `${summary}, not ${found}`)
  }

  #read(): ProtoToken {
    skipped.lastIndex = this.#at
    skipped.exec(this.source)
    const at = skipped.lastIndex
    if (at >= this.source.length) return { kind: 'end', text: '', at }
    for (const [kind, pattern] of patterns) {
      pattern.lastIndex = at
      const text = pattern.exec(this.source)?.[0]
      if (text === undefined) continue
      this.#at = at + text.length
      return { kind, text: kind === 'text' ? text.slice(1, -1) : text, at }
    }
    throw new SchemaError({ source: this.source, at }, `unexpected character ${JSON.stringify(this.source[at])}`)
  }
}

/** A leading zero makes an octal number. */
function readInteger(text: string): number {
  return /^0\d/.test(text) ? Number.parseInt(text, 8) : Number(text)
}
