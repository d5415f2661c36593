// Preloaded into the program by a test: prints the settings of the C library, and of V8's own threads, with which a process starts. A broker that restarts
// itself prints them twice.

import { isMainThread } from 'node:worker_threads'

const poolSize = '--v8-pool-size='
const {
  MALLOC_MMAP_THRESHOLD_: own = 'unset',
  MALLOC_TRIM_THRESHOLD_: kept = 'unset',
  MALLOC_ARENA_MAX: heaps = 'unset',
} = process.env
const helpers = process.execArgv.find((word) => word.startsWith(poolSize))?.slice(poolSize.length) ?? 'unset'
if (isMainThread) console.error(`memory: own from ${own}, kept up to ${kept}, heaps ${heaps}, helpers ${helpers}`)
