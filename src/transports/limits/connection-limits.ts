// Counters of connections. A thread counts in a number; threads of a node share cells in memory:
//
//   used by all | by thread 0 | by thread 1 | ...     the supervisor returns the count of a failed thread
//
// A connection may also count for a parent limit.
//
// Other parts of the process use file descriptors, too. The number left for connections is determined from time to time, and each
// connection reduces it until then.

import type { ConnectionRefusal } from '../streams/byte-stream.ts'

/** From `createSharedSlots`; `own` is the thread's number. */
export interface ConnectionSlots {
  readonly cells: SharedArrayBuffer
  readonly own: number
}

/** Creates shared memory for the counters of this number of threads. */
export function createSharedSlots(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + threads) * Int32Array.BYTES_PER_ELEMENT)
}

/** Returns the sum over all threads. */
export function countUsedSlots(cells: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(cells), 0)
}

/** The thread has ended, and its connections with it. */
export function freeSharedSlots({ cells, own }: ConnectionSlots): void {
  const counts = new Int32Array(cells)
  Atomics.sub(counts, 0, Atomics.exchange(counts, 1 + own, 0))
}

/** Creates shared memory for the number of free file descriptors; not determined yet. */
export function createDescriptorCounter(): SharedArrayBuffer {
  const freeDescriptors = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  setFreeDescriptors(freeDescriptors, unlimited)
  return freeDescriptors
}

/** Sets the number of free file descriptors. */
export function setFreeDescriptors(freeDescriptors: SharedArrayBuffer, left: number): void {
  Atomics.store(new Int32Array(freeDescriptors), 0, Math.min(Math.max(left, 0), unlimited))
}

/** Far from an overflow of the counter. */
const unlimited = 0x3fff_ffff

export interface ConnectionLimitOptions {
  /** Counters of the threads that share this limit. */
  readonly places?: ConnectionSlots
  /** From `createDescriptorCounter`: connections are refused if none is left. */
  readonly freeDescriptors?: SharedArrayBuffer
  /** Each connection counts there as well. */
  readonly parent?: ConnectionLimit
  /** The reason for a refusal. */
  readonly refusal?: ConnectionRefusal
}

/** A limit of connections that several listeners share, such as the open-file limit and `limits.max_connections`. */
export class ConnectionLimit {
  /** Open connections remain if it decreases. */
  limit: number
  /** Number of this thread. */
  used: number
  readonly #refusal: ConnectionRefusal
  readonly #parent: ConnectionLimit | undefined
  readonly #cells: Int32Array | undefined
  readonly #own: number
  readonly #descriptors: Int32Array | undefined

  constructor(
    limit: number,
    { places, freeDescriptors, parent, refusal = 'broker-full' }: ConnectionLimitOptions = {},
  ) {
    this.limit = limit
    this.used = 0
    this.#refusal = refusal
    this.#parent = parent
    this.#cells = places === undefined ? undefined : new Int32Array(places.cells)
    this.#own = places === undefined ? 0 : 1 + places.own
    this.#descriptors = freeDescriptors === undefined ? undefined : new Int32Array(freeDescriptors)
  }

  /** Why connections are refused now; undefined: they are accepted. */
  get reasonToRefuse(): ConnectionRefusal | undefined {
    const { reached } = this
    return reached === undefined ? undefined : reached.#refusal
  }

  /** The first of this limit and its parents that is reached; undefined: none. */
  get reached(): ConnectionLimit | undefined {
    const used = this.#cells === undefined ? this.used : Atomics.load(this.#cells, 0)
    return used >= this.limit || this.isOutOfDescriptors ? this : this.#parent?.reached
  }

  /** This limit and its parents. */
  get chain(): readonly ConnectionLimit[] {
    return this.#parent === undefined ? [this] : [this, ...this.#parent.chain]
  }

  /** With the limits of its parents. */
  get effectiveLimit(): number {
    return Math.min(this.limit, this.#parent?.effectiveLimit ?? Number.POSITIVE_INFINITY)
  }

  get isOutOfDescriptors(): boolean {
    return this.#descriptors !== undefined && Atomics.load(this.#descriptors, 0) <= 0
  }

  /**
   * Counts a connection, or returns why it is refused: another thread may have reached the limit since `reasonToRefuse`
   * was read.
   */
  acquire(): ConnectionRefusal | undefined {
    if (this.isOutOfDescriptors || !this.#acquireOwn()) return this.#refusal
    const refusal = this.#parent?.acquire()
    if (refusal !== undefined) {
      this.#releaseOwn()
      return refusal
    }
    this.used += 1
    if (this.#descriptors !== undefined) Atomics.sub(this.#descriptors, 0, 1)
    return undefined
  }

  release(): void {
    this.used -= 1
    if (this.#descriptors !== undefined) Atomics.add(this.#descriptors, 0, 1)
    this.#releaseOwn()
    this.#parent?.release()
  }

  #acquireOwn(): boolean {
    const cells = this.#cells
    if (cells === undefined) return this.used < this.limit
    if (Atomics.add(cells, 0, 1) >= this.limit) {
      Atomics.sub(cells, 0, 1)
      return false
    }
    Atomics.add(cells, this.#own, 1)
    return true
  }

  #releaseOwn(): void {
    if (this.#cells === undefined) return
    Atomics.sub(this.#cells, this.#own, 1)
    Atomics.sub(this.#cells, 0, 1)
  }
}
