// The entries that an action queue has delivered and that have no final outcome.
//
//   add ──► waiting ──► sending ──► final outcome
//              ▲           │
//              └─ delayed ◄┘ refused

import type { ActionEntry } from '../../sinks/index.ts'
import type { DeliveredEntry } from './action-queue-client.ts'
import { WaitingEntries } from './waiting-entries.ts'

/** An entry that the action queue has delivered and that has no final outcome. */
export interface QueuedEntry {
  /** Identifies the entry until the action queue is opened again. Older entries have lower numbers. */
  readonly sequence: number
  readonly entry: ActionEntry
  /** What the sink sends for the entry. */
  readonly prepared: ActionEntry
  /** Number of times that the service refused the entry. */
  readonly refusals: number
  /** Why the entry was refused last. */
  readonly why: string
}

export interface AttemptedEntry extends QueuedEntry {
  readonly entry: DeliveredEntry
  readonly key: string | undefined
  refusals: number
  why: string
  /** The entry becomes a dead letter, unless the service has accepted it. */
  isDiscarded: boolean
}

export class AttemptedEntries {
  readonly waiting = new WaitingEntries<AttemptedEntry>()
  /** Refused entries that wait for their next attempt. */
  readonly #delayed = new Set<AttemptedEntry>()
  /** Batches that the sink is sending. */
  readonly #sending = new Set<readonly AttemptedEntry[]>()
  #inflight = 0
  #sequence = 0

  /** Number of entries that were sent and have no outcome yet. */
  get inflight(): number {
    return this.#inflight
  }

  /** Returns the next entry. It is in no list yet. */
  create(entry: DeliveredEntry, prepared: ActionEntry, key: string | undefined): AttemptedEntry {
    return { entry, prepared, sequence: ++this.#sequence, key, refusals: 0, why: '', isDiscarded: false }
  }

  startBatch(batch: readonly AttemptedEntry[]): void {
    this.#sending.add(batch)
    this.#inflight += batch.length
  }

  /** The service has responded. The entries of the batch are in no list. */
  endBatch(batch: readonly AttemptedEntry[]): void {
    this.#sending.delete(batch)
    this.#inflight -= batch.length
    this.waiting.release(batch)
  }

  delay(attempted: AttemptedEntry): void {
    this.#delayed.add(attempted)
  }

  /** Returns false if the entry is not delayed any more. */
  endDelay(attempted: AttemptedEntry): boolean {
    return this.#delayed.delete(attempted)
  }

  listOldest(maxEntries: number): readonly AttemptedEntry[] {
    const all = [...[...this.#sending].flat(), ...this.#delayed, ...this.waiting.all]
    return all
      .filter(({ isDiscarded }) => !isDiscarded)
      .toSorted((one, other) => one.sequence - other.sequence)
      .slice(0, maxEntries)
  }

  /**
   * Marks one of the oldest entries, or all of them, as discarded. Returns their number, and those that are in no list any more: the others
   * are with the service at this time.
   */
  discard(
    sequence: number | undefined,
    why: string,
    maxEntries: number,
  ): { readonly count: number; readonly removed: readonly AttemptedEntry[] } {
    const found = this.listOldest(maxEntries).filter((entry) => sequence === undefined || entry.sequence === sequence)
    const sending = new Set([...this.#sending].flat())
    const removed = found.filter((entry) => !sending.has(entry))
    this.waiting.remove(new Set(removed.filter((entry) => !this.#delayed.delete(entry))))
    for (const attempted of found) {
      attempted.isDiscarded = true
      markRefused(attempted, why)
    }
    return { count: found.length, removed }
  }

  clear(): void {
    this.waiting.clear()
    this.#delayed.clear()
    this.#sending.clear()
    this.#inflight = 0
  }
}

/** The entry is not sent again, also if its dead letter cannot be stored yet. */
export function markRefused(attempted: AttemptedEntry, why: string): void {
  attempted.refusals = Number.POSITIVE_INFINITY
  attempted.why = why
}
