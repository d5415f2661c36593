#!/usr/bin/env node
// The command `godwit`. Plain JavaScript of long ago, so that even an old Node gets as far as the sentence that says
// which one is needed.

import { existsSync, readdirSync, statSync } from 'fs'
import os from 'os'
import { join } from 'path'
import { fileURLToPath } from 'url'
import v8 from 'v8'

const neededMajor = 24
/**
 * What the C library of most systems (glibc) is told, or a broker keeps for good what a rush has left. The first two in
 * bytes: what is larger comes from the system by itself and goes back with its end, and so much that is free may stay at
 * the end of each of its heaps; both are raised up to 32 and 64 MiB otherwise as soon as something large has been given back.
 * The first must be below 64 KiB, the size of a read of a socket: reads on the heap, with small blocks between them that stay,
 * kept up to 330 MiB of a burst of 900 payloads of 1 MB (262144), and the peak was 60 MiB higher. It costs 1 to 4 % of throughput.
 * And a heap for each processor, as no more threads run at once: eight would be made for each, and what one thread has
 * freed serves no other. See mallopt(3).
 */
const memoryGivenBack = {
  MALLOC_MMAP_THRESHOLD_: '32768',
  MALLOC_TRIM_THRESHOLD_: '1048576',
  MALLOC_ARENA_MAX: String(processors()),
}
/**
 * V8's own threads compile and collect beside ours, and Node has four of them whatever the machine. A shard that shares its
 * processor with all four waits for them to have had their turns, 20 ms and more: one processor is left to ours.
 */
const mostHelperThreads = 4
const major = Number(process.versions.node.split('.')[0])

/**
 * V8's own tidying is put off for good: see `keepHeapTidy` in src/shard/runtime/idle-gc.ts. Told here as well, because it is planned with the
 * first collection of a heap, for eight seconds later, and that of the main thread comes while its modules are read. Where
 * all threads share a processor every message waits for it: 1.3 ms at the 99th percentile instead of 0.3.
 */
if (major >= neededMajor) v8.setFlagsFromString('--gc-memory-reducer-start-delay-ms=2147483647')

if (major < neededMajor) {
  console.error(
    'godwit: needs Node ' +
      neededMajor +
      ' or newer, this is ' +
      process.version +
      '; in a checkout "npm start" and "npx godwit" bring their own after "npm ci"',
  )
  process.exitCode = 1
} else if (wantsItsMemoryBack()) {
  process.execve(
    process.execPath,
    [process.execPath].concat(helperThreads(), process.execArgv, process.argv.slice(1)),
    Object.assign({}, process.env, memoryGivenBack),
  )
} else {
  const program = isBuiltNewest() ? import('../dist/cli/main.js') : import('../src/cli/main.ts')
  program.catch(function (error) {
    console.error(error)
    process.exitCode = 1
  })
}

/**
 * The C library reads them before a program's first line: a broker begins once more, in the same process and with the same
 * number, which takes some 40 ms. Whoever sets one of them knows better, and has none of this.
 */
function wantsItsMemoryBack() {
  return (
    process.platform === 'linux' &&
    process.argv[2] === 'start' &&
    typeof process.execve === 'function' &&
    // The way to a parent in Node would be closed with it.
    !process.connected &&
    Object.keys(memoryGivenBack).every(function (name) {
      return process.env[name] === undefined
    }) &&
    existsSync(process.execPath)
  )
}

/**
 * A package has no sources. A checkout runs what was built from them until one of them is newer: then it runs the sources as they
 * are, so nothing has to be built during development. Looking takes some 10 ms.
 */
function isBuiltNewest() {
  const sources = fileURLToPath(new URL('../src', import.meta.url))
  if (!existsSync(sources)) return true
  const built = statSync(new URL('../dist/cli/main.js', import.meta.url), { throwIfNoEntry: false })
  return built !== undefined && !isNewer(sources, built.mtimeMs)
}

/** Whether a folder or anything in it was changed after that time. A folder changes with the names in it. */
function isNewer(folder, timeMs) {
  return (
    statSync(folder).mtimeMs > timeMs ||
    readdirSync(folder, { withFileTypes: true }).some(function (entry) {
      const path = join(folder, entry.name)
      return entry.isDirectory() ? isNewer(path, timeMs) : statSync(path).mtimeMs > timeMs
    })
  )
}

/** As an option of Node. One that somebody has given himself stands behind it, and counts. */
function helperThreads() {
  const isSaid = (process.env.NODE_OPTIONS || '').includes('--v8-pool-size')
  return isSaid ? [] : ['--v8-pool-size=' + Math.max(1, Math.min(processors() - 1, mostHelperThreads))]
}

/** Those that this process may use; an old Node counts all. */
function processors() {
  return typeof os.availableParallelism === 'function' ? os.availableParallelism() : os.cpus().length
}
