// Starts the parts of a node: the store, the shards, what observes them, the API and the schedule of backups.

import { type NodeParts, ShutdownRequests } from '../api/index.ts'
import { computeClockBaseMs, readClock, shardEntry, type ShardStart } from '../shard/index.ts'
import { parseStoreUrl, StorageFailure, type StoreAddress } from '../storage/index.ts'
import type { GodwitConfig } from '../config/index.ts'
import { describeFileError, type Logger } from '../telemetry/index.ts'
import {
  type AccessRecords,
  type AccessRecordsDependencies,
  Backups,
  createBackedUpPlugins,
  type BridgeConfig,
  deriveBrokerId,
  type ConfigManager,
  type ConfigConsumer,
  type ConfigOutcome,
  defaultRestartPolicy,
  type GatewayConfig,
  isDiskFull,
  keepReserve,
  ClusterNode,
  DatabaseMembers,
  createLibraryReporter,
  type ListenerManager,
  type Monitoring,
  createListenersConsumer,
  NamespaceLimitsInForce,
  type NodeStore,
  observeNode,
  type PluginManager,
  openAccessRecords,
  openAuditLog,
  openNodeStore,
  planShards,
  quarantineCandidate,
  reloadWithAudit,
  type RuleConfig,
  runRulesForAlarm,
  ShadowedCredentials,
  ShardSupervisor,
  resolveShardCount,
  SysTopics,
  type SysTopicsOptions,
} from '../node/index.ts'
import {
  createBridgeConfig,
  createGatewayConfig,
  createListenerManager,
  createRuleConfig,
  type PreparedParts,
} from './config-parts.ts'
import { createConfigManager } from './create-config-manager.ts'
import { startManagement } from './management.ts'
import { createOperatedParts, stopOperatedParts } from './operated-parts.ts'
import {
  createAuditConsumer,
  createFilesConsumer,
  createModuleAlarms,
  startScheduledBackups,
} from './node-consumers.ts'
import { createPluginManager } from './plugin-parts.ts'
import type { NodeOptions, NodeStart, RunningNode } from './running-node.ts'

const noStores =
  'cluster.stores: it names no database, and a cluster needs one; set it to the PostgreSQL of the cluster, such as ["postgres://user:password@db1:5432/godwit"]'
/** Maximum time for the shards to stop: a part of the ten seconds of the node. */
const defaultShardStopMs = 8_000

/** A problem is a sentence for administrators; then no part is left running, except the log. */
export async function startParts(options: NodeOptions, foundation: PreparedParts): Promise<NodeStart> {
  const { config } = options
  const { directory, alarms } = foundation
  const stores = parseClusterStores(options)
  if ('problem' in stores) return stores
  const undo: Undo = { stop: async () => {} }
  try {
    const store = await openNodeStore({
      dataDirectory: directory,
      shards: resolveShardCount(config),
      ...config.storage,
      alarms,
    })
    undo.stop = () => store.close()
    return await startShards({ options, foundation, store, stores, undo })
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
  /** Of `cluster.stores`. */
  readonly stores: readonly StoreAddress[]
  readonly undo: Undo
}

/** Returns the databases of `cluster.stores`, or what is wrong with it. */
function parseClusterStores({
  config: { cluster },
  clusterMembers,
}: NodeOptions): readonly StoreAddress[] | { readonly problem: string } {
  if (cluster === undefined) return []
  if (cluster.stores.length === 0 && clusterMembers === undefined) return { problem: noStores }
  const stores: StoreAddress[] = []
  for (const [store, url] of cluster.stores.entries()) {
    const address = parseStoreUrl(url)
    if ('problem' in address) return { problem: `cluster.stores: number ${store} ${address.problem}` }
    stores.push(address)
  }
  return stores
}

async function startShards({ options, foundation, store, stores, undo }: ShardsStart): Promise<NodeStart> {
  const { config } = options
  const { log, alarms, directory, name } = foundation
  const clock = computeClockBaseMs(await readClock(store.client))
  const live = createListenerManager(config, foundation, () => supervisor)
  const { promise: broken, resolve: reportBroken } = Promise.withResolvers<string>()
  const cluster = createClusterNode(options, foundation, { stores, reportBroken })
  const shardParts = { ...toShardParts(foundation), listeners: live.placed }
  const plan = await planShards({ ...shardParts, clockBaseMs: clock, config })
  const { counters, histograms, memory, freeDescriptors, maxFileConnections } = plan
  const starts = cluster?.addStores(plan.starts) ?? plan.starts
  const namespaceLimits = new NamespaceLimitsInForce(config, plan.namespaceTable, starts.length)
  const sysTopics = createSysTopics(options, { nodeName: name, counters, readSupervisor: () => supervisor })
  alarms.listen((change, alarm) => sysTopics.publishAlarm(change, alarm))
  const threads = { starts, maxHeapMb: memory.maxHeapMb, reportBroken, cluster }
  const supervisor = createSupervisor({ options, foundation, store, ...threads })
  alarms.listen((change, alarm) => runRulesForAlarm(supervisor, change, alarm))
  const bridges = createBridgeConfig(foundation, supervisor)
  const rules = createRuleConfig(foundation, supervisor)
  const gateways = createGatewayConfig(config, foundation, supervisor)
  const audit = openAuditLog(directory, log, config.maxAuditBytes)
  const shared = { nodeName: name, dataDirectory: directory, counters, supervisor, log, bridges, gateways, audit }
  const watched = { ...shared, histograms, alarms }
  const observation = observeNode({ ...watched, memory, freeDescriptors, live })
  const { accessRecords, shadowedCredentials } = await openAccess(config, { store, supervisor, namespaceLimits, log })
  const plugins = createPluginManager(config, supervisor, foundation)
  const consumers = { listeners: live, bridges, rules, gateways, shadowedCredentials, plugins }
  const configuration = await openConfiguration(options, foundation, { ...consumers, supervisor, sysTopics })
  const startProblem = await startThreads(supervisor, cluster, plugins)
  const reloadFiles = createFileReloader({ supervisor, observation, log })
  let closeManagement = closeNothing
  const reserve = keepReserve(directory)
  const operated = createOperatedParts(options, { supervisor, configuration, audit, live, log, reloadFiles })
  const stop = async (): Promise<void> => {
    reserve.stop()
    stopOperatedParts(operated)
    await closeManagement()
    await audit.close()
    await observation.stop()
    sysTopics.stop()
    await plugins.stopAll()
    await stopShards(supervisor, cluster, options.shardStopMs)
    await closeFoundation(foundation, store)
  }
  undo.stop = stop
  if (startProblem !== undefined) return undoStart(undo, { problem: startProblem })
  const control = new ShutdownRequests(log, options.findRestartProblem)
  const stored = { accessRecords, shadowedCredentials, namespaceLimits, ownStore: store.client, plugins }
  const limits = { config, listeners: live, maxFileConnections }
  const program = { version: options.version ?? '', startedAtMs: performance.now() }
  const running = { cluster, ...watched, ...stored, ...limits, ...program, configuration, observation, ...operated }
  const node: NodeParts = { ...running, backups: new Backups({ ...running, plugins: createBackedUpPlugins(plugins) }) }
  await observation.start()
  const management = await startManagement({ node, control, ...toPlaces(options, foundation) })
  if ('problem' in management) return undoStart(undo, management)
  const schedule = startScheduledBackups(config, node.backups)
  closeManagement = () => schedule.endWith(management)
  const own = createOwnConsumers({ config, alarms, audit, namespaceLimits, reloadFiles })
  for (const consumer of [management.consumer, schedule.consumer, ...own]) configuration.addConsumer(consumer)
  sysTopics.start()
  await configuration.recordStart()
  void operated.watchedFiles.start()
  const reloadConfiguration = (): Promise<ConfigOutcome> => reloadWithAudit(configuration, audit, 'signal')
  const events = { broken, shutdownRequested: control.requested }
  const doing = { ...events, reloadConfiguration, reloadFiles, stop, reportLibraryFailure: createLibraryReporter(log) }
  const parts = { name, dataDirectory: directory, log, counters, accessRecords, management, configuration }
  return { node: addListeners({ ...parts, ...doing, plugins: plugins.runtime, backup: node.backups }, live) }
}

/** A node of a cluster gives its shards to others before. */
async function stopShards(
  supervisor: ShardSupervisor,
  cluster: ClusterNode | undefined,
  stopMs = defaultShardStopMs,
): Promise<void> {
  await cluster?.leave(stopMs)
  await supervisor.stop(cluster?.hasEnded === true ? 0 : stopMs)
  await cluster?.stop()
}

/** Opens the stored access records, and compares them with the configuration. */
async function openAccess(
  { auth }: GodwitConfig,
  dependencies: {
    readonly store: NodeStore
    readonly supervisor: ShardSupervisor
    readonly namespaceLimits: NamespaceLimitsInForce
    readonly log: Logger
  },
): Promise<{ readonly accessRecords: AccessRecords; readonly shadowedCredentials: ShadowedCredentials }> {
  const { store, supervisor, namespaceLimits, log } = dependencies
  const accessRecords = await openAccessRecords({
    store: store.client,
    ...distributeAccess(supervisor, namespaceLimits),
  })
  const shadowedCredentials = new ShadowedCredentials({
    records: accessRecords,
    log,
    configured: auth.credentials,
  })
  return { accessRecords, shadowedCredentials }
}

/** Returns the function that checks certificates, keys and other files now, and opens the file of the log again. */
function createFileReloader({
  supervisor,
  observation,
  log,
}: {
  readonly supervisor: ShardSupervisor
  readonly observation: Pick<Monitoring, 'checkFiles'>
  readonly log: Logger
}): () => void {
  return () => {
    for (let shard = 0; shard < supervisor.size; shard++) supervisor.send(shard, { kind: 'reload-files' })
    observation.checkFiles()
    log.reopen().catch((error: unknown) => log.error('log file not opened again', { error: describeFileError(error) }))
  }
}

/** Starts the shards, and before them the links to other nodes. Returns why they cannot start; undefined: they accept clients. */
async function startThreads(
  supervisor: ShardSupervisor,
  cluster: ClusterNode | undefined,
  plugins: PluginManager,
): Promise<string | undefined> {
  const problem = await cluster?.start(supervisor)
  if (problem !== undefined) return problem
  // The shards give channels to the plugins while they start, and accept clients when the plugins have answered.
  const starting = supervisor.start()
  await plugins.startEnabled()
  for (let shard = 0; shard < supervisor.size; shard++) supervisor.send(shard, { kind: 'plugins-started' })
  const outcome = await starting
  return outcome.ready ? undefined : outcome.message
}

/** Returns the consumers of the configuration that belong to no other part. */
function createOwnConsumers(parts: {
  readonly config: GodwitConfig
  readonly alarms: PreparedParts['alarms']
  readonly audit: ReturnType<typeof openAuditLog>
  readonly namespaceLimits: NamespaceLimitsInForce
  readonly reloadFiles: () => void
}): ConfigConsumer[] {
  const { config, alarms, audit, namespaceLimits, reloadFiles } = parts
  const files = createFilesConsumer(reloadFiles)
  return [files, createAuditConsumer(audit), namespaceLimits.consumer, createModuleAlarms(config, alarms)]
}

async function closeFoundation({ dashboard, lock, log }: PreparedParts, store: NodeStore): Promise<void> {
  await dashboard.remove()
  await store.close()
  await lock.release()
  await log.close()
}

/** Places of files for the management API. */
function toPlaces({ installation }: NodeOptions, { dashboard }: PreparedParts) {
  return { installationRoot: installation.root, dashboardSocket: dashboard.path }
}

/** Parts that every shard gets. */
function toShardParts({ bridges, rules, gateways, accessSecret, name: nodeName, directory, access }: PreparedParts) {
  return { bridges, brokerName: deriveBrokerId(accessSecret), rules, gateways, nodeName, directory, access }
}

function distributeAccess(
  supervisor: ShardSupervisor,
  limits: NamespaceLimitsInForce,
): Pick<AccessRecordsDependencies, 'sendToShards' | 'onNamespace'> {
  return {
    sendToShards: (records) => supervisor.change((change) => ({ kind: 'access', change, records }), {}),
    onNamespace: (name, record) => limits.setLimits(name, record),
  }
}

/** Returns the node with a getter of its listeners, which change while the node runs. */
function addListeners(node: Omit<RunningNode, 'listeners'>, live: ListenerManager): RunningNode {
  return {
    ...node,
    get listeners() {
      return live.addresses
    },
  }
}

function createSysTopics(
  { config, version = '' }: NodeOptions,
  {
    nodeName,
    counters,
    readSupervisor,
  }: {
    readonly nodeName: string
    readonly counters: SharedArrayBuffer
    readonly readSupervisor: () => ShardSupervisor
  },
): SysTopics {
  const { intervalMs } = config.sysTopics
  const publish: SysTopicsOptions['publish'] = (messages) =>
    readSupervisor().sendToFirst({ kind: 'broker-messages', messages })
  return new SysTopics({ nodeName, version, counters, intervalMs, publish })
}

interface SupervisorDependencies {
  readonly options: NodeOptions
  readonly foundation: PreparedParts
  readonly store: NodeStore
  readonly starts: readonly ShardStart[]
  readonly maxHeapMb: number
  readonly reportBroken: (message: string) => void
  readonly cluster: ClusterNode | undefined
}

/** Returns undefined if the node is alone. */
function createClusterNode(
  { config: { cluster: config }, clusterMembers }: NodeOptions,
  { name: nodeName, log, alarms }: PreparedParts,
  {
    stores,
    reportBroken,
  }: { readonly stores: readonly StoreAddress[]; readonly reportBroken: (message: string) => void },
): ClusterNode | undefined {
  if (config === undefined) return undefined
  const [first, ...others] = stores
  const ofDatabase =
    first === undefined ? undefined : new DatabaseMembers({ config, stores: [first, ...others], nodeName, log })
  const members = clusterMembers ?? ofDatabase
  if (members === undefined) return undefined
  return new ClusterNode({ config, stores, nodeName, members, log, alarms, onEnd: reportBroken })
}

function createSupervisor({
  options,
  foundation,
  store,
  starts,
  maxHeapMb,
  reportBroken,
  cluster,
}: SupervisorDependencies): ShardSupervisor {
  const { log, directory, alarms } = foundation
  const awaitsPlugins = foundation.pluginLibrary.list().some(({ record }) => record.isEnabled)
  return new ShardSupervisor({
    entry: options.shardEntry ?? shardEntry,
    starts: starts.map((start) => ({ ...start, awaitsPlugins })),
    hosted: cluster?.listHosted(),
    threads: cluster,
    storeOwner: store.owner,
    log,
    restarts: options.restarts ?? defaultRestartPolicy,
    maxHeapMb,
    onRestartLimit: reportBroken,
    quarantine: async (suspect) => {
      // Its records are not in the store of this node. The membership quarantines a shard that fails again and again.
      if (cluster !== undefined)
        return log.error('record not quarantined: the shard is part of a cluster', { ...suspect })
      const text = await quarantineCandidate(store.client, directory, suspect)
      alarms.raise(suspect.kind === 'session' ? 'session-set-aside' : 'retained-set-aside', text)
    },
    alarms,
  })
}

function openConfiguration(
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
    readonly plugins: PluginManager
  },
): Promise<ConfigManager> {
  const consumers = [
    createListenersConsumer(parts.listeners, (config) => dashboard.addTo(config)),
    parts.bridges,
    parts.rules,
    parts.gateways,
    parts.shadowedCredentials,
    parts.plugins,
  ]
  return createConfigManager({ ...parts, config, sources, dataDirectory: directory, secret, log, consumers })
}

const closeNothing = async (): Promise<void> => {}
