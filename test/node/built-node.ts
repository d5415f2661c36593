// The modules of a node that a test starts in its own process: those of the bundle if it is new, else the sources.
//
// To load the bundle takes 0.3 s of processor time, the sources 1 s, and 0.4 s more in each shard. Brokers run the bundle as well.

import { readdirSync } from 'node:fs'
import type * as boot from '../../src/boot/index.ts'
import type * as node from '../../src/node/index.ts'

const folder = new URL('../../dist/cli/', import.meta.url)

/** `test/run.ts` builds the bundle and sets the variable. */
const isBuilt = process.env['GODWIT_BUNDLE'] === 'current'

/** esbuild adds a hash to the names of modules that src/cli imports when it needs them: `boot` and `node`. */
const fileOf = (module: string): string =>
  readdirSync(folder).find((name) => new RegExp(`^${module}-\\w+\\.js$`).test(name)) ?? 'none'

/** Of a real shard, for `import`. */
export const shardModule = isBuilt
  ? new URL('worker.js', folder)
  : new URL('../../src/shard/worker.ts', import.meta.url)

const urlOf = (module: string): URL =>
  isBuilt ? new URL(fileOf(module), folder) : new URL(`../../src/${module}/index.ts`, import.meta.url)

/** Imports `src/boot`, which starts a node, and `src/node`. */
export async function importNode(): Promise<typeof boot & typeof node> {
  const started = (await import(urlOf('boot').href)) as typeof boot
  const parts = (await import(urlOf('node').href)) as typeof node
  return { ...parts, ...started }
}
