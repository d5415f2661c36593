// Deadlines in a binary heap by time: the next one is always known, and none needs a timer. Each subject has at most one
// deadline of each kind, so a client that reconnects a thousand times leaves no entries.
//
//   entries: keep-alive: connection -> entry        heap:          5
//            session-expiry: client id -> entry                 9     7      a parent is never later than its
//            ...                                              12 11  8       children; equal times keep their
//                                                                            order of insertion
//   Each entry knows its index in the heap, so it can be moved or removed from there.

import type { Connection } from './connection.ts'

export type DeadlineKind =
  | 'idle-timeout'
  | 'close-drain'
  | 'takeover-wait'
  | 'keep-alive'
  | 'identity-expiry'
  | 'rate'
  | 'deliveries-rate'
  | 'reauthentication'
  | 'session-expiry'
  | 'will-due'
  | 'delayed-due'
  | 'retry'
  | 'retained-expiry'
  | 'ended-session-queue'
  | 'expire-received-ids'

/** A connection, a client ID or a topic, depending on the kind. */
export type DeadlineSubject = Connection | string

export interface Deadline<Kind = DeadlineKind, Subject = DeadlineSubject> {
  readonly atMs: number
  readonly kind: Kind
  readonly subject: Subject
}

interface Entry<Kind, Subject> extends Deadline<Kind, Subject> {
  atMs: number
  order: number
  index: number
}

/** The deadlines of a core, or of another component with many deadlines. */
export class Deadlines<Kind extends string = DeadlineKind, Subject = DeadlineSubject> {
  readonly #heap: Entry<Kind, Subject>[] = []
  readonly #places = new Map<Kind, Map<Subject, Entry<Kind, Subject>>>()
  #order = 0

  get size(): number {
    return this.#heap.length
  }

  /** The earliest time; Infinity if there is none. */
  findNextMs(): number {
    return this.#heap.length === 0 ? Infinity : this.#heap[0].atMs
  }

  /** Replaces the deadline of this kind and subject. */
  set(kind: Kind, subject: Subject, atMs: number): void {
    const place = this.#ensureEntries(kind)
    const known = place.get(subject)
    if (known !== undefined) {
      known.atMs = atMs
      known.order = this.#order++
      this.#restoreHeapOrder(known)
      return
    }
    const entry: Entry<Kind, Subject> = { atMs, kind, subject, order: this.#order++, index: this.#heap.length }
    place.set(subject, entry)
    this.#heap.push(entry)
    this.#siftUp(entry)
  }

  cancel(kind: Kind, subject: Subject): void {
    const entry = this.#places.get(kind)?.get(subject)
    if (entry !== undefined) this.#takeOut(entry)
  }

  /** Returns and removes the first deadline that is due, or undefined. */
  takeDue(nowMs: number): Deadline<Kind, Subject> | undefined {
    const first = this.#heap.at(0)
    if (first === undefined || first.atMs > nowMs) return undefined
    this.#takeOut(first)
    return first
  }

  #ensureEntries(kind: Kind): Map<Subject, Entry<Kind, Subject>> {
    let place = this.#places.get(kind)
    if (place === undefined) {
      place = new Map()
      this.#places.set(kind, place)
    }
    return place
  }

  #takeOut(entry: Entry<Kind, Subject>): void {
    this.#places.get(entry.kind)?.delete(entry.subject)
    const last = this.#heap.pop()
    if (last === undefined || last === entry) return
    this.#putEntry(entry.index, last)
    this.#restoreHeapOrder(last)
  }

  #restoreHeapOrder(entry: Entry<Kind, Subject>): void {
    this.#siftUp(entry)
    this.#siftDown(entry)
  }

  #siftUp(entry: Entry<Kind, Subject>): void {
    while (entry.index > 0) {
      const parent = this.#heap[(entry.index - 1) >> 1]
      if (isBefore(parent, entry)) return
      this.#swap(parent, entry)
    }
  }

  #siftDown(entry: Entry<Kind, Subject>): void {
    const heap = this.#heap
    for (;;) {
      let first = entry
      const left = 2 * entry.index + 1
      if (left < heap.length && isBefore(heap[left], first)) first = heap[left]
      if (left + 1 < heap.length && isBefore(heap[left + 1], first)) first = heap[left + 1]
      if (first === entry) return
      this.#swap(entry, first)
    }
  }

  #swap(a: Entry<Kind, Subject>, b: Entry<Kind, Subject>): void {
    const index = a.index
    this.#putEntry(b.index, a)
    this.#putEntry(index, b)
  }

  #putEntry(index: number, entry: Entry<Kind, Subject>): void {
    this.#heap[index] = entry
    entry.index = index
  }
}

function isBefore(a: Entry<unknown, unknown>, b: Entry<unknown, unknown>): boolean {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order)
}
