// The life of plugins on a node: installation, start, stop, configuration, order. Changes run one after the other.
//
//   archive ─► PluginLibrary (files, list) ─► PluginRuntime (processes, hooks)
//
// A change of a running plugin starts its new process first. The list is written when that has started, so a plugin that does not start
// changes nothing.

import type { GodwitConfig, PluginsConfig } from '../../config/index.ts'
import { mask } from '../../config/index.ts'
import {
  findConfigProblem,
  findStoredConfigProblem,
  type InstalledPlugin,
  type LibraryPlugin,
  orderNames,
  type PluginConfig,
  type PluginLibrary,
  type PluginPosition,
  type PluginRefusal,
  type PluginRuntime,
  type PluginState,
  type PreparedPlugin,
  restorePasswords,
  type UnpackedPlugin,
} from '../../plugins/index.ts'
import type { AlarmName, Logger } from '../../telemetry/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import type { Alarms } from '../observe/raised-alarms.ts'

export interface PluginManagerDependencies {
  readonly library: PluginLibrary
  readonly runtime: PluginRuntime
  /** Configuration of the start. */
  readonly config: GodwitConfig
  readonly alarms: Pick<Alarms, 'raise' | 'end'>
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** An installed plugin, and its state if it is started. */
export interface ListedPlugin extends LibraryPlugin {
  readonly state: PluginState | undefined
}

/** Returns whether the plugin has a process, or gets one again. */
export function hasStarted({ state }: ListedPlugin): boolean {
  return state !== undefined && state.status !== 'suspended'
}

/** Archives that are unpacked at the same time. Each takes up to 100 MiB of disk. */
const maxInstallations = 2

/** Origin of the alarms about starts; calls that fail raise the same alarm for their shard. */
const alarmSource = 'start'

export class PluginManager implements ConfigConsumer {
  readonly #library: PluginLibrary
  /** Runs the processes. */
  readonly runtime: PluginRuntime
  readonly #alarms: PluginManagerDependencies['alarms']
  readonly #log: PluginManagerDependencies['log']
  #settings: PluginsConfig
  #installations = 0
  #last: Promise<unknown> = Promise.resolve()

  constructor({ library, runtime, config, alarms, log }: PluginManagerDependencies) {
    this.#library = library
    this.runtime = runtime
    this.#alarms = alarms
    this.#log = log
    this.#settings = config.plugins
  }

  /** Whether plugins can be installed over HTTP and by imports. */
  get allowsInstall(): boolean {
    return this.#settings.allowsInstall
  }

  /** In the order of their hooks. */
  list(): readonly ListedPlugin[] {
    const states = new Map(this.runtime.states().map((state) => [state.name, state]))
    return this.#listNames().flatMap((name) => {
      const plugin = this.#library.find(name)
      return plugin === undefined ? [] : [{ ...plugin, state: states.get(name) }]
    })
  }

  /** `name`: NAME or NAME-VERSION. */
  find(name: string): ListedPlugin | undefined {
    const plugin = this.#library.find(name)
    if (plugin === undefined) return undefined
    return { ...plugin, state: this.runtime.states().find((state) => state.name === plugin.record.name) }
  }

  readReadme(plugin: LibraryPlugin): Promise<string> {
    return this.#library.readReadme(plugin)
  }

  readArchive(plugin: LibraryPlugin): ReturnType<PluginLibrary['readArchive']> {
    return this.#library.readArchive(plugin)
  }

  /**
   * Starts the enabled plugins, all at the same time. A plugin that does not start raises an alarm, and its hooks fail: without them, the broker
   * would accept clients that the plugin refuses.
   */
  async startEnabled(): Promise<void> {
    this.runtime.setOrder(this.#listNames())
    const enabled = this.#library.list().filter(({ record }) => record.isEnabled)
    await Promise.all(
      enabled.map(async (plugin) => {
        const problem = await this.#startProcess(plugin)
        if (problem === undefined) return
        await this.runtime.suspend(this.#toInstalled(plugin), problem)
        const { name } = plugin.record
        this.#log.warn('plugin not started', { plugin: name, why: problem })
        this.#alarms.raise(toAlarmName(name), `plugin ${name} was not started: ${problem}`, alarmSource)
      }),
    )
  }

  /** Stops all processes. */
  async stopAll(): Promise<void> {
    await this.#runInTurn(() => Promise.all(this.runtime.states().map(({ name }) => this.runtime.stop(name))))
  }

  /**
   * Installs or upgrades a plugin. An upgrade keeps configuration, order and state; if the plugin is started, the new version has to start.
   * Rejects for errors of the disk and of the source of the pieces.
   */
  async install(
    packed: AsyncIterable<Buffer>,
    { isUpgrade }: { readonly isUpgrade: boolean },
  ): Promise<LibraryPlugin | PluginRefusal> {
    if (this.#installations >= maxInstallations) {
      return { reason: 'PARAM_ERROR', problem: 'other plugins are being installed: try again' }
    }
    this.#installations++
    try {
      // A slow upload must not delay other changes.
      const unpacked = await this.#library.unpack(packed, this.#settings.maxArchiveBytes)
      return 'reason' in unpacked ? unpacked : await this.#runInTurn(() => this.#install(unpacked, isUpgrade))
    } finally {
      this.#installations--
    }
  }

  /** Starts the plugin, now and with the broker. Does nothing if it is started. A suspended plugin that does not start stays suspended. */
  start(name: string): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      if (hasStarted(plugin)) return plugin
      const problem = await this.#startProcess(plugin)
      if (problem !== undefined) return refuse('PARAM_ERROR', `${plugin.record.name} was not started: ${problem}`)
      return this.#library.setEnabled(plugin.record.name, true)
    })
  }

  /** Stops the plugin, now and at the next start of the broker. Does nothing if it is stopped. */
  stop(name: string): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      const stopped = plugin.record.isEnabled ? await this.#library.setEnabled(plugin.record.name, false) : plugin
      await this.#stopProcess(plugin.record.name)
      return stopped
    })
  }

  /** Replaces the process by a new one. The plugin must be started. */
  reload(name: string): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      const problem = await this.#replaceProcess(plugin)
      return problem === undefined
        ? plugin
        : refuse('PARAM_ERROR', `${plugin.record.name} was not reloaded: ${problem}`)
    })
  }

  delete(name: string): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      await this.#stopProcess(plugin.record.name)
      await this.#library.remove(plugin.record.name)
      return plugin
    })
  }

  /** Replaces the configuration. A secret that is sent as it is shown, masked, stays. */
  configure(name: string, sent: PluginConfig): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      const { schema, config: stored } = plugin.record
      if (schema === undefined) return refuse('BAD_CONFIG', `${plugin.record.name} has no configuration`)
      const config = restorePasswords(schema, sent, { mask, stored })
      const problem = findConfigProblem(schema, config)
      if (problem !== undefined)
        return refuse('BAD_CONFIG', `the configuration is not what its schema allows: ${problem}`)
      if (plugin.state !== undefined) {
        const changed = { ...plugin, record: { ...plugin.record, config } }
        const failure = await this.#replaceProcess(changed)
        if (failure !== undefined) {
          return refuse('BAD_CONFIG', `${plugin.record.name} does not start with this configuration: ${failure}`)
        }
      }
      return this.#library.setConfig(plugin.record.name, config)
    })
  }

  move(name: string, position: PluginPosition): Promise<LibraryPlugin | PluginRefusal> {
    return this.#change(name, async (plugin) => {
      const refusal = await this.#library.move(plugin.record.name, position, this.#settings.order)
      if (refusal !== undefined) return refusal
      this.runtime.setOrder(this.#listNames())
      return plugin
    })
  }

  /** Allows the permissions for which a version was refused, and returns them. */
  async allowPermissions(name: string): Promise<readonly string[] | PluginRefusal> {
    let allowed: readonly string[] = []
    const outcome = await this.#change(name, async (plugin) => {
      allowed = await this.#library.allowPermissions(plugin.record.name)
      return plugin
    })
    return 'reason' in outcome ? outcome : allowed
  }

  /** Restores the order of a backup: `names` first, as far as they are installed. */
  async restoreOrder(names: readonly string[]): Promise<void> {
    await this.#runInTurn(async () => {
      const installed = this.#library.list().map(({ record }) => record.name)
      await this.#library.setOrder(orderNames(installed, names))
      this.runtime.setOrder(this.#listNames())
    })
  }

  canApply(key: string): boolean {
    return key.startsWith('plugins.')
  }

  /** Started plugins whose settings differ get new processes. */
  apply({ plugins: after }: GodwitConfig): Promise<Problem | undefined> {
    return this.#runInTurn(async () => {
      const before = this.#settings
      this.#settings = after
      const replaced: ListedPlugin[] = []
      for (const plugin of this.list()) {
        const { name } = plugin.record
        if (plugin.state === undefined || hasSameSettings(name, before, after)) continue
        const problem = await this.#applySettings(plugin)
        if (problem === undefined) {
          replaced.push(plugin)
          continue
        }
        this.#settings = before
        for (const one of replaced) await this.#applySettings(one)
        return { problem: `plugins.${name}: the plugin does not start with these settings: ${problem}` }
      }
      this.runtime.setOrder(this.#listNames())
      return undefined
    })
  }

  async #install(unpacked: UnpackedPlugin, isUpgrade: boolean): Promise<LibraryPlugin | PluginRefusal> {
    const { allowedSha256 } = this.#settings
    const prepared = await this.#library.prepare(unpacked, { allowedSha256, isUpgrade, nowMs: Date.now() })
    if ('reason' in prepared) return prepared
    try {
      return await this.#takeInUse(prepared)
    } catch (error) {
      await prepared.discard()
      throw error
    }
  }

  async #takeInUse(prepared: PreparedPlugin): Promise<LibraryPlugin | PluginRefusal> {
    const { plugin, before } = prepared
    const { name, version } = plugin.record
    if (before !== undefined && this.find(name)?.state !== undefined) {
      const problem = await this.#replaceProcess(plugin)
      if (problem !== undefined) {
        await prepared.discard()
        return refuse(
          'BAD_PLUGIN_INFO',
          `version ${version} of ${name} does not start, and ${before.record.version} stays: ${problem}`,
        )
      }
    }
    const installed = await prepared.commit(before?.record.isEnabled ?? false)
    this.runtime.setOrder(this.#listNames())
    this.#log.info('plugin installed', { plugin: name, version, sha256: installed.record.sha256 })
    return installed
  }

  /** Returns why the plugin does not start; undefined: it is started. */
  async #startProcess(plugin: LibraryPlugin): Promise<string | undefined> {
    const problem = await this.#findObstacle(plugin)
    if (problem !== undefined) return problem
    const started = await this.runtime.start(this.#toInstalled(plugin))
    if (!started.started) return started.reason
    this.runtime.setOrder(this.#listNames())
    this.#endStartAlarm(plugin.record.name, 'it was started')
    return undefined
  }

  async #replaceProcess(plugin: LibraryPlugin): Promise<string | undefined> {
    const problem = await this.#findObstacle(plugin)
    if (problem !== undefined) return problem
    const replaced = await this.runtime.replace(this.#toInstalled(plugin))
    if (!replaced.started) return replaced.reason
    this.#endStartAlarm(plugin.record.name, 'it was started')
    return undefined
  }

  /** Returns why the plugin does not start with the settings. A plugin that was suspended stays so, with the settings. */
  async #applySettings(plugin: ListedPlugin): Promise<string | undefined> {
    const problem = await this.#replaceProcess(plugin)
    if (problem === undefined || plugin.state?.status !== 'suspended') return problem
    await this.runtime.suspend(this.#toInstalled(plugin), problem)
    return undefined
  }

  async #stopProcess(name: string): Promise<void> {
    await this.runtime.stop(name)
    this.#endStartAlarm(name, 'it was stopped')
  }

  #endStartAlarm(name: string, message: string): void {
    this.#alarms.end(toAlarmName(name), `plugin ${name}: ${message}`, alarmSource)
  }

  /** A plugin must not run with files or a configuration that nothing has checked. */
  async #findObstacle(plugin: LibraryPlugin): Promise<string | undefined> {
    return findStoredConfigProblem(plugin) ?? (await this.#library.findDamage(plugin))
  }

  #toInstalled({ record, directory }: LibraryPlugin): InstalledPlugin {
    const { manifest, config, name } = record
    return { manifest, directory, config, settings: this.#settings.byName.get(name) ?? this.#settings.defaults }
  }

  #listNames(): readonly string[] {
    return orderNames(
      this.#library.list().map(({ record }) => record.name),
      this.#settings.order,
    )
  }

  /** Runs a change of one plugin; a refusal if it is not installed. */
  #change(
    name: string,
    work: (plugin: ListedPlugin) => Promise<LibraryPlugin | PluginRefusal>,
  ): Promise<LibraryPlugin | PluginRefusal> {
    return this.#runInTurn(async () => {
      const plugin = this.find(name)
      return plugin === undefined ? refuse('NOT_FOUND', `there is no plugin ${JSON.stringify(name)}`) : work(plugin)
    })
  }

  #runInTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#last.then(work)
    this.#last = done.catch(() => {
      // The caller gets the error, and the next change runs anyway.
    })
    return done
  }
}

function hasSameSettings(name: string, before: PluginsConfig, after: PluginsConfig): boolean {
  const read = ({ byName, defaults }: PluginsConfig): string => JSON.stringify(byName.get(name) ?? defaults)
  return read(before) === read(after)
}

function toAlarmName(name: string): AlarmName {
  return `plugin_failed:${name}`
}

function refuse(reason: PluginRefusal['reason'], problem: string): PluginRefusal {
  return { reason, problem }
}
