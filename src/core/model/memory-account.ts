// What this core holds in memory for clients, in bytes by use. The figures are estimates that grow with what a client can make
// the broker hold: payloads, names and filters count with their bytes, objects with a constant. They decide nothing by
// themselves. The driver compares their sum, and what the process really takes, with the limit of the node and tells the core
// the level (`MemoryLevel`); handlers ask for the level where they would hold more.
//
//   handlers -- add(use, bytes) --> cells (one shard's row, readable by other threads) --> driver --> level --> handlers

/** A column each. */
export const memoryUses = [
  'topics',
  'aliases',
  'filters',
  'sessions',
  'queues',
  'wills',
  'retained',
  'peers',
  'packets',
  'buffers',
] as const

export type MemoryUse = (typeof memoryUses)[number]

/**
 * `normal`: no restriction. `soft`: of uses that take a large part of the memory each client may have a quarter of what it may
 * have else, so that the largest users are refused more (0x97). `hard`: new sessions and subscriptions are refused, and what
 * clients hold beyond a share that becomes smaller while the level lasts is taken from them.
 */
export type MemoryLevel = 'normal' | 'soft' | 'hard'

/** Index with `memoryColumns` where a look-up by name would cost too much. */
export const memoryColumns = Object.fromEntries(memoryUses.map((use, column) => [use, column])) as Readonly<
  Record<MemoryUse, number>
>

/** What of a byte limit of one client holds at this level. */
const shares: Readonly<Record<MemoryLevel, number>> = { normal: 1, soft: 1 / 4, hard: 1 / 16 }
/** A use of less than this part of all is no reason to take something from a client. */
const largePart = 1 / 8

export class MemoryAccount {
  /** By the order of `memoryUses`; may lie in shared memory. */
  readonly cells: Float64Array
  /** `shareOf('queues')`, for the way of every message. */
  queuesShare = 1
  #level: MemoryLevel = 'normal'
  #step = 0
  /** By the order of `memoryUses`. */
  #shares: readonly number[] = memoryUses.map(() => 1)

  constructor(cells: Float64Array = new Float64Array(memoryUses.length)) {
    this.cells = cells
  }

  get level(): MemoryLevel {
    return this.#level
  }

  /** How often in a row the level has been `hard` before. */
  get step(): number {
    return this.#step
  }

  /** Of a byte limit of one client: 1 at the level `normal`, and where the use is small. */
  shareOf(use: MemoryUse): number {
    return this.#shares[memoryColumns[use]]
  }

  /**
   * Which uses are large is as it is now. `step`: how often in a row the level `hard` has been found, from 0 on. Each time half
   * as much is left to each client.
   */
  setLevel(level: MemoryLevel, step = 0): void {
    const share = level === 'hard' ? shares.hard / 2 ** step : shares[level]
    const large = this.totalBytes * largePart
    this.#level = level
    this.#step = step
    this.#shares = memoryUses.map((use) => (this.get(use) >= large ? share : 1))
    this.queuesShare = this.shareOf('queues')
  }

  /** `bytes` may be negative: what was added before is given back. */
  add(use: MemoryUse, bytes: number): void {
    this.cells[memoryColumns[use]] += bytes
  }

  /** Of what is counted as a whole. */
  set(use: MemoryUse, bytes: number): void {
    this.cells[memoryColumns[use]] = bytes
  }

  get(use: MemoryUse): number {
    return this.cells[memoryColumns[use]]
  }

  get totalBytes(): number {
    return this.cells.reduce((sum, bytes) => sum + bytes, 0)
  }
}
