// `godwit man`: manual pages, for a reader or for an installation.

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../telemetry/index.ts'
import type { ManPage } from './man-pages.ts'
import { exitCodes, type Terminal } from './terminal/terminal.ts'

export interface ManRequest {
  readonly pages: readonly ManPage[]
  /** Undefined: the page of `godwit`. */
  readonly command: string | undefined
  /** Folder for all pages; undefined: one page is printed. */
  readonly directory: string | undefined
}

/** Returns the exit code. */
export async function runManCommand({ pages, command, directory }: ManRequest, terminal: Terminal): Promise<number> {
  if (directory === undefined) {
    const file = command === undefined ? 'godwit.1' : `godwit-${command}.1`
    const page = pages.find((one) => one.file === file)
    const known = pages.map((one) => one.file.replace(/^godwit-?|\.1$/g, '')).filter((name) => name !== '')
    if (page === undefined) {
      terminal.fail(`no manual page for ${JSON.stringify(command)}; use one of ${known.join(', ')}`)
      return exitCodes.wrongUsage
    }
    terminal.print(page.text)
    return exitCodes.done
  }
  try {
    await makeDirectory(directory, 0o777)
    for (const { file, text } of pages) await writeFile(join(directory, file), text)
  } catch (error) {
    return terminal.fail(`${directory}: ${(error as Error).message}`)
  }
  terminal.print(`${pages.length} manual pages in ${directory}\n`)
  return exitCodes.done
}
