// `npm prepare`: builds the broker and the dashboard, unless the builds are newer than everything that they are made from.
//
// npm runs it in a checkout after `npm ci`, before `npm pack`, and for the first `npx godwit`. In the last case a broker may be running from
// dist/, which loads some of its parts late: they must not vanish under it.

import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const checkout = fileURLToPath(new URL('../', import.meta.url))
const sources = ['src', 'lib', 'dashboard', 'release', 'package.json', 'package-lock.json']
const builds = [
  'dist/cli/main.js',
  'dist/cli/worker.js',
  'dist/cli/link-worker.js',
  'dist/cli/sqlite-worker.js',
  'dist/dashboard/index.html',
]

/** Time of the last change in milliseconds since 1970: of a file, or of everything in a folder. Adding or removing a file changes its folder. */
function lastChangeMs(path: string): number {
  const stats = statSync(path)
  if (!stats.isDirectory()) return stats.mtimeMs
  return Math.max(stats.mtimeMs, ...readdirSync(path).map((name) => lastChangeMs(join(path, name))))
}

const builtMs = builds.map((file) => statSync(join(checkout, file), { throwIfNoEntry: false })?.mtimeMs ?? 0)
const changedMs = sources.map((name) => lastChangeMs(join(checkout, name)))
if (Math.min(...builtMs) <= Math.max(...changedMs)) {
  await import('./bundle.ts')
  await import('../dashboard/build.ts')
}
