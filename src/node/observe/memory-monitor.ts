// How short the memory of this process is, looked at twenty times a second, and told to the shards:
//
//   normal --3/4 of the limit--> (collect garbage) --still--> soft --9/10--> hard
//          <-------- below 7/10 ------------------------------      <-- below 17/20 --
//
// What counts is what the process has and the system cannot take back by itself: resident memory without pages of files. The
// heap of each shard has a limit of its own, at which V8 would end the thread, so its part of that counts as well. Memory
// contains garbage, so garbage is collected before anything is taken from a client.

import type { MemoryLevel } from '../../core/index.ts'
import type { Alarms } from './alarms.ts'

export const lookIntervalMs = 50
const parts = { soft: 0.75, softEnds: 0.7, hard: 0.9, hardEnds: 0.85 } as const
/** For a collection to be made, and for what is left to be seen: heaps are told of once a second. */
const collectionMs = 2_500
/** So often garbage is collected at the level `normal`. While memory is short it is each time that the shards are told. */
const collectionIntervalMs = 10_000
/** While memory is short the shards are told again. A shard bounds by itself how much of its time collections take. */
const tellIntervalMs = 1_000
const bytesPerMib = 1_048_576

export interface MemoryReading {
  /** Of the process, without pages of files. */
  readonly residentBytes: number
  /** Of each shard. */
  readonly heapBytes: readonly number[]
}

export interface MemoryNews {
  readonly level: MemoryLevel
  /** How often in a row `hard` has been told before. */
  readonly step: number
  readonly collects: boolean
}

export interface MemoryWatchOptions {
  readonly limitBytes: number
  /** At which V8 ends a shard. */
  readonly maxHeapBytes: number
  read(): MemoryReading
  /** To all shards. */
  tell(news: MemoryNews): void
  /** What most of it is held for, and by whom, in words. */
  largest(): Promise<string>
  readonly alarms: Pick<Alarms, 'raise' | 'over'>
  readonly nowMs?: () => number
}

export class MemoryWatch {
  readonly #options: MemoryWatchOptions
  readonly #nowMs: () => number
  #level: MemoryLevel = 'normal'
  #step = 0
  #collectedAtMs = -Infinity
  #toldAtMs = -Infinity
  #announced: Promise<unknown> = Promise.resolve()

  constructor(options: MemoryWatchOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  get level(): MemoryLevel {
    return this.#level
  }

  get limitBytes(): number {
    return this.#options.limitBytes
  }

  /** Every `lookIntervalMs`. */
  look(): void {
    const reading = this.#options.read()
    const part = this.#partOf(reading)
    const nowMs = this.#nowMs()
    const before = this.#level
    this.#level = this.#levelAt(part, nowMs)
    const isDue = this.#level !== 'normal' && nowMs - this.#toldAtMs >= tellIntervalMs
    if (this.#level !== 'hard' || before !== 'hard') this.#step = 0
    else if (isDue) this.#step++
    const isToCollect = part >= parts.soft && nowMs - this.#collectedAtMs >= collectionIntervalMs
    const collects = isToCollect || isDue
    if (collects) this.#collectedAtMs = nowMs
    if (this.#level !== before || isDue || collects) this.#tell(nowMs, collects)
    if (this.#level !== before) this.#announce(reading)
  }

  #partOf({ residentBytes, heapBytes }: MemoryReading): number {
    const { limitBytes, maxHeapBytes } = this.#options
    return Math.max(residentBytes / limitBytes, ...heapBytes.map((bytes) => bytes / maxHeapBytes))
  }

  #levelAt(part: number, nowMs: number): MemoryLevel {
    if (part >= (this.#level === 'hard' ? parts.hardEnds : parts.hard)) return 'hard'
    if (this.#level !== 'normal') return part >= parts.softEnds ? 'soft' : 'normal'
    // Garbage is collected first, and what is left after that counts.
    const sinceCollectionMs = nowMs - this.#collectedAtMs
    const isCollected = sinceCollectionMs >= collectionMs && sinceCollectionMs < collectionIntervalMs
    return part >= parts.soft && isCollected ? 'soft' : 'normal'
  }

  #tell(nowMs: number, collects: boolean): void {
    this.#options.tell({ level: this.#level, step: this.#step, collects })
    this.#toldAtMs = nowMs
  }

  /**
   * Who holds most of it is asked of the shards, and they may take a while. Alarms follow each other in the order of the levels,
   * so one of a short while is in the log too.
   */
  #announce(reading: MemoryReading): void {
    const { alarms, limitBytes } = this.#options
    const level = this.#level
    const largest = level === 'normal' ? undefined : this.#options.largest()
    const used = `${mib(reading.residentBytes)} of ${mib(limitBytes)} (node.memory_limit)`
    this.#announced = Promise.all([largest, this.#announced]).then(([users]) => {
      if (users === undefined) alarms.over('memory', 'there is enough memory again')
      else alarms.raise('memory', `the memory is short (${level}): ${used}; ${users}`)
    })
  }
}

export function mib(bytes: number): string {
  return `${Math.round(bytes / bytesPerMib)} MiB`
}
