// Places for connections. Those of one thread are a number; those that the threads of a node share are cells in shared
// memory:
//
//   taken by all | by thread 0 | by thread 1 | ...     what a thread had that died is given back by who watches it
//
// A place of a listener may be one of a larger budget as well.

import type { DoorRefusal } from './byte-stream.ts'

/** Made by `createSharedPlaces`; `own` is the thread's number. */
export interface SharedPlaces {
  readonly cells: SharedArrayBuffer
  readonly own: number
}

/** Shared memory for the places that so many threads take of one budget. */
export function createSharedPlaces(threads: number): SharedArrayBuffer {
  return new SharedArrayBuffer((1 + threads) * Int32Array.BYTES_PER_ELEMENT)
}

/** By all threads together. */
export function takenPlaces(cells: SharedArrayBuffer): number {
  return Atomics.load(new Int32Array(cells), 0)
}

/** The thread has ended, and its connections with it. */
export function freeSharedPlaces({ cells, own }: SharedPlaces): void {
  const counts = new Int32Array(cells)
  Atomics.sub(counts, 0, Atomics.exchange(counts, 1 + own, 0))
}

export interface BudgetOptions {
  /** Threads that share this budget. */
  readonly places?: SharedPlaces
  /** Each place is taken there, too. */
  readonly within?: ConnectionBudget
  /** What is said when this one is spent. */
  readonly refusal?: DoorRefusal
}

/** Connections that several listeners may hold together: the open-file limit and `limits.max_connections` are such. */
export class ConnectionBudget {
  /** Who has come in stays in where it becomes smaller. */
  limit: number
  /** By this thread. */
  taken: number
  readonly #refusal: DoorRefusal
  readonly #within: ConnectionBudget | undefined
  readonly #cells: Int32Array | undefined
  readonly #own: number

  constructor(limit: number, { places, within, refusal = 'no-room' }: BudgetOptions = {}) {
    this.limit = limit
    this.taken = 0
    this.#refusal = refusal
    this.#within = within
    this.#cells = places === undefined ? undefined : new Int32Array(places.cells)
    this.#own = places === undefined ? 0 : 1 + places.own
  }

  /** Why nobody can be let in now; undefined: there is room. */
  get lack(): DoorRefusal | undefined {
    const taken = this.#cells === undefined ? this.taken : Atomics.load(this.#cells, 0)
    return taken >= this.limit ? this.#refusal : this.#within?.lack
  }

  /** Takes a place, or says why there is none: another thread may have taken the last one since `lack` was asked. */
  take(): DoorRefusal | undefined {
    if (!this.#takeHere()) return this.#refusal
    const refusal = this.#within?.take()
    if (refusal === undefined) this.taken += 1
    else this.#giveBackHere()
    return refusal
  }

  giveBack(): void {
    this.taken -= 1
    this.#giveBackHere()
    this.#within?.giveBack()
  }

  #takeHere(): boolean {
    const cells = this.#cells
    if (cells === undefined) return this.taken < this.limit
    if (Atomics.add(cells, 0, 1) >= this.limit) {
      Atomics.sub(cells, 0, 1)
      return false
    }
    Atomics.add(cells, this.#own, 1)
    return true
  }

  #giveBackHere(): void {
    if (this.#cells === undefined) return
    Atomics.sub(this.#cells, this.#own, 1)
    Atomics.sub(this.#cells, 0, 1)
  }
}
