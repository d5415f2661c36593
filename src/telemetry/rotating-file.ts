// The one place that knows rotating-file-stream: a file of lines that never grows beyond its size by more than a line.
//
//   godwit.log  ->  godwit.log.1  ->  godwit.log.2  -> ... -> godwit.log.<count>  ->  gone

import { lstat, mkdir, open } from 'node:fs/promises'
import { join } from 'node:path'
import { createStream } from 'rotating-file-stream'

export interface RotatingFileOptions {
  readonly directory: string
  readonly file: string
  readonly rotationSizeBytes: number
  /** Older files that are kept beside the current one: at least 1. */
  readonly rotationCount: number
  /** The file cannot be written any more. Called once; the file is closed. */
  onFault(error: Error): void
}

export interface RotatingFile {
  /** False where the disk is behind by more than `maxWaitingBytes`: the line is dropped. */
  write(line: string): boolean
  /** Everything written is with the system when it resolves. */
  close(): Promise<void>
}

/** Lines that may wait in memory for a slow disk. */
const maxWaitingBytes = 4 * 1_024 * 1_024
/** Lines name clients and addresses: for the owner alone. */
const fileMode = 0o600
const directoryMode = 0o700

/** Opens the file, and makes its directory where it is missing. Rejects with the system's error where it cannot. */
export async function openRotatingFile(options: RotatingFileOptions): Promise<RotatingFile> {
  const { directory, file, rotationSizeBytes, rotationCount } = options
  await mkdir(directory, { recursive: true, mode: directoryMode })
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
      if (isOpen) options.onFault(error)
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

/** Makes the file where it is missing, for the owner alone, and takes rights of others from one that is there. A link is left as it is. */
async function restrict(path: string): Promise<void> {
  const there = await lstat(path).catch(() => undefined)
  if (there !== undefined && !there.isFile()) return
  await using handle = await open(path, 'a', fileMode)
  await handle.chmod(fileMode)
}
