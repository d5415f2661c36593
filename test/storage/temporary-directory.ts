// A directory for one test, gone after it.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** The path of a database in a new directory: the database itself does not exist yet. */
export function temporaryDatabase(context: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'godwit-storage-'))
  context.after(() => rmSync(directory, { recursive: true, force: true }))
  return join(directory, 'messages')
}
