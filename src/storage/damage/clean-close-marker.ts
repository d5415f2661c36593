// A file in the database's directory that says how it was left: with which files and of what size after an orderly
// close, or how often it was opened since.

import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { databaseFiles } from './database-files.ts'

/** How the database was left by who had it last. */
export type CloseMarker =
  /** Closed in order, with these files and sizes in bytes. */
  | { readonly state: 'closed'; readonly files: Readonly<Record<string, number>> }
  /** Opened so many times without an orderly close. */
  | { readonly state: 'open'; readonly openings: number }

const markerFile = 'SEAL'

/** Reads the seal; one that is missing or unreadable says that nothing is known. */
export async function readCloseMarker(directory: string): Promise<CloseMarker> {
  try {
    const marker: unknown = JSON.parse(await readFile(join(directory, markerFile), 'utf8'))
    if (isCloseMarker(marker)) return marker
  } catch {
    // A missing or damaged seal is the same as one that promises nothing.
  }
  return { state: 'open', openings: 0 }
}

/** Notes that the database is open once more. */
export async function markOpen(directory: string, openings: number): Promise<void> {
  await writeCloseMarker(directory, { state: 'open', openings })
}

/** Opened so many times in a row without an orderly close: every table is checked, however much that takes. */
export const maxUncleanOpenings = 3

/** Notes that the next opening is to check every table, if the disk takes the note. */
export async function distrust(directory: string): Promise<void> {
  await ifDiskTakes(() => markOpen(directory, maxUncleanOpenings))
}

/** Notes the files of a database that has just been closed, if the disk takes the note. */
export async function markClosed(directory: string): Promise<void> {
  await ifDiskTakes(async () =>
    writeCloseMarker(directory, { state: 'closed', files: Object.fromEntries(await databaseFiles(directory)) }),
  )
}

/** A full disk must not keep the broker from going on or from stopping. */
async function ifDiskTakes(write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** What is not as the seal says, in words; undefined if nothing. */
export function markerMismatch(marker: CloseMarker, files: ReadonlyMap<string, number>): string | undefined {
  if (marker.state === 'open') return undefined
  for (const [name, bytes] of Object.entries(marker.files)) {
    const found = files.get(name)
    if (found === undefined) return `${name} is missing`
    if (found !== bytes) return `${name} has ${found} bytes instead of ${bytes}`
  }
  return undefined
}

async function writeCloseMarker(directory: string, marker: CloseMarker): Promise<void> {
  const path = join(directory, markerFile)
  await writeFile(`${path}.new`, JSON.stringify(marker), { mode: 0o600 })
  await rename(`${path}.new`, path)
}

function isCloseMarker(value: unknown): value is CloseMarker {
  if (typeof value !== 'object' || value === null || !('state' in value)) return false
  if (value.state === 'open') return 'openings' in value && typeof value.openings === 'number'
  return value.state === 'closed' && 'files' in value && typeof value.files === 'object' && value.files !== null
}
