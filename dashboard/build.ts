// `npm run build:dashboard`: bundles dashboard/src into dist/dashboard, from where the API serves it. Names of assets have a
// hash of their content; each file has its compressed forms beside it, so that the broker compresses nothing.
//
//   dashboard/src/main.tsx ──esbuild──► assets/*.js, assets/*.css
//   contract endpoints ─────table─────► OPERATIONS in the bundle, in place of the schemas
//   dashboard/index.html ─────────────► index.html with the names of the assets

import { build, type Metafile } from 'esbuild'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { endpoints } from '../src/api/endpoints.ts'
import { createOperationTable } from '../src/contract/index.ts'

const checkout = fileURLToPath(new URL('../', import.meta.url))
const target = join(checkout, 'dist', 'dashboard')
const assets = join(target, 'assets')

rmSync(target, { recursive: true, force: true })
mkdirSync(assets, { recursive: true })

const { metafile } = await build({
  entryPoints: [join(checkout, 'dashboard', 'src', 'main.tsx')],
  outdir: assets,
  bundle: true,
  splitting: true,
  format: 'esm',
  minify: true,
  target: 'es2022',
  charset: 'utf8',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  // `src/protocol` reads and writes packets in Buffers.
  inject: [join(checkout, 'dashboard', 'src', 'state', 'byte-buffer.ts')],
  define: { OPERATIONS: JSON.stringify(createOperationTable(endpoints)), 'process.env.NODE_ENV': '"production"' },
  metafile: true,
  absWorkingDir: checkout,
  logLevel: 'warning',
})
writePage(metafile)
for (const name of readdirSync(assets)) compress(join(assets, name))
compress(join(target, 'index.html'))

function writePage({ outputs }: Metafile): void {
  const entry = Object.entries(outputs).find(([, output]) => output.entryPoint === 'dashboard/src/main.tsx')
  if (entry?.[1].cssBundle === undefined) throw new Error('the bundle has no entry point with styles')
  const [script, { cssBundle, imports }] = entry
  const preloads = imports
    .filter(({ kind }) => kind === 'import-statement')
    .map(({ path }) => `<link rel="modulepreload" href="assets/${basename(path)}" />`)
  const page = readFileSync(join(checkout, 'dashboard', 'index.html'), 'utf8')
    .replace('%SCRIPT%', `assets/${basename(script)}`)
    .replace('%STYLE%', `assets/${basename(cssBundle)}`)
    .replace('%PRELOADS%', preloads.join('\n    '))
  writeFileSync(join(target, 'index.html'), page)
}

function compress(path: string): void {
  const bytes = readFileSync(path)
  writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
  writeFileSync(
    `${path}.br`,
    brotliCompressSync(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.byteLength },
    }),
  )
}
