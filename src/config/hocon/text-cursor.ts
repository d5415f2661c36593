import type { Position } from './config-values.ts'

const lineFeed = 0x0a

/** A position in a text that moves forward, with line and column. */
export class TextCursor {
  readonly file: string
  readonly #text: string
  readonly #lineStarts: number[] = [0]
  #offset = 0

  constructor(text: string, file: string) {
    this.file = file
    this.#text = text
    for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) this.#lineStarts.push(at + 1)
    if (text.startsWith('\uFEFF')) this.#offset = 1
  }

  /** Number of characters before the cursor, for `moveTo`. */
  get offset(): number {
    return this.#offset
  }

  moveTo(offset: number): void {
    this.#offset = offset
  }

  get isAtEnd(): boolean {
    return this.#offset >= this.#text.length
  }

  /** Returns the character at a distance of `ahead`; empty at the end of the text. */
  peek(ahead = 0): string {
    return this.#text.charAt(this.#offset + ahead)
  }

  startsWith(text: string, ahead = 0): boolean {
    return this.#text.startsWith(text, this.#offset + ahead)
  }

  skip(characters = 1): void {
    this.#offset = Math.min(this.#offset + characters, this.#text.length)
  }

  /** Moves while `holds` returns true, and returns the skipped text. */
  takeWhile(holds: (character: string) => boolean): string {
    const start = this.#offset
    while (!this.isAtEnd && holds(this.peek())) this.#offset++
    return this.#text.slice(start, this.#offset)
  }

  /**
   * Moves to the next occurrence of `words` and returns the skipped text; undefined, without a move, if there is none.
   */
  takeUntil(text: string): string | undefined {
    const end = this.#text.indexOf(text, this.#offset)
    if (end === -1) return undefined
    const taken = this.#text.slice(this.#offset, end)
    this.#offset = end
    return taken
  }

  skipLine(): void {
    while (!this.isAtEnd && this.#text.charCodeAt(this.#offset) !== lineFeed) this.#offset++
  }

  findPosition(): Position {
    let low = 0
    let high = this.#lineStarts.length - 1
    while (low < high) {
      const middle = Math.ceil((low + high) / 2)
      if ((this.#lineStarts[middle] ?? 0) <= this.#offset) low = middle
      else high = middle - 1
    }
    return { file: this.file, line: low + 1, column: this.#offset - (this.#lineStarts[low] ?? 0) + 1 }
  }
}
