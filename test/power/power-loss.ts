// A power cut, as far as files can tell: what was not synced is gone. lose-unsynced.c notes in the broker what was synced;
// here the rest is taken away once the broker is dead. A file of which nothing was ever synced is gone altogether, name and
// all; a name that was changed stays changed, whether or not what it names is safe.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('./lose-unsynced.c', import.meta.url))

export class PowerLoss {
  /** For the broker's process. */
  readonly environment: NodeJS.ProcessEnv
  /** Bytes that the cuts have taken so far. */
  takenBytes: number
  readonly #log: string
  readonly #dataDirectory: string
  /** By inode. What survived the last cut is safe, whoever synced it. */
  #safeBytes: Map<number, number>

  /** Compiles the library into `folder`; needs gcc. */
  constructor(folder: string, dataDirectory: string) {
    const library = join(folder, 'lose-unsynced.so')
    execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-shared', '-fPIC', '-o', library, source, '-ldl'])
    this.#log = join(folder, 'synced.log')
    this.#dataDirectory = dataDirectory
    this.#safeBytes = new Map()
    this.takenBytes = 0
    this.environment = { LD_PRELOAD: library, UNSYNCED_LOG: this.#log }
  }

  /** The broker is dead. Every file of its data directory is cut to what was synced of it. */
  strike(): void {
    const synced = this.#readSynced()
    this.#safeBytes = new Map()
    for (const path of filesBelow(this.#dataDirectory)) {
      const { size, ino } = statSync(path)
      const safe = Math.min(size, synced.get(ino) ?? 0)
      this.takenBytes += size - safe
      if (safe === 0) rmSync(path)
      else if (safe < size) truncateSync(path, safe)
      if (safe > 0) this.#safeBytes.set(ino, safe)
    }
    rmSync(this.#log, { force: true })
  }

  #readSynced(): Map<number, number> {
    const synced = new Map(this.#safeBytes)
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : ''
    for (const line of text.split('\n')) {
      const [bytes, inode] = line.split(' ').map(Number)
      if (inode !== undefined) synced.set(inode, bytes)
    }
    return synced
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
