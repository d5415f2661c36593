// The memory that this core holds for clients, in bytes by use. The figures are estimates of what a client can make the
// broker store: payloads, names and filters count with their bytes, objects with a constant. They decide nothing by
// themselves. The driver compares their sum and the memory of the process with the limit of the node, and reports the level
// (`MemoryLevel`) to the core. Handlers check the level before they store more.
//
//   handlers -- add(use, bytes) --> cells (one shard's row, readable by other threads) --> driver --> level --> handlers

/** Each use is one column of the cells. */
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
 * `normal`: no restriction. `soft`: for large uses each client may have a quarter of its usual limit, so that the
 * largest users are refused more (0x97). `hard`: new sessions and subscriptions are refused, and clients must release
 * what exceeds a share that decreases while the level lasts.
 */
export type MemoryLevel = 'normal' | 'soft' | 'hard'

/** Index into the cells, for code where a look-up by name costs too much. */
export const memoryColumns = Object.fromEntries(memoryUses.map((use, column) => [use, column])) as Readonly<
  Record<MemoryUse, number>
>

/** Share of each byte limit of a client that remains at this level. */
const shares: Readonly<Record<MemoryLevel, number>> = { normal: 1, soft: 1 / 4, hard: 1 / 16 }
/** A use below this part of the total is not restricted. */
const largePart = 1 / 8

export class MemoryAccount {
  /** In the order of `memoryUses`; may be shared memory. */
  readonly cells: Float64Array
  /** `shareOf('queues')`, for the message path. */
  queuesShare = 1
  #level: MemoryLevel = 'normal'
  #step = 0
  /** In the order of `memoryUses`. */
  #shares: readonly number[] = memoryUses.map(() => 1)

  constructor(cells: Float64Array = new Float64Array(memoryUses.length)) {
    this.cells = cells
  }

  get level(): MemoryLevel {
    return this.#level
  }

  /** Number of consecutive earlier levels `hard`. */
  get step(): number {
    return this.#step
  }

  /** Share of a byte limit of one client: 1 at the level `normal`, and for small uses. */
  getShare(use: MemoryUse): number {
    return this.#shares[memoryColumns[use]]
  }

  /**
   * Sets the level; which uses are large is determined now. `step` counts consecutive `hard` levels from 0. Each one
   * halves the share of each client.
   */
  setLevel(level: MemoryLevel, step = 0): void {
    const share = level === 'hard' ? shares.hard / 2 ** step : shares[level]
    const large = this.totalBytes * largePart
    this.#level = level
    this.#step = step
    this.#shares = memoryUses.map((use) => (this.get(use) >= large ? share : 1))
    this.queuesShare = this.getShare('queues')
  }

  /** Adds bytes; a negative number subtracts bytes that were added before. */
  add(use: MemoryUse, bytes: number): void {
    this.cells[memoryColumns[use]] += bytes
  }

  /** Sets a use that is counted as a whole. */
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
