// Payloads that outlive the chunk in which they were received: copied for queues, or stored once for several sessions.

import { BufferPool } from '../messages/buffer-pool.ts'
import { PayloadRefcounts } from '../messages/payload-refcounts.ts'
import type { ShardPlace } from '../model/peer-messages.ts'
import type { FactRecord } from '../../records/index.ts'

const reservationPrefix = 'payload-ids-'
/** So many payloads of a shard are stored between two writes of a reservation. */
const reservedIds = 4_096

export class StoredPayloads {
  /** Buffers for copies. */
  readonly buffers = new BufferPool()
  readonly refcounts = new PayloadRefcounts()
  readonly #shard: ShardPlace
  #lastId: number
  /** The highest ID that may be used before the next reservation. */
  #reservedUpTo = 0

  constructor(shard: ShardPlace) {
    this.#shard = shard
    this.#lastId = shard.own
  }

  /** Each shard uses its own IDs: own + count, own + 2 * count, ... */
  nextId(): number {
    this.#lastId += this.#shard.count
    return this.#lastId
  }

  /**
   * Returns the fact to store with the last ID, if it is the first of a new reservation. The highest payloads may be lost
   * while queued records still refer to them, so stored payloads do not show which IDs were used.
   */
  takeReservation(): FactRecord | undefined {
    const { own, count } = this.#shard
    if (this.#lastId <= this.#reservedUpTo) return undefined
    this.#reservedUpTo = this.#lastId + reservedIds * count
    return { kind: 'fact', name: `${reservationPrefix}${own}`, value: String(this.#reservedUpTo) }
  }

  /** Restores a reservation of this or another shard. Other facts are ignored. */
  restoreReservation({ name, value }: FactRecord): void {
    const upTo = Number(value)
    if (name.startsWith(reservationPrefix) && Number.isSafeInteger(upTo)) this.recordIdsUsedUpTo(upTo)
  }

  /** IDs up to `payloadId` are in use since before a restart. */
  recordIdsUsedUpTo(payloadId: number): void {
    const { own, count } = this.#shard
    // The largest ID of this shard that is at most `payloadId`.
    const lastOwnId = payloadId - ((((payloadId - own) % count) + count) % count)
    this.#lastId = Math.max(this.#lastId, lastOwnId)
  }
}
