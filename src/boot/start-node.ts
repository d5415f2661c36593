// Starts a node in steps: the data directory with its lock, the log, free ports, the threads. Each step returns what
// the next one needs, or an error text.

import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { planRules } from '../actions/index.ts'
import { formatConfigError, type GodwitConfig, maskUrlSecrets, type Warning } from '../config/index.ts'
import {
  type BackupOperations,
  operationsOf,
  type NodeBackups,
  type NodeParts,
  ShutdownRequests,
  type ShutdownRequest,
} from '../api/index.ts'
import { clockBaseMs, readClock, shardEntry, type ShardStart } from '../shard/index.ts'
import { StorageFailure } from '../storage/index.ts'
import { createLogger, type Logger } from '../telemetry/index.ts'
import { denyAddresses } from '../transports/index.ts'
import {
  defaultDataDirectory,
  type Installation,
  prepareDataDirectory,
  isDiskFull,
  keepReserve,
  releaseReserve,
  settleAccessSecret,
  Alarms,
  type AuditLog,
  openAuditLog,
  reloadWithAudit,
  type AccessRecords,
  type AccessRecordsDependencies,
  openAccessRecords,
  accessSettingsOf,
  type DirectoryLock,
  lockDirectory,
  hostsOfApi,
  type ListenerAddress,
  resolveListeners,
  type ConfigConsumer,
  type ConfigOutcome,
  type ConfigManager,
  type ConfigurationSources,
  brokerIdOf,
  type BridgeConfig,
  planBridges,
  openDashboardListener,
  listenersConsumer,
  type ListenerManager,
  ShadowedCredentials,
  logTargetsOf,
  problemOfLog,
  logLevelOf,
  NamespaceLimitsInForce,
  settleNodeName,
  ScheduledBackups,
  type NodeStore,
  openNodeStore,
  type GatewayConfig,
  GatewayPlanner,
  runRulesForAlarm,
  type RuleConfig,
  libraryReporter,
  withoutMissingQuic,
  quarantineText,
  ShardSupervisor,
  planShards,
  shardsOf,
  SysTopics,
  type SysTopicsOptions,
  defaultRestartPolicy,
  type RestartPolicy,
  observeNode,
} from '../node/index.ts'
import { exposureWarnings } from './exposure-warnings.ts'
import { restoreSettings } from './restore-settings.ts'
import { createConfigManager } from './create-config-manager.ts'
import {
  type PreparedParts,
  createBridgeConfig,
  createGatewayConfig,
  createListenerManager,
  createRuleConfig,
} from './config-parts.ts'
import { problemOfManagement, type RunningManagement, startManagement } from './management.ts'

export interface NodeOptions {
  readonly config: GodwitConfig
  /** Warnings of the configuration, for the log. */
  readonly warnings: readonly Warning[]
  readonly installation: Installation
  /** Sources of the configuration; without them only changes of the API are possible. */
  readonly sources?: ConfigurationSources
  /** Text of the alarm if changed settings were restored from the history: they are written to their file again. */
  readonly restoredSettings?: string | undefined
  /** Version of this program. */
  readonly version?: string
  /** The script of a shard; tests use another one. */
  readonly shardEntry?: URL
  readonly restarts?: RestartPolicy
  /** Time for the shards to stop; less than the ten seconds of the node. */
  readonly shardStopMs?: number
  /** Returns why a restart would fail: called before a request for it is accepted. */
  readonly problemOfRestart?: () => string | undefined
}

export interface RunningNode {
  readonly name: string
  /** Absolute. */
  readonly dataDirectory: string
  /** The open listeners. */
  readonly listeners: readonly ListenerAddress[]
  readonly log: Logger
  /** The management API. */
  readonly management: Pick<RunningManagement, 'address' | 'dashboardAddress' | 'newPassword'>
  /** Shared counters of all shards, for `readCounters`. */
  readonly counters: SharedArrayBuffer
  /** Resolves with an error text when the node cannot continue: then call `stop` and end the process with 1. */
  readonly broken: Promise<string>
  /** Resolves with a request to stop or restart: call `stop`, and for a restart start it again. */
  readonly shutdownRequested: Promise<ShutdownRequest>
  /** Reports an exception of a client library. Returns false if it is one of the node: then end the process. */
  reportLibraryFailure(error: unknown): boolean
  /** Checks certificates, keys and revocation lists now instead of at the next interval. */
  reloadFiles(): void
  /** Stored access records; changes apply to all shards. */
  readonly accessRecords: AccessRecords
  /** Backups. */
  readonly backup: BackupOperations
  /** Changes the configuration while the node runs. */
  readonly configuration: ConfigManager
  /** Reads the configuration files again on request, and records the request. */
  reloadConfiguration(): Promise<ConfigOutcome>
  /** Disconnects clients with 0x8B, closes the store, releases the data directory. At most 10 seconds. */
  stop(): Promise<void>
}

export type NodeStart =
  | { readonly node: RunningNode }
  /** `isDiskFull`: a later start succeeds when there is space. */
  | { readonly problem: string; readonly isDiskFull?: boolean }

/** Maximum time for the shards to stop: a part of the ten seconds of the node. */
const defaultShardStopMs = 8_000

/**
 * Starts the node. A problem is a sentence for administrators; then nothing is left running. On a full disk the start frees the
 * space that earlier starts have reserved, and the node then runs as if the disk had become full later.
 */
export async function startNode(options: NodeOptions): Promise<NodeStart> {
  // Only the system user of the broker can open new files.
  process.umask(0o077)
  denyAddresses(options.config.node.deniedAddresses)
  const started = await tryToStart(options)
  if ('node' in started || started.isDiskFull !== true) return started
  return (await releaseReserve(resolve(dataDirectoryOf(options)))) ? tryToStart(options) : started
}

async function tryToStart(options: NodeOptions): Promise<NodeStart> {
  try {
    return await startOnce(options)
  } catch (error) {
    if (!isDiskFull(error)) throw error
    const { message } = error as Error
    return { problem: `data directory ${dataDirectoryOf(options)}: the disk is full (${message})`, isDiskFull: true }
  }
}

async function startOnce(options: NodeOptions): Promise<NodeStart> {
  const directory = await prepareDataDirectory(dataDirectoryOf(options))
  if ('problem' in directory) return directory
  const locked = await lockDirectory(directory.path)
  if ('problem' in locked) return locked
  const started = await releasing(locked.lock, () => startInDirectory(options, directory.path, locked.lock))
  if ('problem' in started) {
    await locked.lock.release()
    return started
  }
  const { node } = started
  if (directory.isOpenToOthers) warnOpenDirectory(node)
  if (locked.wasLeftBehind)
    node.log.warn('previous run did not stop cleanly', {
      directory: directory.path,
    })
  return started
}

/** A failed start leaves no lock, because the process may try again. */
async function releasing<Result>(lock: DirectoryLock, start: () => Promise<Result>): Promise<Result> {
  try {
    return await start()
  } catch (error) {
    await lock.release()
    throw error
  }
}

function dataDirectoryOf({ config, installation }: NodeOptions): string {
  const account = { userId: process.getuid?.(), homeDirectory: homedir() }
  return config.node.dataDir ?? defaultDataDirectory(installation, account)
}

function warnOpenDirectory(node: RunningNode): void {
  node.log.warn('data directory readable by other accounts', {
    directory: node.dataDirectory,
    remedy: `chmod 700 ${node.dataDirectory}`,
  })
}

async function startInDirectory(options: NodeOptions, directory: string, lock: DirectoryLock): Promise<NodeStart> {
  const { config } = options
  const logging = await openLog(config, directory)
  if ('problem' in logging) return logging
  const { log } = logging
  for (const warning of options.warnings) log.warn('configuration', { warning: formatConfigError(warning) })
  try {
    const started = await startOnLog(options, { directory, lock, log })
    if ('problem' in started) await log.close()
    return started
  } catch (error) {
    await log.close()
    throw error
  }
}

async function startOnLog(
  options: NodeOptions,
  dependencies: Pick<PreparedParts, 'directory' | 'lock' | 'log'>,
): Promise<NodeStart> {
  const { config } = options
  const name = await settleNodeName(dependencies.directory, config.node.name)
  if (typeof name !== 'string') return name
  const access = await settleAccessSecret(dependencies.directory)
  if ('problem' in access) return access
  const { secret: accessSecret } = access
  const converted = accessSettingsOf(config, accessSecret)
  if ('problem' in converted) return converted
  const plannedBridges = planBridges(config, accessSecret)
  if ('problem' in plannedBridges) return plannedBridges
  const plannedRules = planRules(config, name)
  if ('problem' in plannedRules) return plannedRules
  const gatewayPlanner = new GatewayPlanner(shardsOf(config))
  const plannedGateways = await gatewayPlanner.plan(config, [])
  if ('problem' in plannedGateways) return plannedGateways
  const resolved = await resolveListeners(config)
  if ('problem' in resolved) return resolved
  const managementProblem = await problemOfManagement(config)
  if (managementProblem !== undefined) return managementProblem
  const listeners = await withoutMissingQuic(resolved.listeners, dependencies.log)
  const apiHosts = hostsOfApi(config)
  for (const warning of exposureWarnings(
    config,
    [...listeners, ...plannedGateways.plan.map(({ listener }) => listener)],
    apiHosts,
  ))
    dependencies.log.warn('configuration', { ...warning })
  const alarms = new Alarms(dependencies)
  if (access.loss !== undefined) alarms.raise('secret-replaced', access.loss)
  await restoreSettings(options, alarms)
  const bridges = plannedBridges.plans
  return startOnStore(options, {
    ...dependencies,
    alarms,
    name,
    accessSecret,
    ...converted,
    listeners,
    bridges,
    rules: plannedRules.plan,
    gateways: plannedGateways.plan,
    gatewayPlanner,
    dashboard: await openDashboardListener(dependencies.directory, { node: config.node, log: dependencies.log }),
  })
}

type Logging = { readonly log: Logger } | { readonly problem: string }

async function openLog({ log }: GodwitConfig, dataDirectory: string): Promise<Logging> {
  const targets = logTargetsOf(log, dataDirectory)
  try {
    return { log: await createLogger({ ...targets, level: logLevelOf(log), maskText: maskUrlSecrets }) }
  } catch (error) {
    return problemOfLog(targets, error)
  }
}

async function startOnStore(options: NodeOptions, foundation: PreparedParts): Promise<NodeStart> {
  const { config } = options
  const { directory, alarms } = foundation
  const undo: Undo = { stop: async () => {} }
  try {
    const store = await openNodeStore({ dataDirectory: directory, shards: shardsOf(config), ...config.storage, alarms })
    undo.stop = () => store.close()
    return await startShards({ options, foundation, store, undo })
  } catch (error) {
    // Otherwise shards would serve clients, and nothing would stop them.
    await undo.stop()
    if (!(error instanceof StorageFailure)) throw error
    return { problem: error.message, isDiskFull: isDiskFull(error) }
  }
}

/** Ends what a start has begun when one of its later steps fails. */
interface Undo {
  stop: () => Promise<void>
}

async function undoStart(undo: Undo, problem: { readonly problem: string }): Promise<NodeStart> {
  await undo.stop()
  return problem
}

interface ShardsStart {
  readonly options: NodeOptions
  readonly foundation: PreparedParts
  readonly store: NodeStore
  readonly undo: Undo
}

async function startShards({ options, foundation, store, undo }: ShardsStart): Promise<NodeStart> {
  const { config } = options
  const { log, alarms, directory, name } = foundation
  const clock = clockBaseMs(await readClock(store.client))
  const live = createListenerManager(config, foundation, () => supervisor)
  const plan = await planShards({ ...partsOfShards(foundation), listeners: live.placed, clockBaseMs: clock, config })
  const { starts, counters, histograms, memory, freeDescriptors, maxFileConnections } = plan
  const namespaceLimits = new NamespaceLimitsInForce(config, plan.namespaceTable, starts.length)
  const { promise: broken, resolve: reportBroken } = Promise.withResolvers<string>()
  const sysTopics = sysTopicsOf(options, { nodeName: name, counters, supervisor: () => supervisor })
  alarms.listen((what, alarm) => sysTopics.noteAlarm(what, alarm))
  const supervisor = supervisorOf({ options, foundation, store, starts, maxHeapMb: memory.maxHeapMb, reportBroken })
  alarms.listen((what, alarm) => runRulesForAlarm(supervisor, what, alarm))
  const bridges = createBridgeConfig(foundation, supervisor)
  const rules = createRuleConfig(foundation, supervisor)
  const gateways = createGatewayConfig(config, foundation, supervisor)
  const audit = openAuditLog(directory, log, config.maxAuditBytes)
  const shared = { nodeName: name, dataDirectory: directory, counters, supervisor, log, bridges, gateways, audit }
  const watched = { ...shared, histograms, alarms }
  const observation = observeNode({ ...watched, memory, freeDescriptors, live })
  const accessDependencies = { store: store.client, ...distributeAccess(supervisor, namespaceLimits) }
  const accessRecords = await openAccessRecords(accessDependencies)
  const configured = config.auth.credentials
  const shadowedCredentials = new ShadowedCredentials({ records: accessRecords, log, configured })
  const consumers = { listeners: live, bridges, rules, gateways, shadowedCredentials }
  const configuration = await configurationOf(options, foundation, { ...consumers, supervisor, sysTopics })
  const outcome = await supervisor.start()
  const reloadFiles = (): void => {
    for (const { shardNumber } of starts) supervisor.send(shardNumber, { kind: 'reload-files' })
    observation.lookAtFiles()
  }
  let closeManagement = nothingToClose
  const reserve = keepReserve(directory)
  const stop = async (): Promise<void> => {
    reserve.stop()
    await closeManagement()
    await audit.close()
    await observation.stop()
    sysTopics.stop()
    await supervisor.stop(options.shardStopMs ?? defaultShardStopMs)
    await foundation.dashboard.remove()
    await store.close()
    await foundation.lock.release()
    await log.close()
  }
  undo.stop = stop
  if (!outcome.ready) return undoStart(undo, { problem: outcome.message })
  const control = new ShutdownRequests(log, options.problemOfRestart)
  const stored = { accessRecords, shadowedCredentials, namespaceLimits, ownStore: store.client }
  const limits = { config, listeners: live, maxFileConnections }
  const program = { version: options.version ?? '', startedAtMs: performance.now() }
  const node: NodeParts = { ...watched, ...stored, ...limits, ...program, configuration, observation }
  const operations = operationsOf(node)
  await observation.start()
  const management = await startManagement({ node, control, operations, ...placesOf(options, foundation) })
  if ('problem' in management) return undoStart(undo, management)
  const schedule = scheduledBackups(config, operations.backup)
  closeManagement = () => schedule.endWith(management)
  const own = [filesConsumer(reloadFiles), schedule.consumer, auditConsumer(audit), namespaceLimits.consumer]
  for (const consumer of [management.consumer, ...own]) configuration.addConsumer(consumer)
  sysTopics.start()
  await configuration.noteStart()
  const reloadConfiguration = (): Promise<ConfigOutcome> => reloadWithAudit(configuration, audit)
  const events = { broken, shutdownRequested: control.requested }
  const doing = { ...events, reloadConfiguration, reloadFiles, stop, reportLibraryFailure: libraryReporter(log) }
  const parts = { name, dataDirectory: directory, log, counters, accessRecords, management, configuration }
  return { node: withListeners({ ...parts, ...doing, backup: operations.backup }, live) }
}

/** Places of files for the management API. */
function placesOf({ installation }: NodeOptions, { dashboard }: PreparedParts) {
  return { installationRoot: installation.root, dashboardSocket: dashboard.path }
}

/** Parts that every shard gets. */
function partsOfShards({ bridges, rules, gateways, accessSecret, name: nodeName, directory, access }: PreparedParts) {
  return { bridges, brokerName: brokerIdOf(accessSecret), rules, gateways, nodeName, directory, access }
}

function distributeAccess(
  supervisor: ShardSupervisor,
  limits: NamespaceLimitsInForce,
): Pick<AccessRecordsDependencies, 'sendToShards' | 'noteNamespace'> {
  return {
    sendToShards: (records) => supervisor.change((change) => ({ kind: 'access', change, records }), {}),
    noteNamespace: (name, record) => limits.note(name, record),
  }
}

function auditConsumer(audit: AuditLog): ConfigConsumer {
  return {
    owns: (key) => key.startsWith('audit.'),
    apply: async ({ maxAuditBytes }) => {
      await audit.changeSize(maxAuditBytes)
      return undefined
    },
  }
}

/** Starts automatic backups. */
function scheduledBackups(config: GodwitConfig, { makeScheduled }: NodeBackups) {
  const backups = new ScheduledBackups(config.backup, { nowMs: () => Date.now(), make: makeScheduled })
  backups.start()
  const consumer: ConfigConsumer = {
    owns: (key) => key.startsWith('backup.'),
    apply: async (changed) => {
      backups.change(changed.backup)
      return undefined
    },
  }
  const endWith = (management: Pick<RunningManagement, 'close'>): Promise<void> => {
    backups.stop()
    return management.close()
  }
  return { consumer, endWith }
}

/** Returns a consumer that reads the files named in the configuration again at each change. */
function filesConsumer(reloadFiles: () => void): ConfigConsumer {
  return {
    owns: () => false,
    isAlwaysApplied: true,
    apply: async () => {
      reloadFiles()
      return undefined
    },
  }
}

/** Returns the node with a getter of its listeners, which change while the node runs. */
function withListeners(node: Omit<RunningNode, 'listeners'>, live: ListenerManager): RunningNode {
  return {
    ...node,
    get listeners() {
      return live.addresses
    },
  }
}

function sysTopicsOf(
  { config, version = '' }: NodeOptions,
  {
    nodeName,
    counters,
    supervisor,
  }: { readonly nodeName: string; readonly counters: SharedArrayBuffer; readonly supervisor: () => ShardSupervisor },
): SysTopics {
  const { intervalMs } = config.sysTopics
  const publish: SysTopicsOptions['publish'] = (messages) => supervisor().send(0, { kind: 'broker-messages', messages })
  return new SysTopics({ nodeName, version, counters, intervalMs, publish })
}

interface SupervisorDependencies {
  readonly options: NodeOptions
  readonly foundation: PreparedParts
  readonly store: NodeStore
  readonly starts: readonly ShardStart[]
  readonly maxHeapMb: number
  readonly reportBroken: (message: string) => void
}

function supervisorOf({
  options,
  foundation,
  store,
  starts,
  maxHeapMb,
  reportBroken,
}: SupervisorDependencies): ShardSupervisor {
  const { log, directory, alarms } = foundation
  return new ShardSupervisor({
    entry: options.shardEntry ?? shardEntry,
    starts,
    storeOwner: store.owner,
    log,
    restarts: options.restarts ?? defaultRestartPolicy,
    maxHeapMb,
    onRestartLimit: reportBroken,
    quarantine: async (suspect) => {
      const text = await quarantineText(store.client, directory, suspect)
      alarms.raise(suspect.kind === 'session' ? 'session-set-aside' : 'retained-set-aside', text)
    },
    alarms,
  })
}

function configurationOf(
  { config, sources }: NodeOptions,
  { directory, accessSecret: secret, log, dashboard }: PreparedParts,
  parts: {
    readonly supervisor: ShardSupervisor
    readonly sysTopics: SysTopics
    readonly listeners: ListenerManager
    readonly bridges: BridgeConfig
    readonly rules: RuleConfig
    readonly gateways: GatewayConfig
    readonly shadowedCredentials: ShadowedCredentials
  },
): Promise<ConfigManager> {
  const consumers = [
    listenersConsumer(parts.listeners, (config) => dashboard.addTo(config)),
    parts.bridges,
    parts.rules,
    parts.gateways,
    parts.shadowedCredentials,
  ]
  return createConfigManager({ ...parts, config, sources, dataDirectory: directory, secret, log, consumers })
}

const nothingToClose = async (): Promise<void> => {}
