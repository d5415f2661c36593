// A started plugin: its process, which is started again when it ends.
//
//   running ──process ends──► restarting ──1, 2, 4 ... 60 s──► running
//   suspended ──replace──► running

import type { InstalledPlugin } from '../manifest/installed-plugin.ts'
import type { NetworkAccess, PluginState, StartResult } from '../plugin-runtime.ts'
import type { PluginMetricValues, RunningProcess } from './running-process.ts'

/** A process with its number, for the channels of the shards. */
export interface NumberedProcess {
  readonly number: number
  readonly running: RunningProcess
  readonly network: NetworkAccess
}

export interface LaunchCallbacks {
  readonly onEnd: (reason: string) => void
  readonly onMetrics: (metrics: PluginMetricValues) => void
}

export interface SupervisedPluginDependencies {
  /** Starts a process with channels to all shards. `onEnd` is called when it ends after it was started. */
  launch(plugin: InstalledPlugin, callbacks: LaunchCallbacks): Promise<NumberedProcess | { readonly reason: string }>
  /** The process of the plugin has changed: the shards must learn that. */
  applyPlan(): Promise<void>
  /** Closes the channels of a process, when no call is pending. */
  closeChannels(process: number): Promise<void>
  logEnd(plugin: string, reason: string, retryInMs: number): void
  logFailedRestart(plugin: string, reason: string): void
}

const firstDelayMs = 1_000
const maxDelayMs = 60_000
/** After this time, earlier failures are not counted. */
const forgivenAfterMs = 60_000

export class SupervisedPlugin {
  readonly #dependencies: SupervisedPluginDependencies
  readonly counters: SharedArrayBuffer
  plugin: InstalledPlugin
  #process: NumberedProcess | undefined
  #network: NetworkAccess
  #problem: string | undefined
  #restarts = 0
  #failuresInARow = 0
  #startedAtMs = 0
  #timer: NodeJS.Timeout | undefined
  /** `ended`: stopped, for good. */
  #life: 'started' | 'suspended' | 'ended' = 'started'
  #metrics: PluginMetricValues = { counters: {}, gauges: {} }

  constructor(plugin: InstalledPlugin, counters: SharedArrayBuffer, dependencies: SupervisedPluginDependencies) {
    this.#dependencies = dependencies
    this.plugin = plugin
    this.counters = counters
    this.#network = 'refused-by-process'
  }

  get status(): PluginState['status'] {
    if (this.#life === 'suspended') return 'suspended'
    return this.#process === undefined ? 'restarting' : 'running'
  }

  /** 0: it has none now. */
  get processNumber(): number {
    return this.#process?.number ?? 0
  }

  get processId(): number {
    return this.#process?.running.processId ?? 0
  }

  get network(): NetworkAccess {
    return this.#network
  }

  get problem(): string | undefined {
    return this.#problem
  }

  get restarts(): number {
    return this.#restarts
  }

  get metrics(): PluginMetricValues {
    return this.#metrics
  }

  /** Starts its first process. */
  async start(): Promise<StartResult> {
    const launched = await this.#launch(this.plugin)
    if ('reason' in launched) return { started: false, reason: launched.reason }
    this.#use(launched)
    return { started: true }
  }

  /** Starts a process for `plugin`; the old one finishes its calls. If the new one does not start, nothing changes. */
  async replace(plugin: InstalledPlugin): Promise<StartResult> {
    const launched = await this.#launch(plugin)
    if ('reason' in launched) return { started: false, reason: launched.reason }
    const old = this.#process
    clearTimeout(this.#timer)
    this.plugin = plugin
    this.#use(launched)
    await this.#dependencies.applyPlan()
    if (old !== undefined) await this.#finish(old)
    return { started: true }
  }

  /** Applies a configuration without a new process. Resolves with undefined if the plugin cannot do that. */
  async configure({ config }: InstalledPlugin): Promise<StartResult | undefined> {
    const applied = await this.#process?.running.configure(config)
    if (applied === undefined || applied === false) return undefined
    return applied === true ? { started: true } : { started: false, reason: applied }
  }

  /** Keeps it in the plan without a process. */
  async suspend(plugin: InstalledPlugin, reason: string): Promise<void> {
    const process = this.#leaveProcess('suspended')
    this.plugin = plugin
    this.#problem = reason
    await this.#dependencies.applyPlan()
    if (process !== undefined) await this.#finish(process)
  }

  /** The caller has removed it from the plan. */
  async stop(): Promise<void> {
    const process = this.#leaveProcess('ended')
    if (process !== undefined) await this.#finish(process)
  }

  #leaveProcess(life: 'suspended' | 'ended'): NumberedProcess | undefined {
    this.#life = life
    clearTimeout(this.#timer)
    const process = this.#process
    this.#process = undefined
    return process
  }

  /** Ends its process at once. */
  kill(reason: string): void {
    this.#process?.running.kill(reason)
  }

  async #finish({ number, running }: NumberedProcess): Promise<void> {
    await this.#dependencies.closeChannels(number)
    await running.stop()
  }

  async #launch(plugin: InstalledPlugin): Promise<NumberedProcess | { readonly reason: string }> {
    let launched: NumberedProcess | undefined
    const result = await this.#dependencies.launch(plugin, {
      onEnd: (reason) => this.#handleEnd(launched, reason),
      onMetrics: (metrics) => {
        this.#metrics = metrics
      },
    })
    if (!('reason' in result)) launched = result
    return result
  }

  #use(process: NumberedProcess): void {
    this.#life = 'started'
    this.#process = process
    this.#network = process.network
    this.#startedAtMs = performance.now()
    this.#problem = undefined
  }

  /** An old process that finishes, and one that never started, are not restarted. */
  #handleEnd(ended: NumberedProcess | undefined, reason: string): void {
    if (ended === undefined || ended !== this.#process) return
    this.#process = undefined
    this.#problem = reason
    if (performance.now() - this.#startedAtMs >= forgivenAfterMs) this.#failuresInARow = 0
    this.#planRestart(reason)
    void this.#dependencies.applyPlan()
  }

  #planRestart(reason: string): void {
    const delayMs = Math.min(maxDelayMs, firstDelayMs * 2 ** this.#failuresInARow++)
    this.#dependencies.logEnd(this.plugin.manifest.name, reason, delayMs)
    this.#timer = setTimeout(() => void this.#restart(), delayMs)
  }

  async #restart(): Promise<void> {
    this.#restarts++
    const launched = await this.#launch(this.plugin)
    if (this.#life !== 'started' || this.#process !== undefined) {
      if (!('reason' in launched)) await this.#finish(launched)
    } else if ('reason' in launched) {
      this.#problem = launched.reason
      this.#dependencies.logFailedRestart(this.plugin.manifest.name, launched.reason)
      this.#planRestart(launched.reason)
    } else {
      this.#use(launched)
      await this.#dependencies.applyPlan()
    }
  }
}
