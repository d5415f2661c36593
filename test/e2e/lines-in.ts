// Lines of files that a broker writes.

import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/**
 * The lines of all files of a folder whose names match. If a file is renamed while it is read, an assertion fails, and `eventually` repeats
 * the call.
 */
export async function linesIn(folder: string, names = /./): Promise<readonly string[]> {
  const found = (await readdir(folder).catch(() => [])).filter((name) => names.test(name))
  const texts = await Promise.all(
    found.map((name) =>
      readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        assert.notEqual(error.code, 'ENOENT', `${name} was renamed`)
        throw error
      }),
    ),
  )
  return texts.flatMap((text) => text.split('\n').slice(0, -1))
}
