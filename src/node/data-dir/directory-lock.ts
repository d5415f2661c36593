// The lock of a data directory, which one node at a time may use. The lock is a file that identifies its holder:
//
//   node.lock    {"pid":4711,"startedAt":"<boot id> <start ticks>"}
//
// A process number is not sufficient: after a crash another process may have the same number, and in a container it is always 1. So the
// start time of the holder is compared too, if the system provides it (Linux). The database's own lock detects a holder in another
// container.

import { randomUUID } from 'node:crypto'
import { link, readFile, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataEntries } from './data-entries.ts'

export interface DirectoryLock {
  release(): Promise<void>
}

export type LockOutcome =
  | {
      readonly lock: DirectoryLock
      /** There was a lock that its holder did not release: it was killed, or its machine failed. */
      readonly wasLeftBehind: boolean
    }
  | { readonly problem: string }

interface Holder {
  readonly pid: number
  readonly startedAt: string
}

const lockFile = dataEntries.lock
/** After each lost round another process has a valid lock. */
const maxRounds = 5

/** Takes the lock of `directory`, also from a dead holder. Rejects only for errors of the file system. */
export async function lockDirectory(directory: string): Promise<LockOutcome> {
  const path = join(directory, lockFile)
  const mine = JSON.stringify({ pid: process.pid, startedAt: await readProcessStart(process.pid) } satisfies Holder)
  let wasLeftBehind = false
  for (let round = 0; round < maxRounds; round += 1) {
    if (await createWhole(path, mine)) return { lock: { release: () => releaseOwn(path, mine) }, wasLeftBehind }
    const theirs = await readIfThere(path)
    if (theirs === undefined) continue
    const holder = parseHolder(theirs)
    if (holder !== undefined && (await isAlive(holder))) return { problem: describeInUse(directory, holder.pid) }
    await removeStaleLock(path, theirs)
    wasLeftBehind = true
  }
  return { problem: `data directory ${directory}: other nodes start there at the same time; start one at a time` }
}

const describeInUse = (directory: string, pid: number): string =>
  `data directory ${directory}: a node is running there already (process ${pid}); stop it, or give this one its own with --data DIR`

/** Creates the file with its content or not at all. False: it exists. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const draft = `${path}.${randomUUID()}`
  await writeFile(draft, content, { mode: 0o600 })
  try {
    await link(draft, path)
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    // A file system without hard links: the content is written after the creation.
    return createPlain(path, content)
  } finally {
    await unlink(draft)
  }
}

async function createPlain(path: string, content: string): Promise<boolean> {
  try {
    await writeFile(path, content, { mode: 0o600, flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Removes the lock of a dead holder. If another process has just replaced it, that lock is put back. */
async function removeStaleLock(path: string, content: string): Promise<void> {
  const stalePath = `${path}.stale.${randomUUID()}`
  try {
    await rename(path, stalePath)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  if ((await readFile(stalePath, 'utf8')) === content) await unlink(stalePath)
  else await rename(stalePath, path)
}

async function releaseOwn(path: string, mine: string): Promise<void> {
  if ((await readIfThere(path)) === mine) await unlink(path)
}

/** Undefined: the file is invalid, so there is no holder. */
function parseHolder(content: string): Holder | undefined {
  try {
    const { pid, startedAt } = JSON.parse(content) as Partial<Holder>
    return typeof pid === 'number' && typeof startedAt === 'string' ? { pid, startedAt } : undefined
  } catch {
    // A crash truncated it, so there is no holder.
    return undefined
  }
}

async function isAlive(holder: Holder): Promise<boolean> {
  if (!isProcessRunning(holder.pid)) return false
  const startedAt = await readProcessStart(holder.pid)
  return startedAt === '' || holder.startedAt === '' || startedAt === holder.startedAt
}

function isProcessRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: the process exists and belongs to another account.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Identifies a run of a process; '' if the system does not provide it. */
async function readProcessStart(pid: number): Promise<string> {
  try {
    const bootId = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const status = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The second field is the program's name in parentheses with any characters; the start is field 22.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ')
    return `${bootId.trim()} ${fields[19]}`
  } catch {
    // No /proc, or the process has ended: the caller uses the process number only.
    return ''
  }
}
