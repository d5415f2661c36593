#!/usr/bin/env node
// The command `godwit`. It uses only JavaScript that old versions of Node can parse, so that they print which version is needed.

import { existsSync, readdirSync, statSync } from 'fs'
import os from 'os'
import { join } from 'path'
import { fileURLToPath } from 'url'
import v8 from 'v8'

const neededMajor = 24
/**
 * Settings of malloc in glibc, without which a broker keeps the memory of a burst. See mallopt(3).
 *
 * - Threshold of mmap, in bytes: larger blocks are returned to the system when they are freed. It must be below 64 KiB, the size of a
 *   read from a socket. With 262144, reads on the heap kept up to 330 MiB after a burst of 900 payloads of 1 MB, and the peak was
 *   60 MiB higher. It costs 1 to 4 % of throughput. 40960 would save a fifth of the
 *   processor time of a start (V8 compiles in blocks of 32 KiB), but costs 7 MB at rest: 78 instead of 71 MB anonymous after 50 s.
 * - Threshold of trim, in bytes: free memory that stays at the end of each arena. Without settings, glibc raises both thresholds (to
 *   32 and 64 MiB) when a large block is freed.
 * - Arenas: one for each processor, because no more threads run at once. By default there are eight for each, and memory that a thread
 *   has freed is used only by threads with the same arena.
 */
const mallocSettings = {
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  MALLOC_ARENA_MAX: String(processors()),
}
/**
 * V8 compiles and collects garbage on helper threads, by default four on any machine. A shard that shares its processor with all
 * four waits 20 ms and more for them, so one processor is left to the shards.
 */
const maxHelperThreads = 4
const major = Number(process.versions.node.split('.')[0])

/** The command starts a broker. */
const isStart = process.argv[2] === 'start'
/**
 * Without V8's memory reducer: see `startIdleGc` in src/shard/runtime/idle-gc.ts. The option takes effect only on the command line, because
 * the reducer of the main thread exists before its first module is loaded. If all threads share a processor,
 * each message would wait for it: 1.3 ms at the 99th percentile instead of 0.3 ms.
 */
const withoutReducer = '--no-memory-reducer'
/**
 * Without it, each process of the same user opens the inspector of the broker with SIGUSR1, and runs code in it. Node 20 does not know the
 * option; this program refuses Node 20 before it uses it.
 */
const withoutInspector = '--disable-sigusr1'
const opensInspector = process.execArgv.indexOf(withoutInspector) === -1
const hasReducer = process.execArgv.indexOf(withoutReducer) === -1

if (major < neededMajor) {
  console.error(
    'godwit: needs Node ' +
      neededMajor +
      ' or newer, this is ' +
      process.version +
      '; in a checkout "npm start" and "npx godwit" bring their own after "npm ci"',
  )
  process.exitCode = 1
} else if (isStart && canReplaceProcess() && (hasReducer || !hasMallocSettings() || opensInspector)) {
  process.execve(
    process.execPath,
    [process.execPath, withoutReducer, withoutInspector].concat(
      helperThreads(),
      process.execArgv,
      process.argv.slice(1),
    ),
    hasMallocSettings() ? process.env : Object.assign({}, process.env, mallocSettings),
  )
} else {
  // The next best: nothing else listens to this signal, so Node opens no inspector.
  if (isStart && opensInspector) process.on('SIGUSR1', function () {})
  // The next best: delayed before the main thread's first collection, which schedules the reducer, by the longest time that V8 accepts.
  if (isStart && hasReducer) v8.setFlagsFromString('--gc-memory-reducer-start-delay-ms=2147483647')
  const program = isBuiltNewest() ? import('../dist/cli/main.js') : import('../src/cli/main.ts')
  program.catch(function (error) {
    // Not only the exit code: a part that runs would keep a process alive that follows no signal.
    console.error(error)
    process.exit(1)
  })
}

/**
 * Node and glibc read options and settings before the program starts, so the broker executes itself again, in the same process and with the same
 * process ID. That takes about 40 ms.
 */
function canReplaceProcess() {
  return (
    process.platform === 'linux' &&
    typeof process.execve === 'function' &&
    // The channel to a parent process in Node would be closed.
    !process.connected &&
    existsSync(process.execPath)
  )
}

/** If the environment has one of the settings, none is changed. */
function hasMallocSettings() {
  return Object.keys(mallocSettings).some(function (name) {
    return process.env[name] !== undefined
  })
}

/**
 * A package has no sources. A checkout runs the bundle unless a source is newer, so that no build is needed during development. The
 * check takes 40 to 70 ms of processor time. `test/run.ts` builds once and sets GODWIT_BUNDLE, so that brokers of tests do without it.
 */
function isBuiltNewest() {
  const sources = ['../src', '../lib'].map(function (folder) {
    return fileURLToPath(new URL(folder, import.meta.url))
  })
  if (process.env.GODWIT_BUNDLE === 'current' || !sources.every(existsSync)) return true
  const built = statSync(new URL('../dist/cli/main.js', import.meta.url), { throwIfNoEntry: false })
  return (
    built !== undefined &&
    !sources.some(function (folder) {
      return isNewer(folder, built.mtimeMs)
    })
  )
}

/** Returns whether a folder or a file in it was changed after that time. Adding or removing a file changes its folder. */
function isNewer(folder, timeMs) {
  return (
    statSync(folder).mtimeMs > timeMs ||
    readdirSync(folder, { withFileTypes: true }).some(function (entry) {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? isNewer(path, timeMs) : statSync(path).mtimeMs > timeMs
    })
  )
}

/** As options of Node. An option on the command line comes later and takes precedence. */
function helperThreads() {
  const isSet = (process.env.NODE_OPTIONS || '').includes('--v8-pool-size')
  return isSet ? [] : ['--v8-pool-size=' + Math.max(1, Math.min(processors() - 1, maxHelperThreads))]
}

/** Number of processors that this process may use; old versions of Node return all. */
function processors() {
  return typeof os.availableParallelism === 'function' ? os.availableParallelism() : os.cpus().length
}
