// The built files of the dashboard, which contain no data of the broker. They are read at the first request, so that
// they use no memory before.

import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** One file with its compressed forms from the build. */
export interface DashboardFile {
  readonly type: string
  readonly plain: Buffer
  readonly gzip: Buffer | undefined
  readonly brotli: Buffer | undefined
}

/** Maximum files of a build; a build has about 50. */
const maxFiles = 500
/** Maximum size of all files together. */
const maxBytes = 16 * 1_024 * 1_024

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const pageName = 'index.html'

/** The files of one directory, read once. */
export class DashboardFiles {
  readonly #directory: string
  #files: Promise<ReadonlyMap<string, DashboardFile>> | undefined

  constructor(directory: string) {
    this.#directory = directory
    this.#files = undefined
  }

  /** Returns undefined if the dashboard was not built. */
  async readPage(): Promise<DashboardFile | undefined> {
    return (await this.#read()).get(pageName)
  }

  async readAsset(name: string): Promise<DashboardFile | undefined> {
    return (await this.#read()).get(`assets/${name}`)
  }

  async #read(): Promise<ReadonlyMap<string, DashboardFile>> {
    this.#files ??= readAll(this.#directory)
    const files = await this.#files
    // The dashboard may be built later.
    if (files.size === 0) this.#files = undefined
    return files
  }
}

async function readAll(directory: string): Promise<ReadonlyMap<string, DashboardFile>> {
  const bytes = new Map<string, Buffer>()
  let total = 0
  for (const folder of ['', 'assets']) {
    for (const name of await listFileNames(join(directory, folder))) {
      const content = await readFile(join(directory, folder, name))
      total += content.byteLength
      if (bytes.size >= maxFiles || total > maxBytes) {
        throw new Error(
          `the dashboard in ${directory} has more than ${maxFiles} files or ${maxBytes} bytes: build it again`,
        )
      }
      bytes.set(folder === '' ? name : `${folder}/${name}`, content)
    }
  }
  const files = new Map<string, DashboardFile>()
  for (const [name, plain] of bytes) {
    const type = types[extname(name)]
    if (type !== undefined)
      files.set(name, { type, plain, gzip: bytes.get(`${name}.gz`), brotli: bytes.get(`${name}.br`) })
  }
  return files
}

async function listFileNames(folder: string): Promise<string[]> {
  try {
    const entries = await readdir(folder, { withFileTypes: true })
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  } catch (error) {
    // In a checkout, the dashboard may not be built.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
