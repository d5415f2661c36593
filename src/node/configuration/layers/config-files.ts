// Reads configuration files for the module config, which reads no files itself. An `include` reads only files below the
// folder of the configuration: a text from a request must not show /etc/shadow.

import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, isAbsolute, relative, resolve } from 'node:path'
import { describeFileError } from '../../../telemetry/index.ts'

export type FileText = { readonly text: string } | { readonly error: string }

/** Maximum size of one file; a configuration is smaller. */
const maxFileBytes = 1_048_576

/** Returns the text of a file, or an error text. */
export function readConfigFile(path: string): FileText {
  try {
    const status = statSync(path)
    if (!status.isFile()) return { error: 'it is not a file' }
    if (status.size > maxFileBytes) return { error: `it has more than ${maxFileBytes} bytes` }
    return { text: readFileSync(path, 'utf8') }
  } catch (error) {
    return { error: describeFileError(error) }
  }
}

/** Returns the absolute path of an `include`. `from` is the file that contains it. */
export function resolveInclude(file: string, path: string, from: string): string {
  if (isAbsolute(path)) return resolve(path)
  return resolve(from === '' ? dirname(resolve(file)) : dirname(resolve(from)), path)
}

/** Returns a reader of includes for the configuration in `file`. `from` is the file that contains the `include`. */
export function createIncludeReader(file: string): (path: string, from: string) => FileText {
  const folder = dirname(resolve(file))
  return (path, from) => {
    const target = resolveInclude(file, path, from)
    const outside = { error: `only files below ${folder} can be included` }
    try {
      const realFolder = realpathSync(folder)
      // The result does not reveal whether other files exist.
      if (!isBelow(target, folder) && !isBelow(target, realFolder)) return outside
      const realTarget = realpathSync(target)
      if (!isBelow(realTarget, realFolder)) return outside
      // The file includes itself through a symbolic link. A text that replaces the file would be valid while the old text is read, and
      // never again.
      if (existsSync(file) && realpathSync(file) === realTarget)
        return { error: 'the file includes itself: remove this include' }
    } catch (error) {
      return { error: describeFileError(error) }
    }
    return readConfigFile(target)
  }
}

/**
 * Returns a reader of files in settings: relative to the folder of the configuration, or without one to the working
 * directory.
 */
export function createNamedFileReader(file: string | undefined): (path: string) => FileText {
  const folder = file === undefined ? '.' : dirname(resolve(file))
  return (path) => readConfigFile(resolve(folder, path))
}

function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path)
  return way !== '' && !way.startsWith('..') && !isAbsolute(way)
}
