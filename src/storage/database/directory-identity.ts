// Whether the directory of the open database is still the one at its path. A file that was deleted, or whose directory was renamed, unmounted or
// replaced, can be written and synced as before; but no later start finds it. So a write counts only if the path leads to the same files after it.

import { type Stats, statSync } from 'node:fs'
import { join } from 'node:path'

/** LevelDB creates it at the first opening, and neither replaces nor deletes it. */
const lockFile = 'LOCK'

export class DirectoryIdentity {
  readonly #directory: string
  readonly #path: string
  readonly #device: number
  readonly #inode: number

  /** Of the database that was just opened in `directory`. */
  constructor(directory: string) {
    this.#directory = directory
    this.#path = join(directory, lockFile)
    const { dev, ino } = statSync(this.#path)
    this.#device = dev
    this.#inode = ino
  }

  /** Throws if the path leads to other files, or to none. Takes 2 microseconds, a thirtieth of a small commit. */
  check(): void {
    const found = this.#find()
    if (found?.ino === this.#inode && found.dev === this.#device) return
    const text = `${this.#directory} was deleted, renamed, unmounted or replaced while it was in use: put it back, or stop the broker and start it again`
    throw Object.assign(new Error(text), { code: 'DIRECTORY_GONE' })
  }

  #find(): Stats | undefined {
    try {
      return statSync(this.#path, { throwIfNoEntry: false })
    } catch {
      // A part of the path is no directory any more, or this account may not enter it.
      return undefined
    }
  }
}
