// Runs the plugins of a node: see `PluginRuntime`. It makes the plan of the shards and starts the processes; calls do not pass through it.
//
//   PluginSupervisor ──spawn──► process          shard ══ channel ══ process
//        └──────────────plan──────────────────────►┘

import { isDeepStrictEqual } from 'node:util'
import type { Logger } from '../../telemetry/index.ts'
import type { InstalledPlugin } from '../manifest/installed-plugin.ts'
import { createPluginCounters, sumPluginCell, type PlannedPlugin, type PluginPlan } from '../channel/plugin-plan.ts'
import type { PluginRuntime, PluginState, StartResult } from '../plugin-runtime.ts'
import { detectIsolation, type Isolation } from './isolation.ts'
import { createProcessCommand } from './process-command.ts'
import { RunningProcess } from './running-process.ts'
import { type LaunchCallbacks, type NumberedProcess, SupervisedPlugin } from './supervised-plugin.ts'

/** The shards of the node. */
export interface PluginShards {
  readonly count: number
  /** Opens a channel on each shard. Resolves with the descriptors that the process inherits, or with a problem. */
  openChannels(
    process: number,
    plugin: string,
  ): Promise<{ readonly descriptors: readonly number[] } | { readonly problem: string }>
  /** The process has inherited its descriptors. */
  releaseChannels(process: number): Promise<void>
  /** Resolves when no call of the process is pending. */
  closeChannels(process: number): Promise<void>
  /** Resolves when each shard uses the plan. */
  apply(plan: PluginPlan): Promise<void>
}

export interface PluginSupervisorDependencies {
  readonly shards: PluginShards
  readonly log: Pick<Logger, 'write' | 'info' | 'warn'>
}

export class PluginSupervisor implements PluginRuntime {
  readonly #dependencies: PluginSupervisorDependencies
  /** In the order of their start. */
  readonly #plugins = new Map<string, SupervisedPlugin>()
  #order: readonly string[] = []
  #lastProcess = 0
  #isolation: Promise<Isolation> | undefined

  constructor(dependencies: PluginSupervisorDependencies) {
    this.#dependencies = dependencies
  }

  async start(plugin: InstalledPlugin): Promise<StartResult> {
    const { name } = plugin.manifest
    if (this.#plugins.has(name)) return this.replace(plugin)
    const supervised = this.#createSupervised(plugin)
    const result = await supervised.start()
    if (!result.started) return result
    this.#plugins.set(name, supervised)
    await this.#applyPlan()
    return result
  }

  async suspend(plugin: InstalledPlugin, reason: string): Promise<void> {
    const { name } = plugin.manifest
    const supervised = this.#plugins.get(name) ?? this.#createSupervised(plugin)
    this.#plugins.set(name, supervised)
    await supervised.suspend(plugin, reason)
  }

  #createSupervised(plugin: InstalledPlugin): SupervisedPlugin {
    const { shards, log } = this.#dependencies
    return new SupervisedPlugin(plugin, createPluginCounters(shards.count), {
      launch: (installed, callbacks) => this.#launch(installed, callbacks),
      applyPlan: () => this.#applyPlan(),
      closeChannels: (process) => shards.closeChannels(process),
      logEnd: (ended, why, retryInMs) => log.warn('plugin ended', { plugin: ended, why, retryInMs }),
      logFailedRestart: (ended, why) => log.warn('plugin does not start', { plugin: ended, why }),
    })
  }

  async stop(name: string): Promise<void> {
    const supervised = this.#plugins.get(name)
    if (supervised === undefined) return
    this.#plugins.delete(name)
    await this.#applyPlan()
    await supervised.stop()
  }

  async replace(plugin: InstalledPlugin): Promise<StartResult> {
    const supervised = this.#plugins.get(plugin.manifest.name)
    if (supervised === undefined) return this.start(plugin)
    const hasProcess = supervised.status !== 'suspended'
    const changed =
      hasProcess && canShareProcess(supervised.plugin, plugin)
        ? await this.#changeRunning(supervised, plugin)
        : undefined
    return changed ?? supervised.replace(plugin)
  }

  /** Undefined: only a new process can apply the change, or nothing has changed and the plugin is loaded again. */
  async #changeRunning(supervised: SupervisedPlugin, plugin: InstalledPlugin): Promise<StartResult | undefined> {
    const before = supervised.plugin
    if (!isDeepStrictEqual(before.config, plugin.config)) {
      const configured = await supervised.configure(plugin)
      if (configured?.started !== true) return configured
    } else if (isDeepStrictEqual(before.settings, plugin.settings)) return undefined
    supervised.plugin = plugin
    await this.#applyPlan()
    return { started: true }
  }

  setOrder(names: readonly string[]): void {
    this.#order = names
    void this.#applyPlan()
  }

  states(): readonly PluginState[] {
    return this.#listInOrder().map((supervised) => ({
      name: supervised.plugin.manifest.name,
      version: supervised.plugin.manifest.version,
      status: supervised.status,
      problem: supervised.problem,
      processId: supervised.processId,
      network: supervised.network,
      calls: sumPluginCell(supervised.counters, 'calls'),
      failures: sumPluginCell(supervised.counters, 'failures'),
      pending: sumPluginCell(supervised.counters, 'pending'),
      restarts: supervised.restarts,
      metrics: supervised.metrics,
    }))
  }

  /** A shard has restarted, without channels: the processes are replaced by others that have one to each shard. */
  async handleShardRestart(): Promise<void> {
    for (const supervised of this.#plugins.values())
      // Nothing may start a suspended plugin whose files were changed.
      if (supervised.status !== 'suspended') await supervised.replace(supervised.plugin)
  }

  /** Ends all plugins, after the shards have stopped. */
  async close(): Promise<void> {
    const plugins = [...this.#plugins.values()]
    this.#plugins.clear()
    await Promise.all(plugins.map((supervised) => supervised.stop()))
  }

  async #launch(
    plugin: InstalledPlugin,
    callbacks: LaunchCallbacks,
  ): Promise<NumberedProcess | { readonly reason: string }> {
    const { shards, log } = this.#dependencies
    const number = ++this.#lastProcess
    this.#isolation ??= detectIsolation()
    const command = createProcessCommand(plugin, await this.#isolation)
    const opened = await shards.openChannels(number, plugin.manifest.name)
    if ('problem' in opened) return { reason: `no channel to a shard: ${opened.problem}` }
    const running = new RunningProcess({ plugin, command, descriptors: opened.descriptors, log, ...callbacks })
    await running.hasSpawned
    await shards.releaseChannels(number)
    const result = await running.start()
    if (result.started) return { number, running, network: command.network }
    await shards.closeChannels(number)
    return { reason: result.reason }
  }

  async #applyPlan(): Promise<void> {
    await this.#dependencies.shards.apply(this.#listInOrder().map((supervised) => this.#toPlanned(supervised)))
  }

  #listInOrder(): readonly SupervisedPlugin[] {
    const place = ({ plugin }: SupervisedPlugin): number => {
      const index = this.#order.indexOf(plugin.manifest.name)
      return index === -1 ? this.#order.length : index
    }
    return [...this.#plugins.values()].sort((one, other) => place(one) - place(other))
  }

  #toPlanned({ plugin, processNumber, status, counters }: SupervisedPlugin): PlannedPlugin {
    const { manifest, settings } = plugin
    const { timeoutMs, onFailure, maxFailures, retryAfterMs, maxPending } = settings
    return {
      name: manifest.name,
      process: processNumber,
      isSuspended: status === 'suspended',
      hooks: manifest.hooks,
      filters: {
        topics: [manifest.topics, settings.topics],
        clients: [manifest.clients, settings.clients],
        listeners: [manifest.listeners, settings.listeners],
      },
      timeoutMs,
      onFailure,
      maxFailures,
      retryAfterMs,
      maxPending: Math.max(1, Math.floor(maxPending / this.#dependencies.shards.count)),
      counters,
    }
  }
}

/** Returns whether settings and permissions of the process are the same, so that only the configuration can differ. */
function canShareProcess(one: InstalledPlugin, other: InstalledPlugin): boolean {
  const { timeoutMs, maxHeapBytes, maxMemoryBytes } = one.settings
  return (
    one.directory === other.directory &&
    timeoutMs === other.settings.timeoutMs &&
    maxHeapBytes === other.settings.maxHeapBytes &&
    maxMemoryBytes === other.settings.maxMemoryBytes &&
    isDeepStrictEqual(one.manifest, other.manifest)
  )
}
