// A file of lines that exceeds its limit by one line at most. Only this file imports rotating-file-stream.
//
//   godwit.log  ->  godwit.log.1  ->  godwit.log.2  -> ... -> godwit.log.<count>  ->  deleted

import { lstat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createStream } from 'rotating-file-stream'
import { makeDirectory } from './make-directory.ts'

export interface RotatingFileOptions {
  readonly directory: string
  readonly file: string
  readonly rotationSizeBytes: number
  /** Maximum number of older files beside the current one: at least 1. */
  readonly rotationCount: number
  /** Called once when the file cannot be written any more; it is closed then. */
  onFailure(error: Error): void
}

export interface RotatingFile {
  /** Returns false if more than `maxWaitingBytes` wait for the disk: the line is dropped. */
  write(line: string): boolean
  /** Resolves when all lines were passed to the operating system. */
  close(): Promise<void>
}

/** Maximum bytes of lines that wait in memory for a slow disk. */
const maxWaitingBytes = 4 * 1_024 * 1_024
/** Lines contain client IDs and addresses: only the owner can read them. */
const fileMode = 0o600

/** Opens the file, and creates its directory if it is missing. Rejects with the error of the operating system if that fails. */
export async function openRotatingFile(options: RotatingFileOptions): Promise<RotatingFile> {
  const { directory, file, rotationSizeBytes, rotationCount } = options
  await makeDirectory(directory)
  await restrict(join(directory, file))
  const stream = createStream(file, {
    path: directory,
    size: `${rotationSizeBytes}B`,
    rotate: Math.max(1, rotationCount),
    mode: fileMode,
  })
  return new Promise((resolve, reject) => {
    let isOpen = false
    stream.on('error', (error) => {
      if (isOpen) options.onFailure(error)
      else reject(error)
    })
    stream.once('open', () => {
      isOpen = true
      resolve({
        write(line: string): boolean {
          if (stream.destroyed || stream.writableLength > maxWaitingBytes) return false
          stream.write(line)
          return true
        },
        close: () =>
          new Promise((closed) => {
            if (stream.destroyed) closed()
            else stream.end(() => closed())
          }),
      })
    })
  })
}

/** Creates the file for the owner only; removes the permissions of others from an existing file. A link stays unchanged. */
async function restrict(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined)
  if (there !== undefined && !there.isFile()) return
  await using handle = await open(path, 'a', fileMode)
  await handle.chmod(fileMode)
}
