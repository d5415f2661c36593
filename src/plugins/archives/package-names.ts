// Checks paths of files in an archive of a plugin, beyond what the module archives checks of every archive.

import { quoteText } from '../../values/index.ts'
import { BadPlugin } from '../manifest/bad-plugin.ts'
import { pluginLimits } from '../manifest/plugin-limits.ts'

/** Paths of one package. File systems that ignore case, or the form of letters, must show the same files. */
export class PackageNames {
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()

  /** Throws BadPlugin if no file may have this path. */
  add(path: string): void {
    const levels = path.split('/')
    const isTooLong = Buffer.byteLength(path) > pluginLimits.maxPathBytes
    if (isTooLong || levels.some((level) => Buffer.byteLength(level) > pluginLimits.maxLevelBytes)) {
      const { maxPathBytes, maxLevelBytes } = pluginLimits
      throw new BadPlugin(
        `${quoteText(path)} is too long: maximum ${maxPathBytes} bytes, and ${maxLevelBytes} for each level`,
      )
    }
    refuseNativeCode(path, levels.at(-1) ?? '')
    const folded = fold(path)
    if (this.#files.has(folded) || this.#folders.has(folded)) {
      throw new BadPlugin(`${quoteText(path)} differs from another file only in upper and lower case`)
    }
    for (let count = 1; count < levels.length; count++) {
      const folder = fold(levels.slice(0, count).join('/'))
      if (this.#files.has(folder)) throw new BadPlugin(`${quoteText(path)} is below a file`)
      this.#folders.add(folder)
    }
    this.#files.add(folded)
  }

  hasFile(path: string): boolean {
    return this.#files.has(fold(path))
  }
}

function refuseNativeCode(path: string, name: string): void {
  if (!/\.node$/i.test(name) && name.toLowerCase() !== 'binding.gyp') return
  throw new BadPlugin(`${quoteText(path)} is native code, which a plugin must not have: use a package without it`)
}

function fold(path: string): string {
  return path.normalize('NFC').toLowerCase()
}
