import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { copyFile, mkdir, readFile, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { temporaryFolder } from '../e2e/godwit-process.ts'

const program = fileURLToPath(new URL('../../release/prepare.ts', import.meta.url))
const early = new Date('2026-01-01')
const late = new Date('2026-01-02')

function programThatNotes(name: string): string {
  return `import { appendFileSync } from 'node:fs'\nappendFileSync(new URL('../built', import.meta.url), '${name} ')\n`
}

/** A checkout whose two builds write a file `built`; its other files have the given times. */
async function makeCheckout(t: TestContext, times: Readonly<Record<string, Date>>): Promise<string> {
  const root = await temporaryFolder(t)
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(root, path)), { recursive: true })
    await writeFile(join(root, path), text)
  }
  await write('release/bundle.ts', programThatNotes('broker'))
  await write('dashboard/build.ts', programThatNotes('dashboard'))
  await write('package.json', '{ "type": "module" }')
  for (const path of ['src/a.ts', 'lib/a.ts', 'package-lock.json', ...Object.keys(times)]) await write(path, '')
  await copyFile(program, join(root, 'release/prepare.ts'))
  const sources = ['src/a.ts', 'src', 'lib/a.ts', 'lib', 'release/bundle.ts', 'release/prepare.ts', 'release']
  for (const path of [...sources, 'dashboard/build.ts', 'dashboard', 'package.json', 'package-lock.json'])
    await utimes(join(root, path), early, early)
  for (const [path, time] of Object.entries(times)) await utimes(join(root, path), time, time)
  return root
}

async function prepare(root: string): Promise<string> {
  execFileSync(process.execPath, [join(root, 'release/prepare.ts')])
  return readFile(join(root, 'built'), 'utf8').catch(() => 'nothing')
}

const builds = [
  'dist/cli/main.js',
  'dist/cli/worker.js',
  'dist/cli/link-worker.js',
  'dist/cli/sqlite-worker.js',
  'dist/dashboard/index.html',
]
const current = Object.fromEntries(builds.map((path) => [path, late]))

test('npm prepare builds nothing while the builds are newer than their sources, because a broker may run from them', async (t) => {
  assert.equal(await prepare(await makeCheckout(t, current)), 'nothing')
})

test('npm prepare builds the broker and the dashboard if a source is newer, or there is no build', async (t) => {
  const newer = new Date('2026-01-03')
  for (const times of [{}, { ...current, 'lib/a.ts': newer }, { ...current, 'dist/cli/worker.js': early }])
    assert.equal(await prepare(await makeCheckout(t, times)), 'broker dashboard ')
})
