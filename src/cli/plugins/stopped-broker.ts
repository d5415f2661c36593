// Plugins in the data directory of a broker that does not run. The directory is locked meanwhile, as by a broker.

import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { formatConfigError, type GodwitConfig, reservedPluginNames } from '../../config/index.ts'
import {
  type AuditLog,
  dataEntries,
  type Installation,
  lockDirectory,
  openAuditLog,
  prepareDataDirectory,
  readConfiguration,
} from '../../node/index.ts'
import {
  findStoredConfigProblem,
  formatPermission,
  type LibraryPlugin,
  orderNames,
  parsePosition,
  PluginLibrary,
  type PluginRefusal,
} from '../../plugins/index.ts'
import { describeFileError, type Log } from '../../telemetry/index.ts'
import type { Outcome } from '../ctl/ctl-command.ts'
import type { Terminal } from '../terminal/terminal.ts'
import { describeAllowed, describeInstalled, pluginColumns, type PluginTarget } from './plugin-target.ts'

export interface StoppedBrokerOptions {
  readonly directory: string
  /** Configuration file; undefined: the one that `godwit start` would use. */
  readonly config: string | undefined
  readonly installation: Installation
  readonly terminal: Terminal
}

/** Runs a command while the directory is locked. */
export async function withStoppedBroker(
  options: StoppedBrokerOptions,
  run: (target: PluginTarget) => Promise<Outcome>,
): Promise<Outcome> {
  const { directory, installation, terminal } = options
  const request = { file: options.config, dataDirectory: directory, overrides: [], environment: process.env }
  const read = readConfiguration({ ...request, installation })
  if ('problem' in read) return { problem: read.problem }
  if ('errors' in read) return { problem: read.errors.map(formatConfigError).join('; ') }
  const prepared = await prepareDataDirectory(directory)
  if ('problem' in prepared) return { problem: prepared.problem }
  const foreign = await findForeignOwner(prepared.path)
  if (foreign !== undefined) return { problem: foreign }
  const locked = await lockDirectory(prepared.path)
  if ('problem' in locked) return { problem: locked.problem }
  const audit = openAuditLog(prepared.path, createErrorLog(terminal), read.config.maxAuditBytes)
  try {
    const opened = await PluginLibrary.open(join(prepared.path, dataEntries.plugins), reservedPluginNames)
    if ('problem' in opened) return { problem: opened.problem }
    return await run(new StoppedTarget(opened.library, read.config, audit))
  } finally {
    await audit.close()
    await locked.lock.release()
  }
}

/** The broker could not read files that another account has written. */
async function findForeignOwner(directory: string): Promise<string | undefined> {
  const { uid } = await stat(directory)
  const own = process.getuid?.()
  if (own === undefined || own === uid) return undefined
  return `${directory} belongs to another account (user ID ${uid}): run the command as the user that runs the broker`
}

const ignoreEvent = (): void => {}

function createErrorLog(terminal: Terminal): Log {
  const error: Log['error'] = (event, fields) => void terminal.fail(`${event} ${JSON.stringify(fields ?? {})}`)
  return { error, warn: error, info: ignoreEvent, debug: ignoreEvent }
}

class StoppedTarget implements PluginTarget {
  readonly #library: PluginLibrary
  readonly #config: GodwitConfig['plugins']
  readonly #audit: AuditLog

  constructor(library: PluginLibrary, { plugins }: GodwitConfig, audit: AuditLog) {
    this.#library = library
    this.#config = plugins
    this.#audit = audit
  }

  async list(): Promise<Outcome> {
    const names = this.#library.list().map(({ record }) => record.name)
    const plugins = orderNames(names, this.#config.order).flatMap((name) => this.#library.find(name) ?? [])
    const rows = plugins.map(({ record: { name, version, isEnabled, manifest, sha256 } }) => ({
      name,
      version,
      status: 'stopped',
      enabled: isEnabled,
      network: 'unknown',
      permissions: manifest.permissions.map(formatPermission).join(' '),
      hooks: manifest.hooks.join(' '),
      problem: '',
      sha256,
    }))
    return { rows, columns: pluginColumns }
  }

  async install(path: string, { isUpgrade }: { readonly isUpgrade: boolean }): Promise<Outcome> {
    const { maxArchiveBytes, allowedSha256 } = this.#config
    try {
      const unpacked = await this.#library.unpack(readPieces(path), maxArchiveBytes)
      if ('reason' in unpacked) return await this.#report('install_plugin', { file: path }, unpacked)
      const { sha256 } = unpacked
      const { name: plugin, version } = unpacked.manifest
      const prepared = await this.#library.prepare(unpacked, { allowedSha256, isUpgrade, nowMs: Date.now() })
      const details = { plugin, version, sha256 }
      if ('reason' in prepared) return await this.#report('install_plugin', details, prepared)
      const { record } = await prepared.commit(prepared.before?.record.isEnabled ?? false)
      const text = describeInstalled(record.name, record.version, record.isEnabled)
      return await this.#report('install_plugin', details, { text, document: details })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === undefined) throw error
      return { problem: `${path}: ${describeFileError(error)}` }
    }
  }

  uninstall(name: string): Promise<Outcome> {
    return this.#change('delete_plugin', name, async ({ record }) => {
      await this.#library.remove(record.name)
      return { done: `${record.name} is uninstalled` }
    })
  }

  enable(name: string): Promise<Outcome> {
    return this.#change('change_plugin_state', name, async (plugin) => {
      const problem = findStoredConfigProblem(plugin) ?? (await this.#library.findDamage(plugin))
      if (problem !== undefined) return { reason: 'PARAM_ERROR', problem }
      await this.#library.setEnabled(plugin.record.name, true)
      return { done: `${plugin.record.name} starts with the broker` }
    })
  }

  disable(name: string): Promise<Outcome> {
    return this.#change('change_plugin_state', name, async ({ record }) => {
      await this.#library.setEnabled(record.name, false)
      return { done: `${record.name} does not start with the broker` }
    })
  }

  async reload(name: string): Promise<Outcome> {
    return { problem: `no broker runs, so ${name} has no process: it starts with the broker if it is enabled` }
  }

  allow(name: string): Promise<Outcome> {
    return this.#change('allow_plugin_permissions', name, async ({ record }) => {
      const permissions = await this.#library.allowPermissions(record.name)
      return { text: describeAllowed(record.name, permissions), document: { permissions } }
    })
  }

  move(name: string, text: string): Promise<Outcome> {
    return this.#change('move_plugin', name, async ({ record }) => {
      const position = parsePosition(text)
      const problem = `the position ${text} is none of front, rear, before:NAME and after:NAME`
      if (position === undefined) return { reason: 'BAD_POSITION', problem }
      const refusal = await this.#library.move(record.name, position, this.#config.order)
      if (refusal !== undefined) return refusal
      return { done: `${record.name} is moved` }
    })
  }

  async #change(
    operation: string,
    name: string,
    change: (plugin: LibraryPlugin) => Promise<Outcome | PluginRefusal>,
  ): Promise<Outcome> {
    const plugin = this.#library.find(name)
    const details = { plugin: name }
    if (plugin === undefined) return this.#report(operation, details, createUnknown(name))
    return this.#report(operation, details, await change(plugin))
  }

  /** Records the change in the audit log, before it is reported. */
  async #report(operation: string, request: object, result: Outcome | PluginRefusal): Promise<Outcome> {
    const problem = 'reason' in result ? result.problem : ''
    const isRefused = 'reason' in result
    await this.#audit.record({
      atMs: Date.now(),
      name: 'local',
      by: 'socket',
      role: 'administrator',
      namespace: null,
      address: '',
      via: 'ctl',
      operation,
      method: '',
      path: '',
      request,
      status: isRefused ? refusedStatus : successStatus,
      code: isRefused ? invalidParameter : 0,
      outcome: isRefused ? 'refused' : 'done',
      message: problem,
      tookMs: 0,
    })
    return isRefused ? { problem } : result
  }
}

/** Opens the file at the first step, so that an error has a reader. */
async function* readPieces(path: string): AsyncGenerator<Buffer> {
  yield* createReadStream(path) as AsyncIterable<Buffer>
}

const successStatus = 200
const refusedStatus = 400
const invalidParameter = 108

function createUnknown(name: string): PluginRefusal {
  return { reason: 'NOT_FOUND', problem: `there is no plugin ${JSON.stringify(name)}` }
}
