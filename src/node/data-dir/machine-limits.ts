// What the machine has for us: memory and open files.

import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** Descriptors that connections may not take: the database's (at most 500), the log's, the runtime's own. */
const reservedDescriptors = 600
const smallestPageBytes = 4_096

/** Connections that the open-file limit of this process leaves room for. Infinite where the system does not tell it. */
export async function roomForConnections(): Promise<number> {
  const limit = await openFileLimit()
  return limit - Math.min(reservedDescriptors, Math.ceil(limit / 2))
}

/** Bytes of memory that this process may use: the machine's, or less where a container is smaller. */
export function memoryBytes(): number {
  const constrained = process.constrainedMemory()
  // Without a constraint the system answers 0 or a number beyond any machine.
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}

/** `node.memory_limit`, or so much of what there is: the rest is for the system and for what is read from files. */
const memoryShare = 0.75

export function memoryLimitOf({ node }: { readonly node: { readonly memoryLimitBytes: number | undefined } }): number {
  return node.memoryLimitBytes ?? Math.floor(memoryBytes() * memoryShare)
}

let lastResidentBytes = 0
let pageBytes: number | undefined

/**
 * Memory of this process that the system cannot take back by itself: resident, without pages of files. Where the system does
 * not say what of it is of files, or cannot open one more, all of it, or what it was.
 */
export function residentBytes(): number {
  try {
    const [, resident, shared] = readFileSync('/proc/self/statm', 'utf8').split(' ').map(Number)
    pageBytes ??= Math.max(1, Math.round(process.memoryUsage.rss() / resident / smallestPageBytes)) * smallestPageBytes
    lastResidentBytes = (resident - shared) * pageBytes
  } catch {
    if (process.platform !== 'linux') lastResidentBytes = process.memoryUsage.rss()
  }
  return lastResidentBytes
}

/** As the system writes it: `/proc/self/limits`. Infinite where it names none. */
export function openFileLimitIn(limits: string): number {
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? Number.POSITIVE_INFINITY : Number(soft)
}

async function openFileLimit(): Promise<number> {
  try {
    return openFileLimitIn(await readFile('/proc/self/limits', 'utf8'))
  } catch {
    // Not a Linux: the system refuses by itself what is too much.
    return Number.POSITIVE_INFINITY
  }
}
