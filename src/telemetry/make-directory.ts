// Creates a directory and its parents. Not Node's recursive mkdir, which never ends, and keeps a thread busy, on a file
// system that returns ENOENT instead of creating a directory, such as /proc or an automounter.

import { mkdirSync, statSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Only the owner can read what the broker writes. */
const ownerOnly = 0o700

/** Does nothing if the directory exists. Rejects with the error of the operating system. */
export async function makeDirectory(path: string, mode = ownerOnly): Promise<void> {
  if (await isDirectory(path)) return
  const parent = dirname(path)
  if (parent !== path) await makeDirectory(parent, mode)
  try {
    await mkdir(path, { mode })
  } catch (error) {
    // Another thread or program may have created it meanwhile.
    if (readErrorCode(error) !== 'EEXIST' || !(await isDirectory(path))) throw error
  }
}

/** Like `makeDirectory`, for threads that do nothing but wait for the disk. */
export function makeDirectorySync(path: string): void {
  if (isDirectorySync(path)) return
  const parent = dirname(path)
  if (parent !== path) makeDirectorySync(parent)
  try {
    mkdirSync(path, { mode: ownerOnly })
  } catch (error) {
    if (readErrorCode(error) !== 'EEXIST' || !isDirectorySync(path)) throw error
  }
}

async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory()
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return false
    throw error
  }
}

function isDirectorySync(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch (error) {
    if (readErrorCode(error) === 'ENOENT') return false
    throw error
  }
}

function readErrorCode(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code
}
