import { RuleError } from '../values/index.ts'

/** A cursor over the pattern of a regular expression. */
export class PatternReader {
  readonly #pattern: string
  #at = 0

  constructor(pattern: string) {
    this.#pattern = pattern
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#pattern.length
  }

  is(text: string): boolean {
    return this.#pattern.startsWith(text, this.#at)
  }

  take(text: string): boolean {
    if (!this.is(text)) return false
    this.#at += text.length
    return true
  }

  /** Returns the next character. Throws at the end. */
  next(): string {
    const code = this.#pattern.codePointAt(this.#at)
    if (code === undefined) throw this.createError('it ends too early')
    const character = String.fromCodePoint(code)
    this.#at += character.length
    return character
  }

  /** Advances over a sticky pattern of our own. */
  match(sticky: RegExp): RegExpExecArray | undefined {
    sticky.lastIndex = this.#at
    const found = sticky.exec(this.#pattern)
    if (found === null) return undefined
    this.#at += found[0].length
    return found
  }

  createError(message: string): RuleError {
    return new RuleError(`regular expression: ${message} (position ${this.#at})`)
  }
}
