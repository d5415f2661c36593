// What `npm run check`, `npm test` and `.ci/run` run. A folder of test/ that no job names belongs to the job `programs`.

import { existsSync, readdirSync, statfsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export interface Job {
  readonly name: string
  /** The program and its arguments. */
  readonly command: readonly string[]
  readonly hasTests: boolean
  readonly environment?: NodeJS.ProcessEnv
  /** Runs when all others have ended: it measures what they use as well. */
  readonly isAlone?: boolean
}

interface TestOptions {
  /** Files that run at the same time. More than processors: programs and services wait for each other. */
  readonly filesAtOnce?: number
  /** Of one test. */
  readonly timeoutMs?: number
  /** Default true: compiled code is kept for the next process. */
  readonly isCompiledOnce?: boolean
  /** The processes use memory as they do outside of tests. */
  readonly measuresMemory?: boolean
  /**
   * Node 24 can wait for ever at the natural end of a process, in `Environment::CleanupHandles`, for a request that libuv no longer has: all
   * tests have passed, and the run does not end. The process exits by itself instead, after all tests and their hooks.
   */
  readonly forcesExit?: boolean
  readonly isAlone?: boolean
  readonly environment?: NodeJS.ProcessEnv
}

export const checkout = fileURLToPath(new URL('../', import.meta.url))

/**
 * Most processor time of the tests goes to starts of brokers. On a virtual machine, a page that a process touches for the first time
 * takes 15 to 25 microseconds, and a start touches 27,000 of them. With large pages and blocks that the C library keeps, it touches 18,000 and takes
 * 13 % less processor time. See glibc's manual, "Memory Allocation Tunables".
 */
const keptMemory = {
  GLIBC_TUNABLES: [
    'glibc.malloc.hugetlb=1',
    'glibc.malloc.trim_threshold=1000000000',
    'glibc.malloc.mmap_threshold=33554432',
    'glibc.malloc.top_pad=16777216',
  ].join(':'),
}
/** `test/run.ts` fills it. */
export const compileCacheFolder = `${checkout}node_modules/.cache/compiled`
const compileCache = { NODE_COMPILE_CACHE: compileCacheFolder }

const memoryFolder = '/dev/shm'
const minMemoryFolderBytes = 2_147_483_648

/**
 * Data directories of tests are in memory if it has enough space, so that no test waits for the disk: tests of the storage take half the time. Kills
 * lose nothing of it; tests of power cuts record what is synced themselves (test/power).
 */
function temporaryFiles(): NodeJS.ProcessEnv {
  if (process.env['TMPDIR'] !== undefined || !existsSync(memoryFolder)) return {}
  const { bavail, bsize } = statfsSync(memoryFolder)
  return bavail * bsize < minMemoryFolderBytes ? {} : { TMPDIR: memoryFolder }
}

/** V8 has four threads for garbage collection and compilation by default; brokers on two processors have one (bin/godwit.js). */
const fewThreads = { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} --v8-pool-size=1` }

/** Of all tests, except those that measure memory. */
export const fastTests = { ...keptMemory, ...fewThreads, ...temporaryFiles() }

/**
 * The files of these folders run in one process, one after the other. A process for each takes 0.4 s of processor time longer, to start
 * Node and to load what they import. They change nothing that is global to a process.
 * The longest jobs come first, so that both processors are in use to the end.
 */
const modules: Readonly<Record<string, readonly string[]>> = {
  simulator: ['conformance', 'simulator', 'bridges'],
  storage: ['storage', 'dtls', 'transports'],
  'rules-shard': ['rules', 'jq', 'regex', 'schemas', 'actions', 'protocol', 'shard', 'gateways'],
  core: ['core'],
  'other-modules': [
    'access',
    'backup',
    'cluster',
    'commands',
    'config',
    'contract',
    'imports',
    'kube',
    'kubernetes',
    'links',
    'manifests',
    'mqtt-client',
    'sinks',
    'telemetry',
  ],
}

/** Folders of tests that run in memory. */
export const moduleFolders = Object.values(modules).flat()

/** They need Debian's clients and services, a browser, a compiler, or a second installation. */
const services: readonly Job[] = [
  // One process, because a browser and `playwright-core` take longer to start than most of these tests. It often waits for the browser, so it
  // begins first: at the end, one processor would have nothing to do.
  sharedJob('dashboard', ['dashboard']),
  testJob('fuzz', ['fuzz'], { filesAtOnce: 2 }),
  testJob('package', ['package'], { timeoutMs: 600_000, isCompiledOnce: false }),
  testJob('power', ['power'], { filesAtOnce: 2 }),
  testJob('clients', ['clients'], { filesAtOnce: 3, forcesExit: true }),
  testJob('pages', ['pages']),
]

/** They need toolchains and package registries of other languages, so neither `npm test` nor `.ci/run` runs them. */
const interop: readonly Job[] = [testJob('interop', ['interop'], { timeoutMs: 900_000 })]

const checks: readonly Job[] = [
  checkJob('lint'),
  testJob('check:architecture', ['architecture', 'commits', 'docs']),
  checkJob('types'),
  checkJob('dead'),
  checkJob('format'),
  checkJob('commits'),
]

/** Tests of one module, which share a process. */
const moduleJobs = Object.entries(modules).map(([name, folders]) => sharedJob(name, folders))

/** Shards of brokers whose tests set no number. */
const threeShards = { GODWIT_TEST_SHARDS: '3' }

/** Three shards, as the default of the product is one for each processor; all other programs of tests have one, which starts sooner. */
const endToEnd = 'e2e'

const unit: readonly Job[] = [
  testJob('end-to-end', [endToEnd], { filesAtOnce: 3, environment: threeShards }),
  // Between the two jobs with three brokers each, so that these do not run at the same time.
  ...moduleJobs,
  testJob('programs', otherFolders(), { filesAtOnce: 3 }),
  sharedJob('shards', ['conformance'], threeShards),
  testJob('memory', ['memory'], { isAlone: true, isCompiledOnce: false, measuresMemory: true }),
]

/** Jobs of long runs: they are part of no set. */
const longJobs: readonly Job[] = [
  testJob('one-shard:end-to-end', [endToEnd], { filesAtOnce: 3, timeoutMs: 600_000 }),
  sharedJob('three-shards:modules', ['core', 'bridges', 'simulator'], threeShards),
  testJob('three-shards:programs', otherFolders(), { filesAtOnce: 3, timeoutMs: 600_000, environment: threeShards }),
]

const sets = new Map<string, readonly Job[]>([
  ['check', checks],
  ['unit', unit],
  ['services', services],
  ['interop', interop],
])

/** The jobs of a set, or the one with this name; all jobs if none is named. */
export function jobsOf(name?: string): readonly Job[] {
  const all = [...sets.values()].flat()
  if (name === undefined) return all
  const found = sets.get(name) ?? [...all, ...longJobs].filter((job) => job.name === name)
  if (found.length === 0)
    throw new Error(
      `no job is named ${name}; known are ${[...sets.keys()].join(', ')}, ${[...all, ...longJobs].map((job) => job.name).join(', ')}`,
    )
  return found
}

/** Folders with tests of programs that run; `check` runs the tests of the architecture and of the documentation. */
function otherFolders(): string[] {
  const ofOtherJobs = [
    endToEnd,
    'architecture',
    'commits',
    'docs',
    'memory',
    'clients',
    'interop',
    'dashboard',
    'fuzz',
    'power',
    'package',
    'pages',
  ]
  const named = new Set([...moduleFolders, ...ofOtherJobs])
  return readdirSync(import.meta.dirname, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && !named.has(entry.name))
    .map((entry) => entry.name)
}

function checkJob(name: string): Job {
  return { name: `check:${name}`, command: ['npm', 'run', '--silent', `check:${name}`], hasTests: false }
}

function testJob(name: string, folders: readonly string[], options: TestOptions = {}): Job {
  const {
    filesAtOnce = 1,
    timeoutMs = 300_000,
    isCompiledOnce = true,
    measuresMemory = false,
    forcesExit = false,
    ...more
  } = options
  const { environment: wanted = {}, ...others } = more
  return {
    name,
    command: [
      process.execPath,
      '--test',
      `--test-concurrency=${filesAtOnce}`,
      `--test-timeout=${timeoutMs}`,
      ...(forcesExit ? ['--test-force-exit'] : []),
      ...globsOf(folders),
    ],
    hasTests: true,
    environment: { ...(isCompiledOnce ? compileCache : {}), ...(measuresMemory ? {} : fastTests), ...wanted },
    ...others,
  }
}

function sharedJob(name: string, folders: readonly string[], environment: Job['environment'] = {}): Job {
  return {
    name,
    command: [process.execPath, '--test', '--test-isolation=none', '--test-timeout=300000', ...globsOf(folders)],
    hasTests: true,
    environment: { ...compileCache, ...fastTests, ...environment },
  }
}

function globsOf(folders: readonly string[]): string[] {
  return folders.map((folder) => `test/${folder}/**/*.test.ts`)
}
