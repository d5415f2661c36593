// Reads configuration files for the configuration's own reader, which is pure and knows no files. An `include` reaches
// only what lies below the folder of the configuration: a text that somebody sent must not show /etc/shadow.

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve } from 'node:path'

export type FileText = { readonly text: string } | { readonly error: string }

/** Bytes of one file; a configuration is smaller. */
const maxFileBytes = 1_048_576

/** The text of a file, or a sentence that says why there is none. */
export function readConfigFile(path: string): FileText {
  try {
    const status = statSync(path)
    if (!status.isFile()) return { error: 'it is not a file' }
    if (status.size > maxFileBytes) return { error: `it has more than ${maxFileBytes} bytes` }
    return { text: readFileSync(path, 'utf8') }
  } catch (error) {
    return { error: reasonOf(error) }
  }
}

/** The file that an `include` means. Absolute. `from` is the file that holds the `include`. */
export function includeTarget(file: string, path: string, from: string): string {
  if (isAbsolute(path)) return resolve(path)
  return resolve(from === '' ? dirname(resolve(file)) : dirname(resolve(from)), path)
}

/** A reader of includes for the configuration in `file`. `from` is the file that holds the `include`. */
export function includeReader(file: string): (path: string, from: string) => FileText {
  const folder = dirname(resolve(file))
  return (path, from) => {
    const target = includeTarget(file, path, from)
    const outside = { error: `only files below ${folder} can be included` }
    try {
      const realFolder = realpathSync(folder)
      // Of what lies elsewhere it is not even told whether it is there.
      if (!isBelow(target, folder) && !isBelow(target, realFolder)) return outside
      const realTarget = realpathSync(target)
      if (!isBelow(realTarget, realFolder)) return outside
      // By a link it has two names. A text that is to take its place would still find it there, and never again.
      if (existsSync(file) && realpathSync(file) === realTarget)
        return { error: 'it is this configuration, which so includes itself' }
    } catch (error) {
      return { error: reasonOf(error) }
    }
    return readConfigFile(target)
  }
}

/** A reader of files that settings name: from the folder of the configuration on, or without one from where we are. */
export function namedFileReader(file: string | undefined): (path: string) => FileText {
  const folder = file === undefined ? '.' : dirname(resolve(file))
  return (path) => readConfigFile(resolve(folder, path))
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && !way.startsWith('..') && !isAbsolute(way)
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  if (code === 'ENOENT') return 'there is no such file'
  if (code === 'EACCES') return 'this account may not read it'
  return message
}
