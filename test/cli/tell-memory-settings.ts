// Preloaded into the program by a test: says with what settings of the C library a process has begun. A broker that begins
// once more says it twice.

import { isMainThread } from 'node:worker_threads'

const {
  MALLOC_MMAP_THRESHOLD_: own = 'unset',
  MALLOC_TRIM_THRESHOLD_: kept = 'unset',
  MALLOC_ARENA_MAX: heaps = 'unset',
} = process.env
if (isMainThread) console.error(`memory: own from ${own}, kept up to ${kept}, heaps ${heaps}`)
