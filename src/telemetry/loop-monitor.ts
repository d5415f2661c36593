// Measures how late the event loop of this thread is, whatever the cause (a long turn, garbage collection, too little
// processor time), and how much memory the thread uses.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import type { LoopDelay, ThreadMemory } from './histograms.ts'

/** Interval of the measurement. An idle event loop is late by this interval, which is subtracted. */
const resolutionMs = 20
const intervalMs = 1_000
const nsPerSecond = 1e9

/** Calls `report` once per second, and does not keep the thread alive. Returns a function that ends the measurement. */
export function monitorLoop(report: (delay: LoopDelay) => void): () => void {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  const timer = setInterval(() => {
    if (histogram.count > 0) {
      report({
        meanSeconds: toDelaySeconds(histogram.mean),
        p99Seconds: toDelaySeconds(histogram.percentile(99)),
        maxSeconds: toDelaySeconds(histogram.max),
      })
    }
    histogram.reset()
  }, intervalMs).unref()
  return () => {
    clearInterval(timer)
    histogram.disable()
  }
}

function toDelaySeconds(nanoseconds: number): number {
  return Math.max(0, nanoseconds / nsPerSecond - resolutionMs / 1_000)
}

export function readThreadMemory(): ThreadMemory {
  const { used_heap_size: heapBytes, external_memory: buffersBytes } = getHeapStatistics()
  return { heapBytes, buffersBytes }
}
