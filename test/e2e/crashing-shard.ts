// A real shard that crashes when a test creates the file `break-now` in its data directory.

import { watch } from 'node:fs'
import { workerData } from 'node:worker_threads'
import type { ShardStart } from '../../src/shard/index.ts'

const { dataDirectory } = workerData as ShardStart

watch(dataDirectory, (_, file) => {
  if (file === 'break-now') throw new Error('broken on purpose')
})

await import('../../src/shard/worker.ts')
