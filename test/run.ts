// node test/run.ts NAME...     NAME is a set (check, unit, services) or one of its jobs
// Builds, and runs jobs on all processors: two at a time, each with processes of its own. Prints the output of a job whole, when it ends.
// The exit code is 0 only if all passed; a job of tests in which none ran has failed.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { checkout, compileCacheFolder, fastTests, jobsOf, type Job } from './jobs.ts'

const jobsAtOnce = 2

const jobs = process.argv.slice(2).flatMap(jobsOf)
if (jobs.length === 0)
  throw new Error(
    `no job is named; known are ${jobsOf()
      .map(({ name }) => name)
      .join(', ')}`,
  )
/** Brokers need not look for sources that are newer than the build (see bin/godwit.js), about 5 % of the processor time of a start. */
const built = { GODWIT_BUNDLE: 'current' }
if (jobs.some(({ hasTests }) => hasTests)) {
  prepare('npm', ['run', '--silent', 'build'])
  rmSync(compileCacheFolder, { recursive: true, force: true })
  prepare(process.execPath, ['test/compile-cache.ts'], {
    ...built,
    ...fastTests,
    NODE_COMPILE_CACHE: compileCacheFolder,
  })
}
/** The names of the jobs that failed, with the list of failed tests, or the end of the output if there is none. */
const failed = new Map<string, string>()
const waiting = jobs.filter(({ isAlone }) => isAlone !== true)
await Promise.all(Array.from({ length: jobsAtOnce }, () => runAll(waiting)))
await runAll(jobs.filter(({ isAlone }) => isAlone === true))
// Again at the end, because the whole output has thousands of lines.
for (const [name, failures] of failed) console.log(`== failures of ${name}\n${failures}`)
if (failed.size > 0) console.log(`failed: ${[...failed.keys()].join(', ')}`)
process.exitCode = failed.size === 0 ? 0 : 1

async function runAll(queue: Job[]): Promise<void> {
  for (let job = queue.shift(); job !== undefined; job = queue.shift()) await run(job)
}

async function run({ name, command, environment, hasTests }: Job): Promise<void> {
  const startedAtMs = performance.now()
  const [program = '', ...options] = command
  const child = spawn(program, options, {
    cwd: checkout,
    env: { ...process.env, ...built, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const output: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk))
  const [code] = await once(child, 'close')
  const text = Buffer.concat(output).toString()
  const isPassed = code === 0 && (!hasTests || /^ℹ pass [1-9]/m.test(text))
  if (!isPassed) failed.set(name, failuresIn(text))
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(0)
  process.stdout.write(text)
  console.log(`== ${name} ${isPassed ? 'passed' : 'FAILED'} after ${seconds} s`)
}

/** At most 200 lines of a job's output: Node's test runner lists the failed tests at its end. Its counts are left out, as `.ci/run` adds them. */
function failuresIn(output: string): string {
  const lines = output
    .trimEnd()
    .split('\n')
    .filter((line) => !line.startsWith('ℹ '))
  const start = lines.findIndex((line) => line.startsWith('✖ failing tests:'))
  return (start === -1 ? lines.slice(-200) : lines.slice(start, start + 200)).join('\n')
}

function prepare(program: string, options: readonly string[], environment: NodeJS.ProcessEnv = {}): void {
  execFileSync(program, options, { cwd: checkout, env: { ...process.env, ...environment }, stdio: 'inherit' })
}
