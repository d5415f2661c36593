// `npm run build:broker`: bundles src/ into dist/. The package runs dist/. A checkout runs dist/ unless a source file is
// newer (bin/godwit.js). A few files for each entry point hold about a quarter of the bytes of
// the sources: V8 keeps the text of each module that it loads, in each thread. At rest that is 20 MB less, and
// the program starts in a third of the time. Names are kept, so that stack traces can be read.
//
//   src/cli/main.ts ─────┐            dist/cli/main.js
//   src/shard/worker.ts ─┼─esbuild──► dist/cli/worker.js      each shard
//   link-worker.ts ──────┤            dist/cli/link-worker.js    links to other nodes
//   sqlite-worker.ts ────┤            dist/cli/sqlite-worker.js  each SQLite file
//   plugin-process.ts ───┘            dist/cli/plugin-process.js  each plugin
//                                     dist/cli/*-<hash>.js    parts that are loaded later, or by several of these

import { build, type BuildOptions, type Plugin } from 'esbuild'
import { copyFileSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('../', import.meta.url))
const target = join(checkout, 'dist')
const packageFile = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as {
  readonly peerDependencies: Readonly<Record<string, string>>
}

// The dashboard has a build of its own.
for (const name of readdirSync(checkout).includes('dist') ? readdirSync(target) : [])
  if (name !== 'dashboard') rmSync(join(target, name), { recursive: true })

/**
 * An `import` of `node:http` reads all its exports, `WebSocket` included, and that loads undici: 50 ms of processor time and
 * some megabytes in each thread. Read as an object, only what is named is loaded. A name that is missing here fails the build.
 * Libraries that require it read it as an object anyway.
 */
const httpByName: Plugin = {
  name: 'http-by-name',
  setup(building) {
    building.onResolve({ filter: /^node:http$/ }, ({ path, kind }) =>
      kind === 'require-call' ? { path, external: true } : { path, namespace: 'http-by-name' },
    )
    building.onLoad({ filter: /.*/, namespace: 'http-by-name' }, ({ path }) => ({
      contents: `export const { Agent, createServer, request, STATUS_CODES } = process.getBuiltinModule('${path}')`,
    }))
  },
}

/**
 * Libraries that are not part of the bundle: they have native code, are installed by the user (drivers), or are loaded only when an action needs
 * them (undici). All other libraries are in the bundle: typebox has 683 modules, jose 45, fastify and what it needs 260. Node looks for each of their
 * files, reads and links it, in each thread. With typebox and jose in the bundle, a start took a fifth less processor time, and a command
 * half; with the others the process has 5 MB less at rest. `THIRD-PARTY-LICENSES` has their license texts.
 */
const separateLibraries: Plugin = {
  name: 'separate-libraries',
  setup(building) {
    const names = ['classic-level', 'undici', ...Object.keys(packageFile.peerDependencies)]
    building.onResolve({ filter: new RegExp(`^(${names.join('|')})(/|$)`) }, ({ path }) => ({ path, external: true }))
  },
}

const options: BuildOptions = {
  outdir: target,
  // All in one folder: `src/shard/entry.ts` and `src/sinks/sqlite/sqlite-thread.ts` find workers beside the file that they are part of.
  entryNames: 'cli/[name]',
  chunkNames: 'cli/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  plugins: [httpByName, separateLibraries],
  // CommonJS libraries in the bundle require modules of Node.
  banner: {
    js: "import { createRequire as createRequireHere } from 'node:module'; const require = createRequireHere(import.meta.url);",
  },
  target: 'node24',
  // V8 keeps a text with other characters in two bytes each.
  charset: 'ascii',
  // Without comments and indentation: 1.5 MB less in the main thread, 0.4 MB in each shard. Short lines keep stack traces useful.
  minifyWhitespace: true,
  lineLimit: 160,
  sourcemap: 'linked',
  sourcesContent: false,
  absWorkingDir: checkout,
  logLevel: 'warning',
}

// Each entry point is built separately. In a common build, esbuild puts code of several entry points into shared files, which each
// entry point loads completely. The main thread would load all of the core and of the gateways for a few functions of each. At rest, three shards take 105 MB instead of 113.
const workers = ['src/shard/worker.ts', 'src/links/nodes/link-worker.ts', 'src/sinks/sqlite/sqlite-worker.ts']
for (const entryPoint of ['src/cli/main.ts', ...workers, 'src/plugins/process/plugin-process.ts'])
  await build({ ...options, entryPoints: [join(checkout, entryPoint)] })

// Types of `godwit/plugin`. The file has only types and imports nothing, so it is a declaration file as it is.
copyFileSync(join(checkout, 'src/plugins/manifest/plugin-types.ts'), join(target, 'plugin.d.ts'))
