// Limits of the machine: memory and open files.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** File descriptors reserved for the database (at most 500), the log, and the runtime. */
const reservedDescriptors = 600
const smallestPageBytes = 4_096

/** Maximum connections within the open-file limit of this process. Infinite if the limit is unknown. */
export async function computeMaxConnections(): Promise<number> {
  const limit = await readOpenFileLimit()
  return limit - Math.min(reservedDescriptors, Math.ceil(limit / 2))
}

/** Bytes of memory that this process may use: of the machine, or the lower limit of a container. */
export function readMemoryBytes(): number {
  const constrained = process.constrainedMemory()
  // Without a limit the system returns 0 or a number beyond the memory of any machine.
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** Default of `node.memory_limit` as a part of the memory: the rest is for the system and its file cache. */
const memoryShare = 0.75

export function computeMemoryLimit({
  node,
}: {
  readonly node: { readonly memoryLimitBytes: number | undefined }
}): number {
  return node.memoryLimitBytes ?? Math.floor(readMemoryBytes() * memoryShare)
}

let lastResidentBytes = 0
let pageBytes: number | undefined

/**
 * Memory of this process that the system cannot reclaim: resident memory without pages of files. If the system does not
 * provide it, all resident memory, or the last value.
 */
export function readResidentBytes(): number {
  try {
    const [, resident, shared] = readFileSync('/proc/self/statm', 'utf8').split(' ').map(Number)
    pageBytes ??= Math.max(1, Math.round(process.memoryUsage.rss() / resident / smallestPageBytes)) * smallestPageBytes
    lastResidentBytes = (resident - shared) * pageBytes
  } catch {
    if (process.platform !== 'linux') lastResidentBytes = process.memoryUsage.rss()
  }
  return lastResidentBytes
}

/** In the format of `/proc/self/limits`. Infinite if it contains no limit. */
export function parseOpenFileLimit(limits: string): number {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

async function readOpenFileLimit(): Promise<number> {
  try {
    return parseOpenFileLimit(await readFile('/proc/self/limits', 'utf8'))
  } catch {
    // Not Linux: the system refuses connections beyond its limit.
    return Number.POSITIVE_INFINITY
  }
}
