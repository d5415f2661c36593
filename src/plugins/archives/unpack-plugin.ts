// Unpacks the archive of a plugin into a new directory, and checks it while it is read. An archive that is refused leaves nothing on disk.
//
//   pieces ─► SHA-256, size ─┬─► ARCHIVE.tgz                       for backups
//                            └─► gunzip, tar, names ─► DIRECTORY   synced; the caller renames both

import { createHash, randomUUID } from 'node:crypto'
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type ArchiveMember, InvalidArchive, readArchiveMembers } from '../../archives/index.ts'
import { quoteText } from '../../values/index.ts'
import { BadPlugin } from '../manifest/bad-plugin.ts'
import { checkConfigSchema } from '../manifest/config-schema.ts'
import { parseManifest, parseObject, refuseInstallScripts } from '../manifest/parse-manifest.ts'
import { pluginLimits } from '../manifest/plugin-limits.ts'
import type { PluginManifest } from '../manifest/plugin-manifest.ts'
import { combineDigests } from './directory-digest.ts'
import { PackageNames } from './package-names.ts'

/** Beginning of the names of drafts in the directory of plugins. A crash can leave them: the next start deletes them. */
export const draftPrefix = '.unpack-'

/** Readable for the process of the plugin, which may have another user ID. */
const fileMode = 0o644
const directoryMode = 0o755

export interface UnpackedPlugin {
  readonly manifest: PluginManifest
  /** SHA-256 of the archive. */
  readonly sha256: string
  /** SHA-256 of the unpacked files: `directory-digest.ts`. */
  readonly directorySha256: string
  /** Directory with the files of the package. */
  readonly directory: string
  /** Copy of the archive. */
  readonly archive: string
  /** Deletes both, unless they were renamed. */
  discard(): Promise<void>
}

export interface UnpackOptions {
  /** Directory of all plugins, which exists. */
  readonly pluginsDirectory: string
  /** Maximum bytes of the archive. */
  readonly maxArchiveBytes: number
  /** Names that no plugin can have. */
  readonly reservedNames: ReadonlySet<string>
}

export type UnpackOutcome = { readonly plugin: UnpackedPlugin } | { readonly problem: string }

/** A problem is a sentence about the archive. Rejects for errors of the disk, and of the source of the pieces; nothing is left then. */
export async function unpackPlugin(packed: AsyncIterable<Buffer>, options: UnpackOptions): Promise<UnpackOutcome> {
  const draft = join(options.pluginsDirectory, `${draftPrefix}${randomUUID()}`)
  const archive = `${draft}.tgz`
  const discard = async (): Promise<void> => {
    await rm(draft, { recursive: true, force: true })
    await rm(archive, { force: true })
  }
  try {
    await mkdir(draft, { mode: 0o700 })
    const copy = await ArchiveCopy.create(archive, options.maxArchiveBytes)
    const unpacking = new Unpacking(draft)
    try {
      const form = { folder: undefined, ...pluginLimits }
      for await (const member of readArchiveMembers(copy.readPieces(packed), form)) await unpacking.addMember(member)
    } finally {
      await copy.close()
    }
    const manifest = await unpacking.finish(options.reservedNames)
    const { sha256 } = copy
    const digests = { sha256, directorySha256: combineDigests(unpacking.digests) }
    return { plugin: { manifest, ...digests, directory: draft, archive, discard } }
  } catch (error) {
    await discard()
    if (error instanceof BadPlugin) return { problem: error.message }
    if (error instanceof InvalidArchive) return { problem: `the archive cannot be used: ${error.message}` }
    throw error
  }
}

/** Deletes what unfinished installations have left behind. */
export async function deleteDrafts(pluginsDirectory: string): Promise<void> {
  for (const name of await readdir(pluginsDirectory)) {
    if (name.startsWith(draftPrefix)) await rm(join(pluginsDirectory, name), { recursive: true, force: true })
  }
}

/** Copies the archive to a file while it is read. */
class ArchiveCopy {
  readonly #file: FileHandle
  readonly #maxBytes: number
  readonly #hash = createHash('sha256')
  #bytes = 0
  #digest: string | undefined

  private constructor(file: FileHandle, maxBytes: number) {
    this.#file = file
    this.#maxBytes = maxBytes
  }

  static async create(path: string, maxBytes: number): Promise<ArchiveCopy> {
    return new ArchiveCopy(await open(path, 'wx', 0o600), maxBytes)
  }

  /** Valid after the last piece was read. */
  get sha256(): string {
    this.#digest ??= this.#hash.digest('hex')
    return this.#digest
  }

  async *readPieces(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      this.#bytes += piece.length
      if (this.#bytes > this.#maxBytes) {
        throw new BadPlugin(`the archive has more than ${this.#maxBytes} bytes: see plugins.max_archive`)
      }
      this.#hash.update(piece)
      await this.#file.writeFile(piece)
      yield piece
    }
  }

  async close(): Promise<void> {
    try {
      await this.#file.sync()
    } finally {
      await this.#file.close()
    }
  }
}

const packageFile = /^(?:.*\/)?package\.json$/

/** The files of one package, as they are written to a directory. */
class Unpacking {
  readonly digests = new Map<string, string>()
  readonly #directory: string
  readonly #names = new PackageNames()
  readonly #folders = new Set<string>()
  #packageText: string | undefined

  constructor(directory: string) {
    this.#directory = directory
  }

  async addMember(member: ArchiveMember): Promise<void> {
    this.#names.add(member.name)
    const path = join(this.#directory, member.name)
    await this.#createFolders(dirname(member.name))
    const text = packageFile.test(member.name) ? await this.#writePackageFile(member, path) : undefined
    if (text === undefined) this.digests.set(member.name, await writeFile(path, member.readContent()))
    else if (member.name === 'package.json') this.#packageText = text
    else checkBundledPackage(member.name, text)
  }

  /** Checks the package when all files are there, and makes the directory durable. Throws BadPlugin. */
  async finish(reservedNames: ReadonlySet<string>): Promise<PluginManifest> {
    if (this.#packageText === undefined) throw new BadPlugin('the archive has no package.json: pack it with npm pack')
    const { manifest, dependencies } = parseManifest(this.#packageText, reservedNames)
    this.#expectFile(manifest.main, 'the entry main')
    for (const name of dependencies) {
      if (this.digests.has(`node_modules/${name}/package.json`)) continue
      throw new BadPlugin(`the dependency ${quoteText(name)} is not in the archive: add it to bundleDependencies`)
    }
    if (manifest.configSchema !== undefined) {
      this.#expectFile(manifest.configSchema, 'the schema godwit.config')
      checkConfigSchema(await readFile(join(this.#directory, manifest.configSchema), 'utf8'), manifest.configSchema)
    }
    for (const folder of [...this.#folders].toReversed()) await syncFolder(join(this.#directory, folder))
    await syncFolder(this.#directory)
    return manifest
  }

  #expectFile(path: string, label: string): void {
    if (!this.digests.has(path))
      throw new BadPlugin(`${label}, ${quoteText(path)}, is not in the archive: add the file`)
  }

  async #createFolders(folder: string): Promise<void> {
    if (folder === '.' || this.#folders.has(folder)) return
    await this.#createFolders(dirname(folder))
    const path = join(this.#directory, folder)
    await mkdir(path)
    await setMode(path, directoryMode)
    this.#folders.add(folder)
  }

  async #writePackageFile(member: ArchiveMember, path: string): Promise<string> {
    if (member.bytes > pluginLimits.maxPackageBytes) {
      throw new BadPlugin(
        `${quoteText(member.name)} has ${member.bytes} bytes; maximum ${pluginLimits.maxPackageBytes}`,
      )
    }
    const pieces: Buffer[] = []
    for await (const piece of member.readContent()) pieces.push(piece)
    this.digests.set(member.name, await writeFile(path, pieces))
    return Buffer.concat(pieces).toString('utf8')
  }
}

function checkBundledPackage(path: string, text: string): void {
  // Test data of packages may be any JSON: only the package itself, the folder below node_modules, can have scripts.
  if (/(?:^|\/)node_modules\/(?:@[^/]+\/)?[^/]+\/package\.json$/.test(path)) {
    refuseInstallScripts(parseObject(text, quoteText(path)), quoteText(path))
  }
}

/** Writes a new file and syncs it. Returns its SHA-256. */
async function writeFile(path: string, pieces: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<string> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx', fileMode)
  try {
    for await (const piece of pieces) {
      hash.update(piece)
      await file.writeFile(piece)
    }
    await file.chmod(fileMode)
    await file.sync()
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

async function setMode(path: string, mode: number): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.chmod(mode)
  } finally {
    await folder.close()
  }
}

/** Makes the names in a folder durable. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
