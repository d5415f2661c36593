// A real shard that crashes when a test creates the file `break-now` in its data directory.

import { existsSync, watch } from 'node:fs'
import { join } from 'node:path'
import { workerData } from 'node:worker_threads'
import type { ShardStart } from '../../src/shard/index.ts'
import { shardModule } from '../node/built-node.ts'

const { dataDirectory } = workerData as ShardStart

watch(dataDirectory, (_, file) => {
  // Removing the file is also reported as a change.
  if (file === 'break-now' && existsSync(join(dataDirectory, file))) throw new Error('broken on purpose')
})

await import(shardModule.href)
