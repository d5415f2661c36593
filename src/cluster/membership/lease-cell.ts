// The lease of the node in memory that all its threads share: the main thread writes it, each shard reads it before it decides.
//
//   | monotonic until | wall from | wall until |     microseconds, 8 bytes each
//
// A reader can see fields of two leases. A later lease has later times, so the earlier end of both counts; a lease that was taken away
// has zeros.

import { type Instant, isLeaseHeld, type Lease } from './lease.ts'

const fields = 3
const microsecondsPerMs = 1_000

export class LeaseCell {
  readonly buffer: SharedArrayBuffer
  readonly #words: BigInt64Array

  /** `buffer`: of the cell that another thread has created; undefined: a new one, without a lease. */
  constructor(buffer?: SharedArrayBuffer) {
    this.buffer = buffer ?? new SharedArrayBuffer(fields * BigInt64Array.BYTES_PER_ELEMENT)
    this.#words = new BigInt64Array(this.buffer)
  }

  write(lease: Lease | undefined): void {
    const times = lease === undefined ? [0, 0, 0] : [lease.monotonicUntilMs, lease.wallFromMs, lease.wallUntilMs]
    times.forEach((timeMs, index) => Atomics.store(this.#words, index, BigInt(Math.floor(timeMs * microsecondsPerMs))))
  }

  isHeld(now: Instant): boolean {
    const [monotonicUntilMs = 0, wallFromMs = 0, wallUntilMs = 0] = [0, 1, 2].map(
      (index) => Number(Atomics.load(this.#words, index)) / microsecondsPerMs,
    )
    return isLeaseHeld({ monotonicUntilMs, wallFromMs, wallUntilMs }, now)
  }
}
