// Gives memory back when the rush is over. V8 collects its heap when it needs room, so a thread that has become idle keeps
// what a burst had left, however long: an operator who looks then sees a broker that has grown.
//
//   grown ---(an interval without much traffic)---> collect ---(and another one)---> release ---> nothing until it grows again
//
// What is remembered for speed alone is forgotten before: it refers to clients that have gone, and comes back with traffic.
//
// A collection alone makes the heap small, and V8 keeps the pages for the next rush. They go back to the system with a
// collection of last resort, which looks through the whole heap several times: hence after the other one, and only
// where little is left to look through.

import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { CounterName } from '../../telemetry/index.ts'

/** What is looked at and done; tests have their own. */
export interface GcDependencies {
  /** That V8 has taken for the heap, in use or not, and the buffers beside it. */
  heapBytes(): number
  /** Of the heap alone: what a collection looks through. */
  usedBytes(): number
  /** What comes back by itself when it is needed. */
  forget(): void
  /** Nothing else is done meanwhile. */
  collect(): void
  /** The same, several times over; what is free goes back to the system. */
  release(): void
  nowMs(): number
  /** Messages received and sent since the start, and their KiB: large ones leave more behind. */
  traffic(): number
}

/** It is looked at so often. */
const checkIntervalMs = 15_000
/** Soon after the start as well, but after the first clients have connected: twice, to collect and to release. */
const firstChecksMs = [5_000, 8_000]
/** Less traffic in an interval is no work that a pause would be felt in. */
const maxIdleTraffic = 7_500
/** A pause is worth that much. */
const minReclaimBytes = 33_554_432
/** More in use takes too long to look through several times. */
const maxBytesToRelease = 100_663_296
/** More in use takes too long to look through at all. */
const maxBytesToCollect = 536_870_912

/** Where memory is short a collection is followed by so many times its duration without one. */
const workPerCollection = 9

type Step = 'collect' | 'release'

export class IdleGc {
  readonly #dependencies: GcDependencies
  #traffic: number
  /** What the heap came to the last time. A thread that starts has never been tidied: loading its modules leaves a young generation of 30 to 70 MB. */
  #tidyBytes = 0
  /** The most that it was since it was last tidied. V8 may have collected it meanwhile, and kept the pages. */
  #peakBytes: number
  #next: Step
  #collectsNextAtMs = 0

  constructor(dependencies: GcDependencies) {
    this.#dependencies = dependencies
    this.#traffic = dependencies.traffic()
    this.#peakBytes = dependencies.heapBytes()
    this.#next = 'collect'
  }

  /** To be called at even intervals. */
  look(): void {
    const traffic = this.#dependencies.traffic()
    const isIdle = traffic - this.#traffic < maxIdleTraffic
    this.#traffic = traffic
    if (!isIdle) this.#next = 'collect'
    this.#peakBytes = Math.max(this.#peakBytes, this.#dependencies.heapBytes())
    if (!isIdle || this.#peakBytes - this.#tidyBytes < minReclaimBytes) return
    if (this.#next === 'collect') this.#collect()
    else this.#release()
  }

  /** Memory is short: however busy the thread is, but for a part of its time at most. */
  collectNow(): void {
    const beganAtMs = this.#dependencies.nowMs()
    if (beganAtMs < this.#collectsNextAtMs) return
    this.#dependencies.forget()
    this.#dependencies.collect()
    if (this.#dependencies.usedBytes() <= maxBytesToRelease) this.#dependencies.release()
    const endedAtMs = this.#dependencies.nowMs()
    this.#collectsNextAtMs = endedAtMs + (endedAtMs - beganAtMs) * workPerCollection
    this.#isTidy()
  }

  #collect(): void {
    this.#dependencies.forget()
    if (this.#dependencies.usedBytes() > maxBytesToCollect) return this.#isTidy()
    this.#dependencies.collect()
    if (this.#dependencies.usedBytes() > maxBytesToRelease) this.#isTidy()
    else this.#next = 'release'
  }

  #release(): void {
    this.#dependencies.release()
    this.#isTidy()
  }

  #isTidy(): void {
    this.#tidyBytes = this.#dependencies.heapBytes()
    this.#peakBytes = this.#tidyBytes
    this.#next = 'collect'
  }
}

/** For `TidyWorld.traffic`, of whoever counts. */
export function trafficIn(counter: (name: CounterName) => number): number {
  const bytes = counter('bytesReceived') + counter('bytesSent')
  return counter('messagesReceived') + counter('messagesSent') + Math.floor(bytes / 1_024)
}

/** Of `gc()`, see V8's src/extensions/gc-extension. */
type Collect = (options?: { type: 'major'; execution: 'sync'; flavor: 'regular' | 'last-resort' }) => void

/** The longest that V8 can be told to wait, in ms. It begins anew with each collection of the whole heap. */
const longestReducerDelayMs = 2_147_483_647

/**
 * The heap of this thread, as long as it lives; see `TidyWorld` for what is handed in. V8 is kept from doing the like by
 * itself: it does so eight seconds after a collection whatever goes on then, and messages wait for a millisecond and more.
 * It is put off and not forbidden (`--memory-reducer-gc-count=0`): with none to be made it takes itself for done when the
 * eight seconds are over, lets the heap grow by a third at a time from then on, and collects all of it some ten times as
 * often.
 */
export function startIdleGc(within: Pick<GcDependencies, 'traffic' | 'forget'>): IdleGc {
  setFlagsFromString(`--gc-memory-reducer-start-delay-ms=${longestReducerDelayMs}`)
  const tidy = new IdleGc({ ...ownHeap(), ...within })
  for (const checkMs of firstChecksMs) setTimeout(() => tidy.look(), checkMs).unref()
  setInterval(() => tidy.look(), checkIntervalMs).unref()
  return tidy
}

/** Of this thread's own heap. */
export function ownHeap(): Omit<GcDependencies, 'traffic' | 'forget'> {
  // Only a context that is made while the flag is set has the function; it is one flag for all threads, so it stays.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as Collect
  return {
    heapBytes: () => {
      const { total_heap_size: heap, external_memory: beside } = getHeapStatistics()
      return heap + beside
    },
    nowMs: () => performance.now(),
    usedBytes: () => getHeapStatistics().used_heap_size,
    collect: () => collect({ type: 'major', execution: 'sync', flavor: 'regular' }),
    release: () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
  }
}
