// A Map with text keys that may contain millions of entries and never pauses for long. A plain Map doubles by moving all entries
// at once, which takes 60 ms at a million. Here only parts are moved.
//
//   first   [ up to 32,768 entries ]       the only part while it has space
//   others  [0] [1] [2] ... [255]          afterwards: the hash of a key selects its part
//
// An entry stays in its part until it is deleted. So a walk along the parts visits every entry exactly once that exists during
// the whole walk: the iterator of a Map guarantees that for each part.

import { hashText } from './hash-text.ts'

const firstCapacity = 32_768
const partCount = 256

/** Like a Map with text keys; `walk` enumerates it. */
export class LargeMap<V> {
  readonly #first: Map<string, V> = new Map()
  readonly #firstCapacity: number
  #others: Map<string, V>[] | undefined = undefined
  #size = 0

  /** Only tests use another capacity. */
  constructor(capacity: number = firstCapacity) {
    this.#firstCapacity = capacity
  }

  get size(): number {
    return this.#size
  }

  get(key: string): V | undefined {
    const value = this.#first.get(key)
    if (value !== undefined || this.#others === undefined) return value
    return findPart(this.#others, key).get(key)
  }

  set(key: string, value: V): void {
    const part = this.#choosePart(key)
    const before = part.size
    part.set(key, value)
    this.#size += part.size - before
  }

  /** Returns true if it existed. */
  delete(key: string): boolean {
    const wasThere = this.#first.delete(key) || (this.#others !== undefined && findPart(this.#others, key).delete(key))
    if (wasThere) this.#size -= 1
    return wasThere
  }

  /** Visits each entry exactly once that exists during the whole walk, whatever changes between two steps. */
  walk(): LargeMapWalk<V> {
    return new LargeMapWalk((at) => (at === 0 ? this.#first : this.#others?.[at - 1]))
  }

  /** Returns the part that contains the key, or that will. */
  #choosePart(key: string): Map<string, V> {
    const firstHasRoom = this.#first.size < this.#firstCapacity
    if (this.#first.has(key) || (this.#others === undefined && firstHasRoom)) return this.#first
    this.#others ??= Array.from({ length: partCount }, () => new Map<string, V>())
    const other = findPart(this.#others, key)
    return firstHasRoom && !other.has(key) ? this.#first : other
  }
}

function findPart<V>(parts: readonly Map<string, V>[], key: string): Map<string, V> {
  const hash = hashText(key, key.length)
  return parts[((hash >>> 16) ^ hash) & (partCount - 1)]
}

/** A position in a LargeMap. */
export class LargeMapWalk<V> {
  readonly #readPart: (at: number) => Map<string, V> | undefined
  #at = 0
  #entries: MapIterator<[string, V]> | undefined

  constructor(partAt: (at: number) => Map<string, V> | undefined) {
    this.#readPart = partAt
    this.#entries = partAt(0)?.entries()
  }

  /** Returns the next entry; undefined after the last. */
  next(): [key: string, value: V] | undefined {
    while (this.#entries !== undefined) {
      const step = this.#entries.next()
      if (step.done !== true) return step.value
      this.#at += 1
      this.#entries = this.#readPart(this.#at)?.entries()
    }
    return undefined
  }
}
