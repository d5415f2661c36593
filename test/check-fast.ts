// `npm run check:fast`: format, lint and types for the files that differ from `main` (or from the commit given), and the tests among them that
// run in memory. For use while a change is made; `npm run check` is the whole. Exit code 1: something failed.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { checkout, moduleFolders } from './jobs.ts'

const base = process.argv[2] ?? 'main'

function listFiles(...options: string[]): string[] {
  return execFileSync('git', options, { cwd: checkout, encoding: 'utf8' }).split('\n')
}

const [mergeBase = base] = listFiles('merge-base', base, 'HEAD')
const changed = [
  ...new Set([...listFiles('diff', '--name-only', mergeBase), ...listFiles('ls-files', '-o', '--exclude-standard')]),
].filter((file) => /\.(?:ts|tsx|js|mjs)$/.test(file) && existsSync(checkout + file))
const tests = changed.filter(
  (file) => file.endsWith('.test.ts') && moduleFolders.some((folder) => file.startsWith(`test/${folder}/`)),
)

async function run(name: string, command: readonly string[]): Promise<void> {
  const startedAtMs = performance.now()
  const [program = '', ...options] = command
  const child = spawn(program, options, { cwd: checkout, stdio: ['ignore', 'pipe', 'pipe'] })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1)
  if (code !== 0) {
    process.exitCode = 1
    process.stdout.write(Buffer.concat(output))
  }
  console.log(`== ${name} ${code === 0 ? 'passed' : 'FAILED'} after ${seconds} s`)
}

/** The types of all files are checked, because a change can break files that did not change; what did not change is cached. */
const commands: [name: string, command: readonly string[]][] = [['types', ['npm', 'run', '--silent', 'check:types']]]
if (changed.length > 0)
  commands.push(['format', ['oxfmt', '--check', ...changed]], ['lint', ['oxlint', '--type-aware', ...changed]])
if (tests.length > 0) commands.push(['tests', [process.execPath, '--test', '--test-isolation=none', ...tests]])
console.log(`${changed.length} files differ from ${base}, with ${tests.length} files of tests in memory`)
const queue = commands.values()
await Promise.all(
  Array.from({ length: availableParallelism() }, async () => {
    for (const [name, command] of queue) await run(name, command)
  }),
)
