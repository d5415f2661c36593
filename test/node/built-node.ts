// The modules of a node that a test starts in its own process: those of the bundle if it is new, else the sources.
//
// To load the bundle takes 0.3 s of processor time, the sources 1 s, and 0.4 s more in each shard. Brokers run the bundle as well.

import { readdirSync } from 'node:fs'
import type * as node from '../../src/node/index.ts'

const folder = new URL('../../dist/cli/', import.meta.url)

/** `test/run.ts` builds the bundle and sets the variable. */
const isBuilt = process.env['GODWIT_BUNDLE'] === 'current'

/** esbuild adds a hash to the name of this file: `loadNode` in src/cli imports it when a broker starts. */
const nodeFile = (): string => readdirSync(folder).find((name) => /^node-\w+\.js$/.test(name)) ?? 'none'

/** Of a real shard, for `import`. */
export const shardModule = isBuilt
  ? new URL('worker.js', folder)
  : new URL('../../src/shard/worker.ts', import.meta.url)

const nodeModule = isBuilt ? new URL(nodeFile(), folder) : new URL('../../src/node/index.ts', import.meta.url)

/** Imports `src/node`. */
export async function importNode(): Promise<typeof node> {
  return (await import(nodeModule.href)) as typeof node
}
