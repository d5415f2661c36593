// Returns memory to the system after a burst. V8 collects garbage when it needs memory, so an idle thread would keep the memory of the
// burst, and administrators would see a broker that has grown.
//
//   grown ---(an interval without much traffic)---> collect ---(and another one)---> release ---> nothing until it grows again
//
// Caches are emptied first: they refer to disconnected clients, and fill again with traffic.
//
// With moderate traffic, both steps are done once, after three intervals, if little memory is in use and much can be returned. If the
// collection took long, the release waits until the thread is idle.
//
// A normal collection makes the heap small, but V8 keeps the pages. A collection of last resort returns them to the system. It visits
// the whole heap several times, so it follows the normal one, and runs only if little is left.

import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { threadId } from 'node:worker_threads'
import type { CounterName } from '../../telemetry/index.ts'
import { delayMemoryReducer } from './v8-flags.ts'

/** Measurements and actions; tests have their own. */
export interface GcDependencies {
  /** Memory that V8 has allocated for the heap, used or not, and the buffers outside it. */
  readHeapBytes(): number
  /** Used part of the heap, which a collection visits. */
  readUsedBytes(): number
  /**
   * Memory for clients as the broker counts it (`MemoryAccount`). When a session with a long queue ends, the heap keeps its size until a
   * collection: only this number falls.
   */
  readClientBytes(): number
  /** Empties the caches. */
  forget(): void
  /** Collects garbage; the thread pauses. */
  collect(): void
  /** Collects several times and returns free memory to the system. */
  release(): void
  nowMs(): number
  /**
   * Messages received and sent since the start plus their KiB, because large ones leave more garbage. For a shard also the chunks that it
   * relays: the clients of its sockets wait for it as well.
   */
  readTraffic(): number
}

/** Interval between checks. After a burst, memory is returned in three to four intervals, and that takes at most a minute. */
const checkIntervalMs = 10_000
/** Time between the checks of two threads: collections at the same time share the helper threads of V8, and take twice as long. */
const checkLagMs = 500
/** The first checks after the start, after the first clients have connected: one to collect and one to release. */
const firstChecksMs = [5_000, 8_000]
/** With less traffic per second than this, clients do not notice a pause. With 500, clients waited 80 to 310 ms for a release after a burst. */
const maxIdleTraffic = 50
/** Minimum memory that justifies a pause. */
const minReclaimBytes = 33_554_432
/** Up to this traffic per second, the same memory justifies a collection after three intervals. */
const maxLittleTraffic = 500
/** Up to this traffic per second, a collection is justified by `minReclaimWithTrafficBytes`. */
const maxModerateTraffic = 2_000
const minReclaimWithTrafficBytes = 67_108_864
/** Number of intervals with moderate traffic before a collection. */
const moderateIntervals = 3
/** With little traffic, maximum attempts to release after a collection that took long. The next collection has less to visit and to free. */
const maxReleaseAttempts = 3
/** Maximum used bytes for a release, which visits the heap several times. */
const maxBytesToRelease = 100_663_296
/** Maximum used bytes for a collection, which visits the heap once. */
const maxBytesToCollect = 536_870_912

/**
 * While memory is short, a release follows a collection that took at most this time, in ms. A release takes two to three times as long.
 * The number of objects decides: 2,500 client IDs of 60 KB make 170 MB, which a collection visits in 15 ms.
 */
const quickCollectionMs = 25
/** Interval of releases after collections that took longer. */
const slowReleaseIntervalMs = 60_000
/** While memory is short, the time without a collection after each collection, as a multiple of its duration. */
const workPerCollection = 9

/** While memory is short, the time from one collection of the young generation to the next. */
const youngIntervalMs = 100

type Step = 'collect' | 'release'

/** Sizes after a collection. */
interface Sizes {
  readonly heapBytes: number
  readonly clientBytes: number
}

export class IdleGc {
  readonly #dependencies: GcDependencies
  #traffic: number
  #checkedAtMs: number
  /** After the last release. A new thread has had none: loading its modules leaves a young generation of 30 to 70 MB. */
  #released: Sizes = { heapBytes: 0, clientBytes: 0 }
  /** After the last collection, with the pages that it emptied. */
  #collected: Sizes = { heapBytes: 0, clientBytes: 0 }
  /** Maximum since the last collection. V8 may have collected meanwhile and kept the pages. */
  #peakBytes: number
  #next: Step
  /** Consecutive intervals with moderate traffic and much to return. */
  #moderateIntervals = 0
  /** Attempts to release that are left since the last burst. */
  #releaseAttempts = 0
  #collectsNextAtMs = 0
  #releasesNextAtMs = 0

  constructor(dependencies: GcDependencies) {
    this.#dependencies = dependencies
    this.#traffic = dependencies.readTraffic()
    this.#checkedAtMs = dependencies.nowMs()
    this.#peakBytes = dependencies.readHeapBytes()
    this.#next = 'collect'
  }

  /** Must be called at regular intervals. */
  check(): void {
    const trafficPerSecond = this.#measureTrafficPerSecond()
    this.#peakBytes = Math.max(this.#peakBytes, this.#dependencies.readHeapBytes())
    if (trafficPerSecond >= maxIdleTraffic) return this.#checkWithTraffic(trafficPerSecond)
    this.#moderateIntervals = 0
    if (this.#computeReclaimableBytes(this.#released) < minReclaimBytes) return
    if (this.#next === 'collect') this.#collect()
    else this.#release()
  }

  /** Returns the traffic per second since the last check. The first intervals are shorter. */
  #measureTrafficPerSecond(): number {
    const traffic = this.#dependencies.readTraffic()
    const nowMs = this.#dependencies.nowMs()
    const seconds = (nowMs - this.#checkedAtMs) / 1_000
    const perSecond = (traffic - this.#traffic) / seconds
    this.#traffic = traffic
    this.#checkedAtMs = nowMs
    return perSecond
  }

  #checkWithTraffic(trafficPerSecond: number): void {
    this.#next = 'collect'
    if (this.#releaseAttempts > 0 && trafficPerSecond < maxLittleTraffic) return this.#tryToRelease()
    this.#releaseAttempts = 0
    this.#moderateIntervals = this.#isWorthwhile(trafficPerSecond) ? this.#moderateIntervals + 1 : 0
    if (this.#moderateIntervals < moderateIntervals) return
    this.#moderateIntervals = 0
    if (trafficPerSecond < maxLittleTraffic) this.#releaseAttempts = maxReleaseAttempts
    this.#tryToRelease()
  }

  /** Collects, and releases if the collection was fast. */
  #tryToRelease(): void {
    if (this.#collectWithCaches() <= quickCollectionMs) return this.#release()
    this.#recordCollected()
    this.#releaseAttempts =
      this.#computeReclaimableBytes(this.#released) < minReclaimBytes ? 0 : this.#releaseAttempts - 1
  }

  #isWorthwhile(trafficPerSecond: number): boolean {
    const reclaimBytes = this.#computeReclaimableBytes(this.#collected)
    const usedBytes = this.#dependencies.readUsedBytes()
    if (trafficPerSecond < maxLittleTraffic) return reclaimBytes >= minReclaimBytes && usedBytes <= maxBytesToCollect
    if (trafficPerSecond >= maxModerateTraffic || usedBytes > maxBytesToRelease) return false
    return reclaimBytes >= minReclaimWithTrafficBytes
  }

  /** Returns the growth of the heap since then, plus the memory that clients used then and do not use any more. */
  #computeReclaimableBytes(since: Sizes): number {
    const freedBytes = Math.max(0, since.clientBytes - this.#dependencies.readClientBytes())
    return this.#peakBytes - since.heapBytes + freedBytes
  }

  /** Called when memory is short. Collects even if the thread is busy, within a limited part of its time. */
  collectNow(): void {
    if (this.#dependencies.nowMs() >= this.#collectsNextAtMs) this.#collectAndRelease()
  }

  #collectAndRelease(): void {
    const beganAtMs = this.#dependencies.nowMs()
    const durationMs = this.#collectWithCaches()
    if (this.#shouldRelease(durationMs)) this.#dependencies.release()
    const endedAtMs = this.#dependencies.nowMs()
    this.#collectsNextAtMs = endedAtMs + (endedAtMs - beganAtMs) * workPerCollection
    this.#recordReleased()
  }

  /** Returns whether to release the pages that the collection has emptied. V8 kept 119 MB of such pages after client IDs of 60 KB. */
  #shouldRelease(collectionMs: number): boolean {
    const nowMs = this.#dependencies.nowMs()
    if (collectionMs <= quickCollectionMs) return true
    if (nowMs < this.#releasesNextAtMs || this.#dependencies.readUsedBytes() > maxBytesToRelease) return false
    this.#releasesNextAtMs = nowMs + slowReleaseIntervalMs
    return true
  }

  /** Returns the duration of the collection in ms. */
  #collectWithCaches(): number {
    const beganAtMs = this.#dependencies.nowMs()
    this.#dependencies.forget()
    this.#dependencies.collect()
    return this.#dependencies.nowMs() - beganAtMs
  }

  #collect(): void {
    this.#dependencies.forget()
    if (this.#dependencies.readUsedBytes() > maxBytesToCollect) return this.#recordReleased()
    this.#dependencies.collect()
    if (this.#dependencies.readUsedBytes() > maxBytesToRelease) this.#recordReleased()
    else this.#next = 'release'
  }

  #release(): void {
    this.#dependencies.release()
    this.#recordReleased()
  }

  /** Records the sizes after a release. The next collection follows when the heap grows, or when clients use less. */
  #recordReleased(): void {
    this.#recordCollected()
    this.#released = this.#collected
    this.#releaseAttempts = 0
  }

  #recordCollected(): void {
    this.#collected = {
      heapBytes: this.#dependencies.readHeapBytes(),
      clientBytes: this.#dependencies.readClientBytes(),
    }
    this.#peakBytes = this.#collected.heapBytes
    this.#next = 'collect'
  }
}

/** Returns the traffic for `GcDependencies.traffic`. */
export function computeTraffic(counter: (name: CounterName) => number): number {
  const bytes = counter('bytesReceived') + counter('bytesSent')
  return counter('messagesReceived') + counter('messagesSent') + Math.floor(bytes / 1_024)
}

/** The function `gc()`, see V8's src/extensions/gc-extension. */
type Collect = (
  options: { type: 'major'; execution: 'sync'; flavor: 'regular' | 'last-resort' } | { type: 'minor' },
) => void

/** The heap of a shard while memory is short. */
export interface HeapManager {
  /** Collects garbage, within a limited part of the time. */
  collectNow(): void
  /**
   * Called when memory becomes short, and when it is sufficient again. While it is short, the young generation is collected ten times per
   * second, for about 2 ms each. V8 itself collects the buffers of packets only from 64 MiB on.
   */
  setShort(isShort: boolean): void
}

/**
 * Manages the heap of this thread instead of V8's own memory reducer, which runs eight seconds after a collection
 * regardless of traffic, so that messages wait for a millisecond and more.
 */
export function startIdleGc(within: Pick<GcDependencies, 'readTraffic' | 'forget' | 'readClientBytes'>): HeapManager {
  delayMemoryReducer()
  const heap = createThreadHeap()
  const idleGc = new IdleGc({ ...heap, ...within })
  const lagMs = (threadId % (checkIntervalMs / checkLagMs)) * checkLagMs
  for (const checkMs of firstChecksMs) setTimeout(() => idleGc.check(), checkMs + lagMs).unref()
  setTimeout(() => setInterval(() => idleGc.check(), checkIntervalMs).unref(), lagMs).unref()
  let youngTimer: NodeJS.Timeout | undefined
  return {
    collectNow: () => idleGc.collectNow(),
    setShort(isShort) {
      if (isShort) youngTimer ??= setInterval(() => heap.collectYoung(), youngIntervalMs).unref()
      else {
        clearInterval(youngTimer)
        youngTimer = undefined
      }
    },
  }
}

/** Returns functions that read and collect the heap of this thread. */
export function createThreadHeap(): Omit<GcDependencies, 'readTraffic' | 'forget' | 'readClientBytes'> & {
  /** Collects the young generation only. */
  collectYoung(): void
} {
  let exposed: Collect | undefined
  const collect: Collect = (options) => (exposed ??= exposeGc())(options)
  return {
    readHeapBytes: () => {
      const { total_heap_size: heap, external_memory: externalBytes } = getHeapStatistics()
      return heap + externalBytes
    },
    nowMs: () => performance.now(),
    readUsedBytes: () => getHeapStatistics().used_heap_size,
    collect: () => collect({ type: 'major', execution: 'sync', flavor: 'regular' }),
    release: () => collect({ type: 'major', execution: 'sync', flavor: 'last-resort' }),
    collectYoung: () => collect({ type: 'minor' }),
  }
}

/**
 * Only a context created while the flag is set has the function. The flag applies to all threads, so it stays set. It is set at the first
 * collection: shards start before that, with the compiled code of Node's own modules, which V8 rejects once a flag was changed.
 */
function exposeGc(): Collect {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as Collect
}
