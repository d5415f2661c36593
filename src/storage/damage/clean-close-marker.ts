// A file in the directory of the database with its state: the files and their sizes after a clean close, or the number
// of openings since.

import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { listDatabaseFiles } from '../database/database-files.ts'

/** State in which the last user left the database. */
export type CloseMarker =
  /** Closed cleanly, with these files and sizes in bytes. */
  | { readonly state: 'closed'; readonly files: Readonly<Record<string, number>> }
  /** Opened this number of times without a clean close. */
  | { readonly state: 'open'; readonly openings: number }

const markerFile = 'SEAL'

/** Reads the marker; if it is missing or unreadable, the state is unknown. */
export async function readCloseMarker(directory: string): Promise<CloseMarker> {
  try {
    const marker: unknown = JSON.parse(await readFile(join(directory, markerFile), 'utf8'))
    if (isCloseMarker(marker)) return marker
  } catch {
    // A missing or damaged marker means an unknown state.
  }
  return { state: 'open', openings: 0 }
}

/** Counts one more opening. */
export async function markOpen(directory: string, openings: number): Promise<void> {
  await writeCloseMarker(directory, { state: 'open', openings })
}

/** After this number of openings without a clean close, every table is checked, whatever the time. */
export const maxUncleanOpenings = 3

/** Requests a check of every table at the next opening, if the disk accepts the write. */
export async function requireFullCheck(directory: string): Promise<void> {
  await ignoreDiskErrors(() => markOpen(directory, maxUncleanOpenings))
}

/** Writes the files of a database that was just closed, if the disk accepts the write. */
export async function markClosed(directory: string): Promise<void> {
  await ignoreDiskErrors(async () =>
    writeCloseMarker(directory, { state: 'closed', files: Object.fromEntries(await listDatabaseFiles(directory)) }),
  )
}

/** A full disk must not prevent the broker from running or stopping. */
async function ignoreDiskErrors(write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error
  }
}

/** Returns the difference between the marker and the files, as text; undefined if there is none. */
export function findMarkerMismatch(marker: CloseMarker, files: ReadonlyMap<string, number>): string | undefined {
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
