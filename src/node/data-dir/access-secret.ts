// A secret of this node that stays the same: values derived from it look random.

import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const secretBytes = 32

/** Reads the secret from the data directory, or creates it at the first start. */
export async function settleAccessSecret(directory: string): Promise<Uint8Array> {
  const path = join(directory, 'access-secret')
  const found = await readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (found?.length === secretBytes) return found
  const made = randomBytes(secretBytes)
  // In one step: an incomplete secret would be replaced at the next start.
  await writeFile(`${path}.new`, made, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
  return made
}
