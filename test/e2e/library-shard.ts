// A real shard that finds a client library for PostgreSQL below its data directory.

import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { workerData } from 'node:worker_threads'
import type { ShardStart } from '../../src/shard/index.ts'
import { shardModule } from '../node/built-node.ts'

const { dataDirectory } = workerData as ShardStart
const url = pathToFileURL(join(dataDirectory, 'node_modules', 'pg', 'index.mjs')).href

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === 'pg' ? { url, format: 'module', shortCircuit: true } : next(specifier, context),
})

await import(shardModule.href)
