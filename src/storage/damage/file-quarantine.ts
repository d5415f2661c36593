// Damaged records in a file next to the database.

import { appendFile, stat } from 'node:fs/promises'
import type { DamagedEntry, Quarantine } from './bad-records.ts'

/** Maximum size of the file: disk space is more important than the evidence. */
const maxFileBytes = 64 * 1_024 * 1_024

/** One line per record: JSON with the reason, and key and value in base64. */
export class FileQuarantine implements Quarantine {
  readonly name: string

  constructor(file: string) {
    this.name = file
  }

  async add(damaged: readonly DamagedEntry[]): Promise<void> {
    if ((await readFileSize(this.name)) >= maxFileBytes) return
    const lines = damaged.map(({ entry: [key, value], reason }) =>
      JSON.stringify({ reason, key: key.toString('base64'), value: value.toString('base64') }),
    )
    await appendFile(this.name, `${lines.join('\n')}\n`, { mode: 0o600, flush: true })
  }
}

async function readFileSize(file: string): Promise<number> {
  try {
    return (await stat(file)).size
  } catch {
    return 0 // The file does not exist yet.
  }
}
