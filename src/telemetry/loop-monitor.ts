// Watches how late the event loop of this thread comes: whatever holds it up (a long turn, a collection of garbage, too
// little processor) is seen here. And how much memory the thread uses.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { LoopDelay, ThreadMemory } from './histograms.ts'

/** How often it looks. What a loop without work takes is this long: it is taken off. */
const resolutionMs = 20
const intervalMs = 1_000
const nsPerSecond = 1e9

/** Tells once a second; keeps no thread alive. Returns what ends it. */
export function monitorLoop(tell: (delay: LoopDelay) => void): () => void {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  const timer = setInterval(() => {
    if (histogram.count > 0) {
      tell({
        meanSeconds: delayOf(histogram.mean),
        p99Seconds: delayOf(histogram.percentile(99)),
        maxSeconds: delayOf(histogram.max),
      })
    }
    histogram.reset()
  }, intervalMs).unref()
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}

function delayOf(nanoseconds: number): number {
  return Math.max(0, nanoseconds / nsPerSecond - resolutionMs / 1_000)
}

export function memoryOfThread(): ThreadMemory {
  const { used_heap_size: heapBytes, external_memory: buffersBytes } = getHeapStatistics()
  return { heapBytes, buffersBytes }
}
