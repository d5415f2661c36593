// A map with digests as keys and numbers as values, in memory that all shards of a node share:
//
//   set of 8 entries | set of 8 entries ...        entry: digest, 4 x Int32 | time of use, Float64 | values, Float64 ...
//
// The digest selects the set. A new entry replaces the entry of its set that was used the longest time ago. The digests are salted, so no
// client can choose the entry that is replaced. The caller holds a lock: see `LoginTable`.

/** The digest of a key; its first `digestCells` numbers are used. */
export type Digest = Int32Array

interface DigestMapOptions {
  /** A multiple of 8. */
  readonly maxEntries: number
  /** Numbers of an entry. */
  readonly values: number
}

export const digestCells = 4
const entriesOfSet = 8
const bytesPerCell = 4
const bytesPerValue = 8

export class SharedDigestMap {
  readonly #digests: Int32Array
  readonly #values: Float64Array
  /** The number of entries, and of uses so far. */
  readonly #counts: Float64Array
  readonly #sets: number
  readonly #stride: number

  /** Bytes of a map, a multiple of 8. */
  static computeSizeBytes({ maxEntries, values }: DigestMapOptions): number {
    return 2 * bytesPerValue + maxEntries * (digestCells * bytesPerCell + (1 + values) * bytesPerValue)
  }

  constructor(memory: SharedArrayBuffer, offset: number, { maxEntries, values }: DigestMapOptions) {
    this.#sets = maxEntries / entriesOfSet
    this.#stride = 1 + values
    this.#counts = new Float64Array(memory, offset, 2)
    this.#values = new Float64Array(memory, offset + this.#counts.byteLength, maxEntries * this.#stride)
    this.#digests = new Int32Array(memory, this.#values.byteOffset + this.#values.byteLength, maxEntries * digestCells)
  }

  get size(): number {
    return this.#counts[0] ?? 0
  }

  /** Returns the entry; undefined if there is none. */
  find(digest: Digest): number | undefined {
    const first = this.#findSetStart(digest)
    for (let entry = first; entry < first + entriesOfSet; entry++) if (this.#has(entry, digest)) return entry
    return undefined
  }

  /** Stores the values as the most recently used entry of this digest. */
  set(digest: Digest, values: readonly number[]): void {
    const entry = this.find(digest) ?? this.#freeEntry(this.#findSetStart(digest))
    for (let cell = 0; cell < digestCells; cell++) this.#digests[entry * digestCells + cell] = readCell(digest, cell)
    const uses = (this.#counts[1] ?? 0) + 1
    this.#counts[1] = uses
    this.#values[entry * this.#stride] = uses
    this.#values.set(values, entry * this.#stride + 1)
  }

  readValue(entry: number, index: number): number {
    return this.#values[entry * this.#stride + 1 + index] ?? 0
  }

  delete(entry: number): void {
    if (!this.#isUsed(entry)) return
    this.#values[entry * this.#stride] = 0
    this.#counts[0] = this.size - 1
  }

  /** Returns a free entry of the set, counted as used from now on, or the least recently used one. */
  #freeEntry(first: number): number {
    let oldest = first
    for (let entry = first; entry < first + entriesOfSet; entry++) {
      if (!this.#isUsed(entry)) {
        this.#counts[0] = this.size + 1
        return entry
      }
      if (this.#readUsedAt(entry) < this.#readUsedAt(oldest)) oldest = entry
    }
    return oldest
  }

  #findSetStart(digest: Digest): number {
    return ((readCell(digest, 0) >>> 0) % this.#sets) * entriesOfSet
  }

  #has(entry: number, digest: Digest): boolean {
    if (!this.#isUsed(entry)) return false
    for (let cell = 0; cell < digestCells; cell++)
      if (this.#digests[entry * digestCells + cell] !== readCell(digest, cell)) return false
    return true
  }

  #isUsed(entry: number): boolean {
    return this.#readUsedAt(entry) !== 0
  }

  #readUsedAt(entry: number): number {
    return this.#values[entry * this.#stride] ?? 0
  }
}

function readCell(digest: Digest, cell: number): number {
  return digest[cell] ?? 0
}
