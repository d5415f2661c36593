// What `npm run check`, `npm test` and `.ci/run` run. A folder of test/ that no job names belongs to the job `programs`.

import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Job {
  readonly name: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly hasTests: boolean
  readonly environment?: Readonly<Record<string, string>>
  /** Runs when all others have ended: it measures what they use as well. */
  readonly isAlone?: boolean
}

interface TestOptions {
  /** Files that run at the same time. More than processors: programs and services wait for each other. */
  readonly filesAtOnce?: number
  /** Of one test. */
  readonly timeoutMs?: number
  readonly environment?: Readonly<Record<string, string>>
  /** Unsaid: compiled code is kept for the next process. */
  readonly isCompiledOnce?: boolean
  readonly isAlone?: boolean
}

export const checkout = fileURLToPath(new URL('../', import.meta.url))
const compileCache = { NODE_COMPILE_CACHE: `${checkout}node_modules/.cache/compiled` }

/**
 * The files of these folders run in one process, one after the other. A process for each takes 0.4 s of processor time longer, to start
 * Node and to load what they import. They change nothing that is global to a process.
 * The longest jobs come first, so that both processors are in use to the end.
 */
const modules: Readonly<Record<string, readonly string[]>> = {
  simulator: ['conformance', 'simulator', 'bridges'],
  storage: ['storage', 'transports'],
  'rules-shard': ['rules', 'protocol', 'shard', 'gateways'],
  core: ['core'],
  'other-modules': ['access', 'backup', 'config', 'contract', 'links', 'sinks', 'telemetry'],
}

/** They need Debian's clients and services, a browser, a compiler, or a second installation. */
const services: readonly Job[] = [
  testJob('clients', ['clients'], { filesAtOnce: 3 }),
  testJob('dashboard', ['dashboard'], { filesAtOnce: 2 }),
  testJob('fuzz', ['fuzz'], { filesAtOnce: 2 }),
  testJob('power', ['power'], { filesAtOnce: 2 }),
  testJob('package', ['package'], { timeoutMs: 600_000, isCompiledOnce: false }),
]

const checks: readonly Job[] = [
  checkJob('lint'),
  testJob('check:architecture', ['architecture', 'docs']),
  checkJob('types'),
  checkJob('dead'),
  checkJob('format'),
]

/** Tests of one module, which share a process. */
const moduleJobs = Object.entries(modules).map(([name, folders]) => sharedJob(name, folders))

const unit: readonly Job[] = [
  testJob('programs', otherFolders(), { filesAtOnce: 4 }),
  ...moduleJobs,
  sharedJob('shards', ['conformance'], { SIMULATED_SHARDS: '3' }),
  testJob('memory', ['memory'], { isAlone: true, isCompiledOnce: false }),
]

const sets = new Map<string, readonly Job[]>([
  ['check', checks],
  ['unit', unit],
  ['services', services],
])

/** The jobs of a set, or the one with this name; all jobs if none is named. */
export function jobsOf(name?: string): readonly Job[] {
  const all = [...sets.values()].flat()
  if (name === undefined) return all
  const found = sets.get(name) ?? all.filter((job) => job.name === name)
  if (found.length === 0)
    throw new Error(
      `no job is named ${name}; known are ${[...sets.keys()].join(', ')}, ${all.map((job) => job.name).join(', ')}`,
    )
  return found
}

/** Folders with tests of programs that run; `check` runs the tests of the architecture and of the documentation. */
function otherFolders(): string[] {
  const ofOtherJobs = ['architecture', 'docs', 'memory', 'clients', 'dashboard', 'fuzz', 'power', 'package']
  const named = new Set([...Object.values(modules).flat(), ...ofOtherJobs])
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !named.has(entry.name))
    .map((entry) => entry.name)
}

function checkJob(name: string): Job {
  return { name: `check:${name}`, command: ['npm', 'run', '--silent', `check:${name}`], hasTests: false }
}

function testJob(name: string, folders: readonly string[], options: TestOptions = {}): Job {
  const { filesAtOnce = 1, timeoutMs = 300_000, isCompiledOnce = true, environment, ...others } = options
  return {
    name,
    command: [
      process.execPath,
      '--test',
      `--test-concurrency=${filesAtOnce}`,
      `--test-timeout=${timeoutMs}`,
      ...globsOf(folders),
    ],
    hasTests: true,
    environment: { ...(isCompiledOnce ? compileCache : {}), ...environment },
    ...others,
  }
}

function sharedJob(name: string, folders: readonly string[], environment: Job['environment'] = {}): Job {
  return {
    name,
    command: [process.execPath, '--test', '--test-isolation=none', '--test-timeout=300000', ...globsOf(folders)],
    hasTests: true,
    environment: { ...compileCache, ...environment },
  }
}

function globsOf(folders: readonly string[]): string[] {
  return folders.map((folder) => `test/${folder}/**/*.test.ts`)
}
