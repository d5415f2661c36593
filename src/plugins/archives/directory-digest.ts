// The SHA-256 of an unpacked plugin: over the paths and contents of all files. A file that was changed, added, removed or replaced by a
// link since the installation changes it.

import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'

/** SHA-256 of each file in hexadecimal digits, by its path within the directory. */
export type FileDigests = ReadonlyMap<string, string>

/** Returns the digest in hexadecimal digits. */
export function combineDigests(files: FileDigests): string {
  const hash = createHash('sha256')
  for (const path of [...files.keys()].toSorted(compareTexts)) hash.update(`${files.get(path) ?? ''} ${path}\n`)
  return hash.digest('hex')
}

/** Computes the digest of a directory as it is on disk. Rejects if it cannot be read. */
export async function digestDirectory(directory: string): Promise<string> {
  const files = new Map<string, string>()
  await addFiles(directory, '', files)
  return combineDigests(files)
}

async function addFiles(directory: string, prefix: string, files: Map<string, string>): Promise<void> {
  for await (const entry of await opendir(directory)) {
    const path = `${prefix}${entry.name}`
    if (entry.isDirectory()) await addFiles(join(directory, entry.name), `${path}/`, files)
    // A link or a device is never part of an installation, so its name alone makes the digest differ.
    else files.set(path, entry.isFile() ? await digestFile(join(directory, entry.name)) : 'not a file')
  }
}

/** Returns the SHA-256 of a file in hexadecimal digits. */
export async function digestFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer)
  return hash.digest('hex')
}

/** By code units, independent of the locale. */
function compareTexts(left: string, right: string): number {
  return left < right ? -1 : 1
}
