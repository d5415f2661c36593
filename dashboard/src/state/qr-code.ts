// Draws QR codes (ISO/IEC 18004) in byte mode with error correction level M, for the secret of a second factor.
//
//   text ──► bits ──► data codewords ──► blocks with error correction codewords ──► modules in a zigzag ──► mask

/** Largest version (size) that a camera reads reliably from a screen. It has space for 666 bytes. */
const maxVersion = 20
/** Level M: error correction codewords of each block, and number of blocks, by version from 1. */
const checkWordsPerBlock = [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26] as const
const blockCounts = [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16] as const
const padding = [0xec, 0x11] as const

type Matrix = readonly (readonly boolean[])[]

/** Returns the rows of modules (true: dark) for a text; undefined if it is too long. */
export function createQrCode(text: string): Matrix | undefined {
  const bytes = new TextEncoder().encode(text)
  for (let version = 1; version <= maxVersion; version++) {
    const words = encodeDataWords(bytes, version)
    if (words !== undefined) return selectBestMask(new Drawing(version), withCheckWords(words, version))
  }
  return undefined
}

const computeSize = (version: number): number => 17 + version * 4

/** Returns the number of all codewords of a version. */
function countWords(version: number): number {
  const count = computeAlignments(version).length
  const ofAlignments = count === 0 ? 0 : (25 * count - 10) * count - 55
  return ((16 * version + 128) * version + 64 - ofAlignments - (version >= 7 ? 36 : 0)) >> 3
}

function selectForVersion(list: readonly number[], version: number): number {
  return list[version - 1] ?? 0
}

/** Returns the data codewords: mode, length, text and padding; undefined if the text is too long. */
function encodeDataWords(bytes: Uint8Array, version: number): readonly number[] | undefined {
  const space =
    countWords(version) - selectForVersion(checkWordsPerBlock, version) * selectForVersion(blockCounts, version)
  const countBits = version < 10 ? 8 : 16
  const bits: number[] = []
  const add = (value: number, length: number): void => {
    for (let at = length - 1; at >= 0; at--) bits.push((value >> at) & 1)
  }
  add(4, 4)
  add(bytes.length, countBits)
  for (const byte of bytes) add(byte, 8)
  if (bits.length > space * 8) return undefined
  add(0, Math.min(4, space * 8 - bits.length))
  add(0, -bits.length & 7)
  for (let at = 0; bits.length < space * 8; at ^= 1) add(padding[at] ?? 0, 8)
  return Array.from({ length: space }, (_, at) =>
    bits.slice(at * 8, at * 8 + 8).reduce((word, bit) => word * 2 + bit, 0),
  )
}

/**
 * Divides the data codewords into blocks of nearly equal length, adds the error correction codewords of each block, and interleaves the
 * blocks.
 */
function withCheckWords(words: readonly number[], version: number): readonly number[] {
  const [checks, count] = [selectForVersion(checkWordsPerBlock, version), selectForVersion(blockCounts, version)]
  const shortLength = Math.floor(words.length / count)
  const shortBlocks = count - (words.length % count)
  const divisor = computeDivisor(checks)
  let from = 0
  const blocks = Array.from({ length: count }, (_, block) => {
    const data = words.slice(from, (from += shortLength + (block < shortBlocks ? 0 : 1)))
    return { data, check: computeRemainder(data, divisor) }
  })
  const interleaved: number[] = []
  for (let at = 0; at <= shortLength; at++) interleaved.push(...blocks.flatMap(({ data }) => data.slice(at, at + 1)))
  for (let at = 0; at < checks; at++) interleaved.push(...blocks.flatMap(({ check }) => check.slice(at, at + 1)))
  return interleaved
}

/** Returns the product in the Galois field GF(256) with the polynomial x^8 + x^4 + x^3 + x^2 + 1. */
function multiply(one: number, other: number): number {
  let result = 0
  for (let at = 7; at >= 0; at--) {
    result = (result << 1) ^ ((result >> 7) * 0x11d)
    result ^= ((other >> at) & 1) * one
  }
  return result
}

/** Returns the generator polynomial (x - 1)(x - 2)(x - 4)… without its first coefficient, which is 1. */
function computeDivisor(degree: number): readonly number[] {
  const result = Array.from({ length: degree }, (_, at): number => (at === degree - 1 ? 1 : 0))
  let root = 1
  for (let step = 0; step < degree; step++) {
    for (let at = 0; at < degree; at++) result[at] = multiply(result[at] ?? 0, root) ^ (result[at + 1] ?? 0)
    root = multiply(root, 2)
  }
  return result
}

function computeRemainder(data: readonly number[], divisor: readonly number[]): readonly number[] {
  let result = divisor.map(() => 0)
  for (const word of data) {
    const factor = word ^ (result[0] ?? 0)
    const shifted = [...result.slice(1), 0]
    result = shifted.map((value, at) => value ^ multiply(divisor[at] ?? 0, factor))
  }
  return result
}

/** Returns the positions of the centers of the alignment patterns, which are the same for rows and columns. */
function computeAlignments(version: number): readonly number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2
  const last = computeSize(version) - 7
  return [6, ...Array.from({ length: count - 1 }, (_, at) => last - step * (count - 2 - at))]
}

type Mask = (x: number, y: number) => boolean

const masks: readonly Mask[] = [
  (x, y) => (x + y) % 2 === 0,
  (_x, y) => y % 2 === 0,
  (x) => x % 3 === 0,
  (x, y) => (x + y) % 3 === 0,
  (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2 === 0,
  (x, y) => ((x * y) % 2) + ((x * y) % 3) === 0,
  (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2 === 0,
  (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2 === 0,
]

/** The modules of one version. The patterns are the same for all texts; codewords and mask are drawn between them. */
class Drawing {
  readonly size: number
  readonly #version: number
  readonly #modules: boolean[][]
  readonly #isPattern: boolean[][]

  constructor(version: number) {
    this.size = computeSize(version)
    this.#version = version
    const createEmpty = (): boolean[][] =>
      Array.from({ length: this.size }, () => Array<boolean>(this.size).fill(false))
    this.#modules = createEmpty()
    this.#isPattern = createEmpty()
    this.#drawPatterns()
  }

  withWords(words: readonly number[], mask: number): Matrix {
    this.#drawFormat(mask)
    const rows = this.#modules.map((row) => [...row])
    let bit = 0
    for (const { x, y } of this.#iterateDataModules()) {
      const word = words[bit >> 3] ?? 0
      const isDark = ((word >> (7 - (bit & 7))) & 1) === 1
      const row = rows[y]
      if (row !== undefined) row[x] = isDark !== (masks[mask]?.(x, y) ?? false)
      bit += 1
    }
    return rows
  }

  /** Returns the positions for codewords in order: from the right, two columns at a time, alternately upwards and downwards. */
  *#iterateDataModules(): Generator<{ readonly x: number; readonly y: number }> {
    let isUp = true
    for (let right = this.size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5
      for (let step = 0; step < this.size; step++) {
        const y = isUp ? this.size - 1 - step : step
        for (const x of [right, right - 1]) if (!(this.#isPattern[y]?.[x] ?? true)) yield { x, y }
      }
      isUp = !isUp
    }
  }

  #set(x: number, y: number, isDark: boolean): void {
    const [row, pattern] = [this.#modules[y], this.#isPattern[y]]
    if (row === undefined || pattern === undefined || x < 0 || x >= this.size) return
    row[x] = isDark
    pattern[x] = true
  }

  #drawPatterns(): void {
    const last = this.size - 1
    for (let at = 0; at < this.size; at++) {
      this.#set(6, at, at % 2 === 0)
      this.#set(at, 6, at % 2 === 0)
    }
    this.#drawSquare(3, 3, 4)
    this.#drawSquare(last - 3, 3, 4)
    this.#drawSquare(3, last - 3, 4)
    const centers = computeAlignments(this.#version)
    for (const x of centers) for (const y of centers) if (!this.#isFinder(x, y)) this.#drawSquare(x, y, 2)
    this.#drawFormat(0)
    if (this.#version >= 7) this.#drawVersion()
  }

  #isFinder(x: number, y: number): boolean {
    const far = this.size - 7
    return (x === 6 && y === 6) || (x === 6 && y === far) || (x === far && y === 6)
  }

  /** Draws a finder pattern (`radius` 4: dark up to ring 1, light, dark, light) or an alignment pattern (`radius` 2: dark, light, dark). */
  #drawSquare(centerX: number, centerY: number, radius: number): void {
    for (let y = -radius; y <= radius; y++) {
      for (let x = -radius; x <= radius; x++) {
        const ring = Math.max(Math.abs(x), Math.abs(y))
        this.#set(centerX + x, centerY + y, radius === 4 ? ring !== 2 && ring !== 4 : ring !== 1)
      }
    }
  }

  /** Draws the format information twice: level M (00) and the mask, with check bits. */
  #drawFormat(mask: number): void {
    const bits = ((mask << 10) | checkBits(mask, 10, 0x537)) ^ 0x5412
    const isDark = (at: number): boolean => ((bits >> at) & 1) === 1
    const last = this.size - 1
    for (let at = 0; at < 15; at++) {
      // Around the finder above on the left; row and column 6 are the timing patterns.
      if (at < 8) this.#set(8, at < 6 ? at : at + 1, isDark(at))
      else this.#set(at === 8 ? 7 : 14 - at, 8, isDark(at))
      // The second copy is at the two other finders, one half each.
      if (at < 8) this.#set(last - at, 8, isDark(at))
      else this.#set(8, this.size - 15 + at, isDark(at))
    }
    this.#set(8, this.size - 8, true)
  }

  #drawVersion(): void {
    const bits = (this.#version << 12) | checkBits(this.#version, 12, 0x1f25)
    for (let at = 0; at < 18; at++) {
      const isDark = ((bits >> at) & 1) === 1
      const [far, near] = [this.size - 11 + (at % 3), Math.floor(at / 3)]
      this.#set(far, near, isDark)
      this.#set(near, far, isDark)
    }
  }
}

function checkBits(value: number, length: number, divisor: number): number {
  let rest = value
  for (let at = 0; at < length; at++) rest = (rest << 1) ^ ((rest >> (length - 1)) * divisor)
  return rest
}

/** Returns the drawing with the mask of the lowest penalty (ISO/IEC 18004, 7.8.3). */
function selectBestMask(drawing: Drawing, words: readonly number[]): Matrix {
  const drawn = masks.map((_, mask) => drawing.withWords(words, mask))
  const penalties = drawn.map(computePenalty)
  return drawn[penalties.indexOf(Math.min(...penalties))] ?? []
}

function computePenalty(rows: Matrix): number {
  const columns = rows.map((_, x) => rows.map((row) => row[x] ?? false))
  let penalty = 0
  for (const line of [...rows, ...columns]) {
    const text = line.map(Number).join('')
    for (const [{ length }] of text.matchAll(/0{5,}|1{5,}/g)) penalty += length - 2
    penalty += 40 * [...text.matchAll(/(?=00001011101|10111010000)/g)].length
  }
  for (const [y, row] of rows.entries()) {
    const below = rows[y + 1]
    for (const [x, isDark] of below === undefined ? [] : row.entries()) {
      if (x > 0 && isDark === row[x - 1] && isDark === below?.[x] && isDark === below[x - 1]) penalty += 3
    }
  }
  const dark = rows.flat().filter(Boolean).length / rows.length ** 2
  return penalty + 10 * Math.floor(Math.abs(dark - 0.5) * 20)
}
