// Simulates a power cut with files: unsynced bytes are lost. lose-unsynced.c logs in the broker which bytes were synced;
// this code removes the rest when the broker has ended. A file of which nothing was ever synced is deleted,
// unless its directory was synced after the file was created: then it is empty. A renamed file keeps its new name.

import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const source = fileURLToPath(new URL('./lose-unsynced.c', import.meta.url))

export class PowerLoss {
  /** Environment variables for the process of the broker. */
  readonly environment: NodeJS.ProcessEnv
  /** Bytes that the power cuts have removed so far. */
  takenBytes: number
  readonly #log: string
  readonly #dataDirectory: string
  /** By inode. What survived the last power cut is durable, whichever process synced it. */
  #safe: Map<number, Safety>

  /** Compiles the library into `folder`; needs gcc. */
  constructor(folder: string, dataDirectory: string) {
    const library = join(folder, 'lose-unsynced.so')
    execFileSync('gcc', ['-O1', '-Wall', '-Werror', '-shared', '-fPIC', '-o', library, source, '-ldl'])
    this.#log = join(folder, 'synced.log')
    this.#dataDirectory = dataDirectory
    this.#safe = new Map()
    this.takenBytes = 0
    this.environment = { LD_PRELOAD: library, UNSYNCED_LOG: this.#log }
  }

  /** Truncates every file of the data directory to its synced bytes. The broker must have ended. */
  fail(): void {
    const { files, namesSafeSince } = this.#readNotes()
    this.#safe = new Map()
    for (const path of filesBelow(this.#dataDirectory)) {
      // The marks of batches are never synced. That they survive is the harder case: none may be too high.
      if (path.endsWith('.batches')) continue
      const { size, ino } = statSync(path)
      const { bytes, madeAt } = files.get(ino) ?? { bytes: 0, madeAt: Infinity }
      const safeBytes = Math.min(size, bytes)
      this.takenBytes += size - safeBytes
      const isNamed = safeBytes > 0 || madeAt <= (namesSafeSince.get(statSync(dirname(path)).ino) ?? -1)
      if (!isNamed) rmSync(path)
      else if (safeBytes < size) truncateSync(path, safeBytes)
      if (isNamed) this.#safe.set(ino, { bytes: safeBytes, madeAt: -1 })
    }
    rmSync(this.#log, { force: true })
  }

  /** The logged syncs, in order; times are numbers of lines. */
  #readNotes(): { files: Map<number, Safety>; namesSafeSince: Map<number, number> } {
    const files = new Map(this.#safe)
    const namesSafeSince = new Map<number, number>()
    const text = existsSync(this.#log) ? readFileSync(this.#log, 'utf8') : ''
    for (const [at, line] of text.trim().split('\n').entries()) {
      const [what, inodeText] = line.split(' ')
      const inode = Number(inodeText)
      if (what === 'names') namesSafeSince.set(inode, at)
      else files.set(inode, { bytes: Number(what), madeAt: what === '0' ? at : (files.get(inode)?.madeAt ?? -1) })
    }
    return { files, namesSafeSince }
  }
}

interface Safety {
  readonly bytes: number
  /** When the file was created or truncated. */
  readonly madeAt: number
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
