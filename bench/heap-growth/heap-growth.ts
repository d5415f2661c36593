// Counts how often V8 collects the whole heap of a thread under the same load: after its start, and after an idle period after which V8 shrinks
// its heap by default. `kept tidy` is the setup of shards, `forbidden` their former setup.
//
//   node bench/heap-growth/heap-growth.ts

import { spawnSync } from 'node:child_process'
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { isMainThread, Worker, workerData } from 'node:worker_threads'
import { startIdleGc } from '../../src/shard/index.ts'

const ways = {
  'kept tidy': () => startIdleGc({ readTraffic: () => 0, readClientBytes: () => 0, forget: () => {} }),
  forbidden: () => setFlagsFromString('--memory-reducer-gc-count=0'),
}
type Way = keyof typeof ways

const liveObjects = 200_000
/** So many live at a time, as messages do between their reading and their acknowledgement; some of them grow old. */
const windowObjects = 20_000
const objectsAtOnce = 1_000
const objectsInAll = 1_000_000
/** V8 waits for eight seconds. */
const restMs = 9_500
const majorKind = 4
/** Limits of a shard (`src/node/shards/supervised-shard.ts`). */
const maxYoungGenerationSizeMb = 64

async function churn(): Promise<void> {
  const window: object[] = []
  for (let made = 0; made < objectsInAll; made += objectsAtOnce) {
    for (let index = 0; index < objectsAtOnce; index++) window.push({ fields: Array.from({ length: 20 }, () => index) })
    if (window.length > windowObjects) window.splice(0, objectsAtOnce)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function measure(way: Way): Promise<void> {
  let majors = 0
  new PerformanceObserver((list) => {
    const entries = list.getEntries() as (PerformanceEntry & { readonly detail: { readonly kind: number } })[]
    for (const { detail } of entries) if (detail.kind === majorKind) majors++
  }).observe({ entryTypes: ['gc'] })
  const live = Array.from({ length: liveObjects }, (_, index) => ({ index, list: [index] }))
  for (const when of ['at once', 'after a rest']) {
    const before = majors
    await churn()
    await pause(50)
    console.log(
      `${way}, ${when}: ${majors - before} collections of the whole heap for ${objectsInAll} objects beside ${live.length}`,
    )
    if (when === 'at once') await pause(restMs)
  }
  process.exit()
}

function isWay(text: string | undefined): text is Way {
  return text !== undefined && text in ways
}

const [, file, way] = process.argv
if (!isMainThread) await measure(workerData as Way)
// Flags are those of a process, so each way has one of its own. There, as in the broker, they are set before the thread begins.
else if (isWay(way)) {
  ways[way]()
  void new Worker(new URL(import.meta.url), { workerData: way, resourceLimits: { maxYoungGenerationSizeMb } })
} else for (const name of Object.keys(ways)) spawnSync(process.execPath, [file, name], { stdio: 'inherit' })
