// Places for connections. Those of one thread are a number; those that the threads of a node share are cells in shared
// memory:
//
//   taken by all | by thread 0 | by thread 1 | ...     what a thread had that died is given back by who watches it
//
// A place of a listener may be one of a larger budget as well.
//
// Other parts of the process take descriptors, too. How many are left for connections is looked up now and then by who can
// count them, and each place takes one off until then.

import type { ConnectionRefusal } from './byte-stream.ts'

/** Made by `createSharedPlaces`; `own` is the thread's number. */
export interface ConnectionSlots {
  readonly cells: SharedArrayBuffer
  readonly own: number
}

/** Shared memory for the places that so many threads take of one budget. */
export function createSharedSlots(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + threads) * Int32Array.BYTES_PER_ELEMENT)
}

/** By all threads together. */
export function usedSlots(cells: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(cells), 0)
}

/** The thread has ended, and its connections with it. */
export function freeSharedSlots({ cells, own }: ConnectionSlots): void {
  const counts = new Int32Array(cells)
  Atomics.sub(counts, 0, Atomics.exchange(counts, 1 + own, 0))
}

/** Shared memory for the number of descriptors that connections may still take; not counted yet. */
export function createDescriptorCounter(): SharedArrayBuffer {
  const room = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
  setFreeDescriptors(room, unlimited)
  return room
}

/** They have been counted. */
export function setFreeDescriptors(room: SharedArrayBuffer, left: number): void {
  Atomics.store(new Int32Array(room), 0, Math.min(Math.max(left, 0), unlimited))
}

/** Far from where counting up and down would come to an end. */
const unlimited = 0x3fff_ffff

export interface ConnectionLimitOptions {
  /** Threads that share this budget. */
  readonly places?: ConnectionSlots
  /** Made by `createDescriptorRoom`: connections are refused if none is left. */
  readonly descriptorRoom?: SharedArrayBuffer
  /** Each place is taken there, too. */
  readonly parent?: ConnectionLimit
  /** What is said when this one is spent. */
  readonly refusal?: ConnectionRefusal
}

/** Connections that several listeners may hold together: the open-file limit and `limits.max_connections` are such. */
export class ConnectionLimit {
  /** Who has come in stays in where it becomes smaller. */
  limit: number
  /** By this thread. */
  used: number
  readonly #refusal: ConnectionRefusal
  readonly #parent: ConnectionLimit | undefined
  readonly #cells: Int32Array | undefined
  readonly #own: number
  readonly #descriptors: Int32Array | undefined

  constructor(limit: number, { places, descriptorRoom, parent, refusal = 'no-room' }: ConnectionLimitOptions = {}) {
    this.limit = limit
    this.used = 0
    this.#refusal = refusal
    this.#parent = parent
    this.#cells = places === undefined ? undefined : new Int32Array(places.cells)
    this.#own = places === undefined ? 0 : 1 + places.own
    this.#descriptors = descriptorRoom === undefined ? undefined : new Int32Array(descriptorRoom)
  }

  /** Why connections are refused now; undefined: they are accepted. */
  get reasonToRefuse(): ConnectionRefusal | undefined {
    const used = this.#cells === undefined ? this.used : Atomics.load(this.#cells, 0)
    return used >= this.limit || this.isOutOfDescriptors ? this.#refusal : this.#parent?.reasonToRefuse
  }

  get isOutOfDescriptors(): boolean {
    return this.#descriptors !== undefined && Atomics.load(this.#descriptors, 0) <= 0
  }

  /** Takes a place, or says why there is none: another thread may have taken the last one since `lack` was asked. */
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
