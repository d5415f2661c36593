// A secret of this node that stays the same: values derived from it look random, and tokens of the API are signed with it.

import { randomBytes } from 'node:crypto'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFileError } from '../../telemetry/index.ts'
import { dataEntries } from './data-entries.ts'
import { wasUsed } from './earlier-run.ts'

const secretBytes = 32

export type AccessSecret =
  | {
      readonly secret: Uint8Array
      /** Text of the alarm if the secret of an earlier run is lost; undefined: it is not. */
      readonly loss: string | undefined
    }
  | { readonly problem: string }

/** Reads the secret from the data directory, or creates it at the first start. */
export async function settleAccessSecret(directory: string): Promise<AccessSecret> {
  const path = join(directory, dataEntries.accessSecret)
  let found: Buffer | undefined
  try {
    found = await readFile(path)
  } catch (error) {
    // A secret that cannot be read may come back: it is not replaced.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') return { problem: describeUnreadable(path, error) }
  }
  if (found?.length === secretBytes) return { secret: found, loss: undefined }
  const made = randomBytes(secretBytes)
  const wasThere = found !== undefined || (await wasUsed(directory))
  // In one step: an incomplete secret would be replaced at the next start.
  await writeFile(`${path}.new`, made, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
  return { secret: made, loss: wasThere ? describeLoss(path, found) : undefined }
}

function describeUnreadable(path: string, error: unknown): string {
  return `${path}: ${describeFileError(error)}: make it readable for this account, or restore it; without it, delete it, and all users of the API log in again`
}

function describeLoss(path: string, found: Buffer | undefined): string {
  const state = found === undefined ? 'was missing' : `had ${found.length} bytes instead of ${secretBytes}`
  return `${path} ${state} and was replaced: users of the API must log in again, and bridges do not recognize messages that this broker sent before. If you have a copy, stop the broker and restore it.`
}
