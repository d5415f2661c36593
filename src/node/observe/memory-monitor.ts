// Determines the memory level of this process twenty times per second, and sends it to the shards:
//
//   normal --7/10 of the limit--> (collect garbage) --still--> soft --8/10--> hard
//          <-------- below 13/20 ------------------------------      <-- below 3/4 --
//
// It counts memory that the system cannot reclaim: resident memory without pages of files. The heap of each shard has a limit of its own, at
// which V8 ends the thread, so the used part of that limit counts as well. Memory contains garbage, so garbage is collected before clients are
// restricted.

import type { MemoryLevel } from '../../core/index.ts'
import type { Alarms } from './raised-alarms.ts'

export const lookIntervalMs = 50
const parts = { soft: 0.7, softEnds: 0.65, hard: 0.8, hardEnds: 0.75 } as const
/** Time for a collection and its effect: heap sizes are reported once per second. */
const collectionMs = 2_500
/**
 * Intervals of collections. A shard itself limits the time for them. At the level `hard`, memory grows mostly by garbage of refused clients:
 * 1,000 refused clients per second leave up to 180 MB.
 */
const collectionIntervalsMs = { normal: 10_000, soft: 1_000, hard: 250 } as const
/** Time within which all threads collect garbage, one after the other. */
export const shortestCollectionIntervalMs = collectionIntervalsMs.hard
/** Interval of messages to the shards while memory is short. */
const sendIntervalMs = 1_000
const bytesPerMib = 1_048_576

export interface MemoryReading {
  /** Resident memory of the process, without pages of files. */
  readonly residentBytes: number
  /** Size of the heap of each shard. */
  readonly heapBytes: readonly number[]
}

export interface MemoryChange {
  readonly level: MemoryLevel
  /** Number of consecutive earlier `hard` levels. */
  readonly step: number
}

export interface MemoryMonitorOptions {
  readonly limitBytes: number
  /** Heap size at which V8 ends a shard. */
  readonly maxHeapBytes: number
  read(): MemoryReading
  /** Sends the level to all shards. */
  sendToShards(news: MemoryChange): void
  /** Collects garbage in all threads. */
  collect(): void
  /** Returns the largest uses and their clients, as text. */
  describeLargest(): Promise<string>
  readonly alarms: Pick<Alarms, 'raise' | 'end'>
  readonly nowMs?: () => number
}

export class MemoryMonitor {
  readonly #options: MemoryMonitorOptions
  readonly #nowMs: () => number
  #level: MemoryLevel = 'normal'
  #step = 0
  #collectedAtMs = -Infinity
  #sentAtMs = -Infinity
  #announced: Promise<unknown> = Promise.resolve()

  constructor(options: MemoryMonitorOptions) {
    this.#options = options
    this.#nowMs = options.nowMs ?? (() => performance.now())
  }

  get level(): MemoryLevel {
    return this.#level
  }

  get limitBytes(): number {
    return this.#options.limitBytes
  }

  /** Called every `lookIntervalMs`. */
  poll(): void {
    const reading = this.#options.read()
    const part = this.#computePart(reading)
    const nowMs = this.#nowMs()
    const before = this.#level
    this.#level = this.#computeLevel(part, nowMs)
    const isDue = this.#level !== 'normal' && nowMs - this.#sentAtMs >= sendIntervalMs
    if (this.#level !== 'hard' || before !== 'hard') this.#step = 0
    else if (isDue) this.#step++
    if (this.#level !== before || isDue) this.#sendLevel(nowMs)
    if (this.#shouldCollect(part, nowMs)) {
      this.#collectedAtMs = nowMs
      this.#options.collect()
    }
    if (this.#level !== before) this.#announce(reading)
  }

  #shouldCollect(part: number, nowMs: number): boolean {
    const isShort = part >= parts.soft || this.#level !== 'normal'
    return isShort && nowMs - this.#collectedAtMs >= collectionIntervalsMs[this.#level]
  }

  #computePart({ residentBytes, heapBytes }: MemoryReading): number {
    const { limitBytes, maxHeapBytes } = this.#options
    return Math.max(residentBytes / limitBytes, ...heapBytes.map((bytes) => bytes / maxHeapBytes))
  }

  #computeLevel(part: number, nowMs: number): MemoryLevel {
    if (part >= (this.#level === 'hard' ? parts.hardEnds : parts.hard)) return 'hard'
    if (this.#level !== 'normal') return part >= parts.softEnds ? 'soft' : 'normal'
    // The level becomes `soft` only if the memory is still in use after a garbage collection.
    const sinceCollectionMs = nowMs - this.#collectedAtMs
    const isCollected = sinceCollectionMs >= collectionMs && sinceCollectionMs < collectionIntervalsMs.normal
    return part >= parts.soft && isCollected ? 'soft' : 'normal'
  }

  #sendLevel(nowMs: number): void {
    this.#options.sendToShards({ level: this.#level, step: this.#step })
    this.#sentAtMs = nowMs
  }

  /**
   * Raises or ends the alarm. The shards are queried for the clients that use most memory, which takes time. Alarms are raised in the order of
   * the levels, so that a level that lasts only a short time is logged too.
   */
  #announce(reading: MemoryReading): void {
    const { alarms, limitBytes } = this.#options
    const level = this.#level
    const largest = level === 'normal' ? undefined : this.#options.describeLargest()
    const used = `${formatMib(reading.residentBytes)} of ${formatMib(limitBytes)} (node.memory_limit)`
    this.#announced = Promise.all([largest, this.#announced]).then(([users]) => {
      if (users === undefined) alarms.end('memory', 'there is enough memory again')
      else alarms.raise('memory', `the memory is short (${level}): ${used}; ${users}`)
    })
  }
}

export function formatMib(bytes: number): string {
  return `${Math.round(bytes / bytesPerMib)} MiB`
}
