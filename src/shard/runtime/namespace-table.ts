// Counters and limits of the namespaces of a node, in memory that all threads share:
//
//   Int32  default limits: clients, retained messages, messages per second
//          a slot for each namespace: own limits (3) | clients, retained messages of all shards | those of shard 0 | of shard 1 ...
//   Int64  a slot for each namespace: its name, as a digest | time at which its token bucket is full again
//
// A namespace gets its slot when it is first used. Namespaces without a free slot share the last one, and its limits. The supervisor
// returns what a failed shard had counted.
//
// The bucket holds the messages of one second, see `RateLimiter`: the shards share only one time value.

import { createHash } from 'node:crypto'
import type { NamespaceQuotas } from '../../core/index.ts'

export interface NamespaceLimits {
  /** Connected at the same time; undefined: no limit. */
  readonly clients: number | undefined
  readonly retainedMessages: number | undefined
  /** Maximum messages per second of all clients together. */
  readonly messagesPerSecond: number | undefined
}

/** Limits of one namespace that differ from the default. */
export type OwnNamespaceLimits = { readonly [Name in keyof NamespaceLimits]: number | 'infinity' | undefined }

export interface NamespaceCounts {
  readonly clients: number
  readonly retainedMessages: number
}

const slots = 16_384
const limitNames = ['clients', 'retainedMessages', 'messagesPerSecond'] as const
const limitCells = limitNames.length
const countCells = 2
const [countedClients, countedRetained] = [0, 1]
const [clientsLimit, retainedLimit, rateLimit] = [0, 1, 2]
/** Special values of a limit. */
const [asUsual, noLimit] = [0, -1]

const smallestRefillMs = 50
/** Maximum wait of a client, whatever was published. */
const maxWaitUs = 60_000_000
const usPerMs = 1_000
const usPerSecond = 1_000_000

/** Creates shared memory for the namespaces of this number of shards, without limits. */
export function createNamespaceTable(shards: number): SharedArrayBuffer {
  return new SharedArrayBuffer(computeLayout(shards).bytes)
}

function computeLayout(shards: number): { readonly slotCells: number; readonly bytes: number } {
  const slotCells = limitCells + countCells * (1 + shards)
  const wide = 2 * slots * BigInt64Array.BYTES_PER_ELEMENT
  return { slotCells, bytes: wide + (limitCells + slots * slotCells) * Int32Array.BYTES_PER_ELEMENT }
}

export class NamespaceTable implements NamespaceQuotas {
  readonly #wide: BigInt64Array
  readonly #cells: Int32Array
  readonly #slotCells: number
  readonly #own: number
  readonly #known = new Map<string, number>()

  /** `own`: the number of the counting shard; undefined: only reads and sets limits. */
  constructor(table: SharedArrayBuffer, { shards, own }: { readonly shards: number; readonly own?: number }) {
    this.#wide = new BigInt64Array(table, 0, 2 * slots)
    this.#cells = new Int32Array(table, this.#wide.byteLength)
    this.#slotCells = computeLayout(shards).slotCells
    this.#own = own ?? -1
  }

  takeClient(namespace: string, isInPlaceOfAnother: boolean): boolean {
    const slot = this.#ensureSlot(namespace)
    const taken = this.#addToCount(slot, countedClients, 1)
    if (isInPlaceOfAnother || taken <= this.#readLimit(slot, clientsLimit)) return true
    this.#addToCount(slot, countedClients, -1)
    return false
  }

  releaseClient(namespace: string): void {
    this.#addToCount(this.#ensureSlot(namespace), countedClients, -1)
  }

  allowsRetained(namespace: string): boolean {
    const slot = this.#ensureSlot(namespace)
    return (
      Atomics.load(this.#cells, this.#computeCountOffset(slot, countedRetained)) < this.#readLimit(slot, retainedLimit)
    )
  }

  countRetained(namespace: string, change: 1 | -1): void {
    this.#addToCount(this.#ensureSlot(namespace), countedRetained, change)
  }

  takeMessage(namespace: string, nowMs: number): number {
    const slot = this.#ensureSlot(namespace)
    const perSecond = this.#readLimit(slot, rateLimit)
    if (perSecond === Infinity) return 0
    const nowUs = Math.floor(nowMs * usPerMs)
    const stepUs = Math.ceil(usPerSecond / perSecond)
    const at = 2 * slot + 1
    for (;;) {
      const before = Atomics.load(this.#wide, at)
      const dryAtUs = Math.min(Math.max(Number(before), nowUs) + stepUs, nowUs + usPerSecond + maxWaitUs)
      if (Atomics.compareExchange(this.#wide, at, before, BigInt(dryAtUs)) !== before) continue
      const waitUs = dryAtUs - nowUs - usPerSecond
      return waitUs <= 0 ? 0 : waitUs / usPerMs + smallestRefillMs
    }
  }

  readCounts(namespace: string): NamespaceCounts {
    const slot = this.#ensureSlot(namespace)
    const readCount = (cell: number): number => Atomics.load(this.#cells, this.#computeCountOffset(slot, cell))
    return { clients: readCount(countedClients), retainedMessages: readCount(countedRetained) }
  }

  /** For every namespace without its own limits. */
  setUsualLimits(limits: NamespaceLimits): void {
    for (const [place, name] of limitNames.entries())
      Atomics.store(this.#cells, place, encodeLimit(limits[name] ?? 'infinity'))
  }

  setOwnLimits(namespace: string, limits: OwnNamespaceLimits): void {
    const first = this.#computeSlotOffset(this.#ensureSlot(namespace))
    for (const [place, name] of limitNames.entries())
      Atomics.store(this.#cells, first + place, encodeLimit(limits[name]))
  }

  /** The thread of a shard has ended: its counts are removed. */
  freeShard(shard: number): void {
    for (let slot = 0; slot < slots; slot++) {
      for (let what = 0; what < countCells; what++) {
        const had = Atomics.exchange(this.#cells, this.#computeCountOffset(slot, what, shard), 0)
        if (had !== 0) Atomics.sub(this.#cells, this.#computeCountOffset(slot, what), had)
      }
    }
  }

  #addToCount(slot: number, cell: number, change: 1 | -1): number {
    if (this.#own >= 0) Atomics.add(this.#cells, this.#computeCountOffset(slot, cell, this.#own), change)
    return Atomics.add(this.#cells, this.#computeCountOffset(slot, cell), change) + change
  }

  #readLimit(slot: number, which: number): number {
    const own = Atomics.load(this.#cells, this.#computeSlotOffset(slot) + which)
    const limit = own === asUsual ? Atomics.load(this.#cells, which) : own
    return limit === noLimit || limit === asUsual ? Infinity : limit
  }

  #computeSlotOffset(slot: number): number {
    return limitCells + slot * this.#slotCells
  }

  /** `shard` undefined: the total. */
  #computeCountOffset(slot: number, cell: number, shard = -1): number {
    return this.#computeSlotOffset(slot) + limitCells + countCells * (1 + shard) + cell
  }

  #ensureSlot(namespace: string): number {
    const known = this.#known.get(namespace)
    if (known !== undefined) return known
    const name = computeDigest(namespace)
    const last = slots - 1
    for (let step = 0, slot = Number(BigInt.asUintN(32, name)) % last; step < last; step++, slot = (slot + 1) % last) {
      const before = Atomics.compareExchange(this.#wide, 2 * slot, 0n, name)
      if (before !== 0n && before !== name) continue
      this.#known.set(namespace, slot)
      return slot
    }
    return last
  }
}

function encodeLimit(limit: number | 'infinity' | undefined): number {
  return limit === undefined ? asUsual : limit === 'infinity' ? noLimit : limit
}

/** Never 0, which marks a free slot. */
function computeDigest(namespace: string): bigint {
  return createHash('sha256').update(namespace).digest().readBigInt64BE() | 1n
}
