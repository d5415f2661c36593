// A power cut, as far as files can tell: what was not synced is gone. lose-unsynced.c notes in the broker what was synced;
// here the rest is taken away once the broker is dead. The noted size of a file is a time between its last sync
// and the note of it, so a write that nobody waited for may survive: as on a real disk.

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
  /** What survived the last cut is safe, whoever synced it. */
  #safeBytes: Map<string, number>

  /** Compiles the library into `folder`; needs gcc. */
  constructor(folder: string, dataDirectory: string) {
    const library = join(folder, 'lose-unsynced.so')
    execFileSync('gcc', ['-O2', '-shared', '-fPIC', '-o', library, source, '-ldl'])
    this.#log = join(folder, 'synced.log')
    this.#dataDirectory = dataDirectory
    this.#safeBytes = new Map()
    this.takenBytes = 0
    this.environment = { LD_PRELOAD: library, UNSYNCED_LOG: this.#log }
  }

  /** The broker is dead. Every file of its data directory is cut to what was synced of it. */
  strike(): void {
    const synced = this.#readSynced()
    for (const path of filesBelow(this.#dataDirectory)) {
      const size = statSync(path).size
      const safe = Math.min(size, synced.get(path) ?? 0)
      this.takenBytes += size - safe
      if (safe < size) truncateSync(path, safe)
      synced.set(path, safe)
    }
    this.#safeBytes = synced
    rmSync(this.#log, { force: true })
  }

  #readSynced(): Map<string, number> {
    const synced = new Map(this.#safeBytes)
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : ''
    for (const line of text.split('\n')) {
      if (line.startsWith('S ')) {
        const [, bytes, path] = /^S (\d+) (.*)$/.exec(line) ?? []
        synced.set(path, Math.max(Number(bytes), synced.get(path) ?? 0))
      } else if (line.startsWith('R ')) {
        const [from, to] = line.slice(2).split('\t')
        synced.set(to, synced.get(from) ?? 0)
        synced.delete(from)
      }
    }
    return synced
  }
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
