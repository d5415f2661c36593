// What is to happen at a time: a binary heap by time, so that the next deadline is always at hand and none costs a
// timer of its own.
//
//             5
//          9     7        the parent is never later than its children; equal times leave in the order of coming
//        12 11  8
//
// An entry is never taken out early: what it was for may have changed, and whoever is called looks again. So each
// connection and session keeps few entries, and setting a later deadline costs nothing until the earlier one is due.

import type { Connection } from './connection.ts'

export type DeadlineKind =
  | 'idle-timeout'
  | 'keep-alive'
  | 'session-expiry'
  | 'will-due'
  | 'retry'
  | 'await-release'
  | 'retained-expiry'
  | 'clock-record'

export interface Deadline {
  readonly atMs: number
  readonly order: number
  readonly kind: DeadlineKind
  /** A connection, a client id or a topic, as the kind says. */
  readonly subject: Connection | string
}

export class Deadlines {
  readonly #heap: Deadline[] = []
  #order = 0

  get size(): number {
    return this.#heap.length
  }

  /** Infinity when there is none. */
  nextMs(): number {
    return this.#heap.length === 0 ? Infinity : this.#heap[0].atMs
  }

  add(atMs: number, kind: DeadlineKind, subject: Connection | string): void {
    const heap = this.#heap
    heap.push({ atMs, order: this.#order++, kind, subject })
    let index = heap.length - 1
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (isBefore(heap[parent], heap[index])) break
      swap(heap, parent, index)
      index = parent
    }
  }

  /** The first entry that is due, or undefined. */
  takeDue(nowMs: number): Deadline | undefined {
    const heap = this.#heap
    if (heap.length === 0 || heap[0].atMs > nowMs) return undefined
    const first = heap[0]
    const last = heap.pop()
    if (last !== undefined && heap.length > 0) {
      heap[0] = last
      this.#sink()
    }
    return first
  }

  #sink(): void {
    const heap = this.#heap
    let index = 0
    for (;;) {
      let least = index
      for (const child of [2 * index + 1, 2 * index + 2]) {
        if (child < heap.length && isBefore(heap[child], heap[least])) least = child
      }
      if (least === index) return
      swap(heap, least, index)
      index = least
    }
  }
}

function isBefore(a: Deadline, b: Deadline): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}

function swap(heap: Deadline[], a: number, b: number): void {
  const held = heap[a]
  heap[a] = heap[b]
  heap[b] = held
}
