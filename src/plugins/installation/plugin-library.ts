// The plugins that are installed in a data directory. It knows files only, so commands use it without a running broker as well.
//
//   plugins/installed.json       the list, in the order of the hooks
//   plugins/NAME-VERSION/        the unpacked package
//   plugins/NAME-VERSION.tgz     the archive as it was installed, for backups
//
// A change writes the list last, and deletes old files after it. What a crash leaves between them is deleted at the next start.

import { createReadStream } from 'node:fs'
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory } from '../../telemetry/index.ts'
import { digestDirectory } from '../archives/directory-digest.ts'
import { deleteDrafts, syncFolder, unpackPlugin, type UnpackedPlugin } from '../archives/unpack-plugin.ts'
import { createDefaultConfig, findConfigProblem, type PluginConfig } from '../manifest/config-schema.ts'
import type { PluginManifest } from '../manifest/plugin-manifest.ts'
import { findNewPermissions, formatPermission, parsePermission } from '../manifest/plugin-permissions.ts'
import { moveName, type PluginPosition } from './move-plugin.ts'
import { decodeRecords, encodeRecords, formatVersionedName, type PluginRecord } from './plugin-record.ts'

/** Reasons of version 5 of the API. */
export type PluginRefusalReason =
  | 'ALREADY_INSTALLED'
  | 'BAD_CONFIG'
  | 'BAD_PLUGIN_INFO'
  | 'BAD_POSITION'
  | 'FORBIDDEN'
  | 'MOVE_FAILED'
  | 'NOT_FOUND'
  | 'PARAM_ERROR'

/** Why nothing was changed: `problem` is a sentence for administrators. */
export interface PluginRefusal {
  readonly reason: PluginRefusalReason
  readonly problem: string
}

export interface LibraryPlugin {
  readonly record: PluginRecord
  /** Absolute path of the unpacked package. */
  readonly directory: string
}

/** A version whose files are in place, but which is not in the list yet. */
export interface PreparedPlugin {
  readonly plugin: LibraryPlugin
  /** The version that it replaces. */
  readonly before: LibraryPlugin | undefined
  /** Writes the list, and deletes the files of the version before. */
  commit(isEnabled: boolean): Promise<LibraryPlugin>
  discard(): Promise<void>
}

export interface PrepareOptions {
  /** SHA-256 of archives that may be installed; undefined: all. */
  readonly allowedSha256: readonly string[] | undefined
  readonly isUpgrade: boolean
  readonly nowMs: number
}

const listName = 'installed.json'
const listMode = 0o600
export const maxPlugins = 100
const maxReadmeLength = 262_144

export class PluginLibrary {
  /** Absolute. */
  readonly #directory: string
  readonly #reservedNames: ReadonlySet<string>
  #plugins: readonly LibraryPlugin[] = []

  private constructor(directory: string, reservedNames: ReadonlySet<string>) {
    this.#directory = directory
    this.#reservedNames = reservedNames
  }

  /**
   * `directory`: that of all plugins, which is created. Only one library may be open for a directory. A problem is a sentence: nothing
   * was deleted.
   */
  static async open(
    directory: string,
    reservedNames: ReadonlySet<string>,
  ): Promise<{ readonly library: PluginLibrary } | { readonly problem: string }> {
    await makeDirectory(directory)
    const library = new PluginLibrary(directory, reservedNames)
    const text = await readOptionalFile(join(directory, listName))
    const records = text === undefined ? [] : decodeRecords(text)
    if ('problem' in records) return { problem: `${join(directory, listName)}: ${records.problem}` }
    await deleteDrafts(directory)
    await library.#deleteUnlisted(records)
    library.#plugins = records.map((record) => ({ record, directory: join(directory, formatVersionedName(record)) }))
    return { library }
  }

  /** In the order of the list. */
  list(): readonly LibraryPlugin[] {
    return this.#plugins
  }

  /** `name`: NAME or NAME-VERSION. */
  find(name: string): LibraryPlugin | undefined {
    return this.#plugins.find(({ record }) => record.name === name || formatVersionedName(record) === name)
  }

  /** Unpacks and checks an archive; nothing is installed yet. Rejects for errors of the disk and of the source. */
  async unpack(packed: AsyncIterable<Buffer>, maxArchiveBytes: number): Promise<UnpackedPlugin | PluginRefusal> {
    const options = { pluginsDirectory: this.#directory, reservedNames: this.#reservedNames, maxArchiveBytes }
    const outcome = await unpackPlugin(packed, options)
    return 'plugin' in outcome ? outcome.plugin : { reason: 'BAD_PLUGIN_INFO', problem: outcome.problem }
  }

  /** Puts the files of an unpacked plugin in place, or deletes them and returns why they are not installed. */
  async prepare(plugin: UnpackedPlugin, options: PrepareOptions): Promise<PreparedPlugin | PluginRefusal> {
    try {
      return (await this.#findInstallRefusal(plugin, options)) ?? (await this.#place(plugin, options))
    } finally {
      await plugin.discard()
    }
  }

  /** Deletes files, configuration and state of a plugin. */
  async remove(name: string): Promise<void> {
    const plugin = this.#require(name)
    await this.#writeList(this.#plugins.filter((one) => one !== plugin))
    await this.#deleteFiles(plugin.record)
  }

  async setEnabled(name: string, isEnabled: boolean): Promise<LibraryPlugin> {
    return this.#replaceRecord(name, (record) => ({ ...record, isEnabled }))
  }

  /** The caller has checked the configuration with `findConfigProblem`. */
  async setConfig(name: string, config: PluginConfig): Promise<LibraryPlugin> {
    return this.#replaceRecord(name, (record) => ({ ...record, config }))
  }

  /** Allows the permissions for which a version was refused. Returns them; empty: there are none. */
  async allowPermissions(name: string): Promise<readonly string[]> {
    const { record } = this.#require(name)
    const allowed = [...new Set([...record.allowedPermissions, ...record.refusedPermissions])]
    if (record.refusedPermissions.length > 0) {
      await this.#replaceRecord(name, (one) => ({ ...one, allowedPermissions: allowed, refusedPermissions: [] }))
    }
    return record.refusedPermissions
  }

  /** `pinned`: names of plugins whose positions the configuration sets. Returns why the plugin cannot be moved; undefined: it was moved. */
  async move(name: string, position: PluginPosition, pinned: readonly string[]): Promise<PluginRefusal | undefined> {
    const own = this.#require(name).record.name
    const resolved = this.#resolvePosition(own, position)
    if ('reason' in resolved) return resolved
    const names = 'name' in resolved ? [own, resolved.name] : [own]
    const fixed = names.find((one) => pinned.includes(one))
    if (fixed !== undefined) {
      return { reason: 'MOVE_FAILED', problem: `plugins.order sets the position of ${fixed}: change that setting` }
    }
    const all = this.#plugins.map(({ record }) => record.name)
    await this.setOrder(moveName(all, own, resolved))
    return undefined
  }

  #resolvePosition(own: string, position: PluginPosition): PluginPosition | PluginRefusal {
    if (!('name' in position)) return position
    const name = this.find(position.name)?.record.name
    if (name !== undefined && name !== own) return { at: position.at, name }
    const problem = `${own} cannot be moved ${position.at} ${JSON.stringify(position.name)}: name another installed plugin`
    return { reason: 'BAD_POSITION', problem }
  }

  /** `names`: those of all plugins. */
  async setOrder(names: readonly string[]): Promise<void> {
    await this.#writeList(names.map((name) => this.#require(name)))
  }

  /** Returns why the files are not those that were installed; undefined: they are. */
  async findDamage({ record, directory }: LibraryPlugin): Promise<string | undefined> {
    try {
      if ((await digestDirectory(directory)) === record.directorySha256) return undefined
      return `the files in ${directory} were changed after the installation: install the plugin again`
    } catch (error) {
      return `the files in ${directory} cannot be read (${(error as Error).message}): install the plugin again`
    }
  }

  /** Returns README.md of a plugin, at most 262,144 characters of it; '': it has none. */
  async readReadme({ directory }: LibraryPlugin): Promise<string> {
    for (const name of ['README.md', 'readme.md', 'README']) {
      const text = await readOptionalFile(join(directory, name))
      if (text !== undefined) return text.slice(0, maxReadmeLength)
    }
    return ''
  }

  /** Returns the archive of a plugin with its size, for backups. */
  async readArchive({ record }: LibraryPlugin): Promise<{ readonly bytes: number; read(): AsyncIterable<Buffer> }> {
    const path = this.#toArchivePath(record)
    const { size } = await stat(path)
    return { bytes: size, read: () => createReadStream(path) as AsyncIterable<Buffer> }
  }

  async #findInstallRefusal(
    { manifest, sha256 }: UnpackedPlugin,
    { allowedSha256, isUpgrade }: PrepareOptions,
  ): Promise<PluginRefusal | undefined> {
    const { name, version, permissions } = manifest
    if (allowedSha256 !== undefined && !allowedSha256.includes(sha256)) {
      const problem = `the archive has the SHA-256 ${sha256}, which plugins.allowed_sha256 does not list: check the archive, and add it`
      return { reason: 'FORBIDDEN', problem }
    }
    const before = this.find(name)
    const directory = formatVersionedName(manifest)
    if (this.#plugins.some(({ record }) => formatVersionedName(record) === directory)) {
      const problem = `${directory} is installed: uninstall it, or install another version`
      return { reason: 'ALREADY_INSTALLED', problem }
    }
    if (before === undefined) {
      if (this.#plugins.length < maxPlugins) return undefined
      return { reason: 'BAD_PLUGIN_INFO', problem: `${maxPlugins} plugins are installed, which is the maximum` }
    }
    if (!isUpgrade) {
      const problem = `version ${before.record.version} of ${name} is installed: upgrade it, or uninstall it`
      return { reason: 'ALREADY_INSTALLED', problem }
    }
    const known = before.record.allowedPermissions.flatMap((text) => {
      const permission = parsePermission(text)
      return 'problem' in permission ? [] : [permission]
    })
    const added = findNewPermissions(permissions, known).map(formatPermission)
    if (added.length === 0) return undefined
    await this.#replaceRecord(name, (record) => ({ ...record, refusedPermissions: added }))
    const problem = `version ${version} of ${name} has more permissions (${added.join(', ')}): allow them with "godwit plugins allow ${name}", then upgrade again`
    return { reason: 'FORBIDDEN', problem }
  }

  async #place(unpacked: UnpackedPlugin, { nowMs }: PrepareOptions): Promise<PreparedPlugin> {
    const { manifest, sha256, directorySha256 } = unpacked
    const before = this.find(manifest.name)
    const names = { name: manifest.name, version: manifest.version }
    const directory = join(this.#directory, formatVersionedName(names))
    await this.#deleteFiles(names)
    await rename(unpacked.archive, this.#toArchivePath(names))
    await rename(unpacked.directory, directory)
    await syncFolder(this.#directory)
    const schema = await readSchema(directory, manifest)
    const config = before?.record.config ?? (schema === undefined ? {} : createDefaultConfig(schema))
    const wanted = manifest.permissions.map(formatPermission)
    const record: PluginRecord = {
      ...names,
      manifest,
      schema,
      sha256,
      directorySha256,
      isEnabled: false,
      config,
      allowedPermissions: [...new Set([...(before?.record.allowedPermissions ?? []), ...wanted])],
      refusedPermissions: [],
      installedAtMs: nowMs,
    }
    const plugin = { record, directory }
    return {
      plugin,
      before,
      commit: async (isEnabled) => {
        const added = { ...plugin, record: { ...record, isEnabled } }
        const list = this.#plugins.map((one) => (one === before ? added : one))
        await this.#writeList(before === undefined ? [...list, added] : list)
        if (before !== undefined) await this.#deleteFiles(before.record)
        return added
      },
      discard: () => this.#deleteFiles(names),
    }
  }

  /** Deletes versions that are not in the list. Other files and directories stay. */
  async #deleteUnlisted(records: readonly PluginRecord[]): Promise<void> {
    const listed = new Set(records.flatMap((record) => [formatVersionedName(record), toArchiveName(record)]))
    for (const name of await readdir(this.#directory)) {
      if (!/^[a-z][a-z0-9._-]*-\d+\.\d+\.\d+/.test(name) || listed.has(name)) continue
      await rm(join(this.#directory, name), { recursive: true, force: true })
    }
  }

  #require(name: string): LibraryPlugin {
    const plugin = this.find(name)
    if (plugin === undefined) throw new Error(`the plugin ${name} is not installed`)
    return plugin
  }

  async #replaceRecord(name: string, change: (record: PluginRecord) => PluginRecord): Promise<LibraryPlugin> {
    const plugin = this.#require(name)
    const changed = { ...plugin, record: change(plugin.record) }
    await this.#writeList(this.#plugins.map((one) => (one === plugin ? changed : one)))
    return changed
  }

  async #writeList(plugins: readonly LibraryPlugin[]): Promise<void> {
    const path = join(this.#directory, listName)
    const draft = `${path}.new`
    await rm(draft, { force: true })
    const file = await open(draft, 'wx', listMode)
    try {
      await file.writeFile(encodeRecords(plugins.map(({ record }) => record)))
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, path)
    await syncFolder(this.#directory)
    this.#plugins = plugins
  }

  async #deleteFiles(names: Pick<PluginRecord, 'name' | 'version'>): Promise<void> {
    await rm(join(this.#directory, formatVersionedName(names)), { recursive: true, force: true })
    await rm(this.#toArchivePath(names), { force: true })
  }

  #toArchivePath(names: Pick<PluginRecord, 'name' | 'version'>): string {
    return join(this.#directory, toArchiveName(names))
  }
}

/** Returns why a plugin cannot start with its configuration; undefined: it can. */
export function findStoredConfigProblem({ record: { schema, config } }: LibraryPlugin): string | undefined {
  if (schema === undefined) return undefined
  const problem = findConfigProblem(schema, config)
  return problem === undefined ? undefined : `its configuration is not what its schema allows: ${problem}`
}

function toArchiveName(names: Pick<PluginRecord, 'name' | 'version'>): string {
  return `${formatVersionedName(names)}.tgz`
}

async function readSchema(directory: string, { configSchema }: PluginManifest): Promise<string | undefined> {
  return configSchema === undefined ? undefined : readFile(join(directory, configSchema), 'utf8')
}

/** undefined: there is no such file. */
async function readOptionalFile(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
