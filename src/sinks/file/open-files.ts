// The files to which the actions of one shard write. Actions with the same file share it, so that lines are not interleaved.

import { LineFile } from './line-file.ts'

interface SharedFile {
  readonly file: LineFile
  users: number
}

const files = new Map<string, SharedFile>()

/** Returns a file, which the caller must release. */
export function acquireFile(path: string): LineFile {
  const known = files.get(path)
  if (known !== undefined) {
    if (known.users++ === 0) known.file.useAgain()
    return known.file
  }
  const file = new LineFile(path)
  files.set(path, { file, users: 1 })
  return file
}

/** A file with a write that the disk has not completed remains until then: a second one would remove the line that is being written as incomplete. */
export function releaseFile({ path }: LineFile): void {
  const shared = files.get(path)
  if (shared === undefined || --shared.users > 0) return
  shared.file.close(() => files.delete(path))
}
