// The secret of the control socket. Every process of the same user can connect to the socket, also one under Node's permission model. Only one
// that can read this file is an administrator.

import { randomBytes } from 'node:crypto'
import { rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataEntries } from './data-entries.ts'

const secretBytes = 32

export interface ControlSecret {
  /** Hexadecimal. */
  readonly secret: string
  /** Deletes the file. */
  remove(): Promise<void>
}

/** Makes a new secret. The lock of the data directory is held. Rejects for errors of the file system. */
export async function writeControlSecret(dataDirectory: string): Promise<ControlSecret> {
  const path = join(dataDirectory, dataEntries.controlSecret)
  const secret = randomBytes(secretBytes).toString('hex')
  // In one step: a program that reads the file must not find a part of it.
  await writeFile(`${path}.new`, secret, { mode: 0o600 })
  await rename(`${path}.new`, path)
  return { secret, remove: () => rm(path, { force: true }) }
}
