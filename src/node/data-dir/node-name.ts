// A node keeps its name when the address or host name of its machine changes: the name is stored with its data.

import { readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { dataEntries } from './data-entries.ts'
import { describeFileError } from '../../telemetry/index.ts'

const nameFile = dataEntries.nodeName

/** Returns the configured name, or the stored one, or one derived from the host name. */
export async function settleNodeName(
  dataDirectory: string,
  configured: string | undefined,
): Promise<string | { readonly problem: string }> {
  const path = join(dataDirectory, nameFile)
  let known: string | undefined
  try {
    known = await readName(path)
  } catch (error) {
    return { problem: `${path}: ${describeFileError(error)}: make it a readable file, or delete it and set node.name` }
  }
  const name = configured ?? known ?? `godwit@${hostname()}`
  if (name === known) return name
  // In one step: a name that is written half would be another name.
  await writeFile(`${path}.new`, `${name}\n`, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
  return name
}

async function readName(path: string): Promise<string | undefined> {
  try {
    const name = (await readFile(path, 'utf8')).trim()
    return name === '' ? undefined : name
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
