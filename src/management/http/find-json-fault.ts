// Finds the field where a text stops being valid JSON: `in data.items.2.qos, line 4`. Positions in characters do not
// help users whose library created the text. Called only after JSON.parse has failed. Linear in the length of the text.

/** Position of the first error. The text there is not quoted, because it may be part of a password. */
export interface JsonFault {
  /** Path of the invalid, incomplete or missing value, joined by dots; empty: the whole text. */
  readonly path: string
  /** Starts at 1. */
  readonly line: number
}

/** Maximum characters of one key, and of the whole path. */
const maxKeyLength = 50
const maxPathLength = 200

/** An open object or array, with the key or index of the current value. */
interface Level {
  readonly isArray: boolean
  key: string | number
}

export function findJsonFault(text: string): JsonFault {
  const reader = new FaultReader(text)
  reader.read()
  const keys = reader.levels.map(({ key }) => key).filter((key) => key !== '')
  return { path: keys.join('.').slice(0, maxPathLength), line: text.slice(0, reader.at).split('\n').length }
}

class FaultReader {
  readonly levels: Level[] = []
  at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  /** Moves to the first error, or to the end of the text. */
  read(): void {
    do {
      if (!this.#readValue()) return
    } while (this.#readSeparator())
  }

  /** Reads a scalar, an empty object or array, or the start of another one with its first key. */
  #readValue(): boolean {
    this.#skipSpace()
    for (;;) {
      const opening = this.#text[this.at]
      if (opening !== '{' && opening !== '[') return this.#readScalar()
      this.at++
      this.#skipSpace()
      const isArray = opening === '['
      if (this.#text[this.at] === (isArray ? ']' : '}')) {
        this.at++
        return true
      }
      this.levels.push({ isArray, key: isArray ? 0 : '' })
      if (!isArray && !this.#readKey()) return false
    }
  }

  /** Closes what ends after a value. Returns true if a comma, and in an object a key, announces another value. */
  #readSeparator(): boolean {
    for (;;) {
      this.#skipSpace()
      const level = this.levels.at(-1)
      if (level === undefined) return false
      const found = this.#text[this.at]
      if (found === (level.isArray ? ']' : '}')) {
        this.levels.pop()
        this.at++
        continue
      }
      if (found !== ',') return false
      this.at++
      if (!level.isArray) return this.#readKey()
      level.key = Number(level.key) + 1
      return true
    }
  }

  /** Reads `"key":` with blanks. If it is invalid, the previous key is the position. */
  #readKey(): boolean {
    this.#skipSpace()
    const from = this.at
    const level = this.levels.at(-1)
    if (level === undefined || this.#text[from] !== '"' || !this.#readText()) return false
    level.key = this.#text.slice(from + 1, Math.min(this.at - 1, from + 1 + maxKeyLength))
    this.#skipSpace()
    if (this.#text[this.at] !== ':') return false
    this.at++
    this.#skipSpace()
    return true
  }

  #readScalar(): boolean {
    if (this.#text[this.at] === '"') return this.#readText()
    const from = this.at
    scalar.lastIndex = from
    if (scalar.test(this.#text)) this.at = scalar.lastIndex
    return this.at > from
  }

  /** Reads a quoted text. After an error in it, `at` is its start. */
  #readText(): boolean {
    for (let at = this.at + 1; at < this.#text.length; at++) {
      const code = this.#text.charCodeAt(at)
      if (code === quote) {
        this.at = at + 1
        return true
      }
      if (code < firstPrintable) return false
      if (code !== backslash) continue
      escape.lastIndex = at
      if (!escape.test(this.#text)) return false
      at = escape.lastIndex - 1
    }
    return false
  }

  #skipSpace(): void {
    while (isSpace(this.#text.charCodeAt(this.at))) this.at++
  }
}

const scalar = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
const escape = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y
const [quote, backslash, firstPrintable] = [0x22, 0x5c, 0x20]

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
