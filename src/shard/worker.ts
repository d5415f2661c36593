// Starts and stops a shard's thread.

import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'
import { LateRuleHook, type RuleEngine } from '../actions/index.ts'
import { resolveNamespace } from '../core/index.ts'
import { createLinkPort } from '../links/index.ts'
import { readOldest, type Store, StoreClient } from '../storage/index.ts'
import {
  type AlarmName,
  counterCells,
  Counters,
  ForwardingLog,
  readThreadMemory,
  Histograms,
  monitorLoop,
} from '../telemetry/index.ts'
import { denyAddresses } from '../transports/index.ts'
import { BridgeManager } from './bridges/bridge-manager.ts'
import { GatewayManager } from './gateways/gateway-manager.ts'
import { createStoredFacts } from './gateways/stored-gateway-facts.ts'
import { toPublishInput } from './observe/client-events.ts'
import { AutoSubscriber } from './runtime/auto-subscriber.ts'
import { Clock, computeClockBaseMs } from './runtime/clock.ts'
import { openShardStore } from './store/open-shard-store.ts'
import { raiseInliningLimit } from './runtime/v8-flags.ts'
import { ListenerSet } from './listeners/listener-set.ts'
import type {
  NodeToShard,
  ShardListener,
  ShardSettings,
  ShardStart,
  ShardToNode,
  TraceTarget,
} from './messages/messages.ts'
import { type ListenerLimits, createListenerLimits } from './listeners/listener-limits.ts'
import { type ListenerDependencies, ListenerFactory } from './listeners/listener-factory.ts'
import { CrashMarker } from './store/crash-marker.ts'
import { readClock, restoreAccess, restoreBroker } from './store/restore-records.ts'
import { handleQuery } from './queries/handle-query.ts'
import type { QueriedShard } from './queries/queried-shard.ts'
import { LibraryGuard } from './runtime/library-guard.ts'
import { createRuleEngine } from './create-rule-engine.ts'
import { disconnectClients } from './listeners/disconnect-clients.ts'
import { type HeapManager, startIdleGc, computeTraffic } from './runtime/idle-gc.ts'
import { Shard } from './shard.ts'
import { QueueAlarms } from './observe/queue-alarms.ts'
import { Tracer } from './observe/tracer.ts'

/** Time for streams to end after the broker starts to stop. Then they are destroyed. */
const stopTimeoutMs = 3_000

/** Maximum time for the other shards to send their filters to a new one. */
const readyTimeoutMs = 10_000

/** Interval of retries for a listener that could not be opened. */
const queueCheckMs = 5_000
const listenerRetryMs = 5_000

/** The longest delay of a timer, in ms. */
const maxTimerMs = 2_147_483_647

const identityBytes = 8

/** Maximum time for enabled plugins to start, before clients are accepted. */
const pluginTimeoutMs = 15_000

const start = workerData as ShardStart
let isStopping = false
const ruleHook = new LateRuleHook()
/** Resolves when enabled plugins have answered. */
const pluginsStarted = Promise.withResolvers<void>()
/** The current settings. */
let settings: ShardSettings = start
let plans = start.bridges ?? []
let gatewayPlan = start.gateways ?? []
/** Undefined until clients are accepted. */
let heap: HeapManager | undefined
const counters = new Counters(start.counters, start.shardNumber)
const log = new ForwardingLog(start.logLevel, counters, (level, event, fields) =>
  postToNode({ kind: 'log', level, event, fields }),
)

if (start.histograms !== undefined) {
  const histograms = new Histograms(start.histograms, start.shardNumber)
  monitorLoop((delay) => {
    histograms.setLoopDelay(delay)
    histograms.setMemory(readThreadMemory())
  })
}

/** Undefined until the actions and sources are created. */
let usersOfLibraries: Pick<RuleEngine, 'restartUsers'> | undefined
const guard = new LibraryGuard({
  log,
  monotonicMs: () => performance.now(),
  countFailure: () => counters.add(counterCells.libraryFailures, 1),
  restartUsers: (library, why, delayMs) => usersOfLibraries?.restartUsers(library, why, delayMs),
})
// Rejections that nothing handles arrive here as well.
process.on('uncaughtException', (error) => guard.handle(error))

await run().catch((error: unknown) => {
  postToNode({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
  process.exit(1)
})

async function run(): Promise<void> {
  let shard: Shard | undefined
  counters.clearGauges()
  denyAddresses(start.deniedAddresses ?? [])
  const client = new StoreClient((request) => postToNode({ kind: 'store', request }))
  const early: NodeToShard[] = []
  let handleMessage = (message: NodeToShard): void => void early.push(message)
  parentPort?.on('message', (message: NodeToShard) => {
    if (message.kind === 'store') client.handleNotice(message.notice)
    else handleMessage(message)
  })
  const store = await openShardStore(start, client, {
    onAlarm: ({ alarm, text }) => raiseAlarm(alarm, text),
    onAlarmEnd: (name) => endAlarm(name, 'the cause is gone'),
    onReleased: (payloadIds) => shard?.handleInput({ kind: 'payloads-released', payloadIds }),
    onTrouble: (reason) => shard?.commits.setTrouble(reason),
    onStopped: ({ message }) => leave(message),
  })
  const clock = await createClock(store)
  const identity = randomBytes(identityBytes).toString('hex')
  const listenerLimits = createListenerLimits(start)
  const listeners: ListenerSet = new ListenerSet(start.listeners, {
    factory: createListenerFactory(listenerLimits, {
      accept: (stream, listener) => running.accept(stream, listener),
      findStoredKey: createStoredKeyFinder(() => running),
    }),
    own: start.shardNumber,
    disconnectClients: (numbers) => disconnectClients(running, numbers),
    raiseAlarm,
    endAlarm,
  })
  const gateways = createGateways(() => running, { listenerLimits, clock, store })
  const findListener = (number: number): ShardListener | undefined =>
    listeners.findListener(number) ?? gateways.findListener(number)
  const running: Shard = new Shard({
    start,
    ruleHook,
    store,
    clock,
    counters,
    log,
    identity,
    findListener,
    findListenerByName: (kind, name) => listeners.findByName(kind, name),
    acceptGatewayStream: (stream, number) => gateways.acceptDatagrams(stream, number),
    onFirstMessage: raiseInliningLimit,
    reportLinkFailure: (peer) => postToNode({ kind: 'link-failed', peer }),
    raiseAlarm,
    endAlarm,
    fail,
  })
  shard = running
  observeClients(running)
  await restoreAccess(store, running.access)
  await restoreBroker(store, running.core, { nowMs: clock.nowMs(), mark: openCrashMarker(start) })
  running.handleInput({ kind: 'tick' })
  running.commits.setTrouble(client.trouble)
  addLinks(running)
  const rules = createRules(running, clock)
  usersOfLibraries = rules
  handleMessage = (message) =>
    handleNodeMessage(message, { shard: running, store, listeners, listenerLimits, clock, rules, gateways })
  for (const message of early) handleMessage(message)
  await acceptClients(running, listeners, rules, gateways)
  startBridges(running, store, clock)
  heap = createHeapManager(running)
}

/** The time of a shard that another node had may be ahead. */
async function createClock(store: Store): Promise<Clock> {
  if (start.clusterStore === undefined) return new Clock(start.clockBaseMs)
  return new Clock(Math.max(start.clockBaseMs, computeClockBaseMs(await readClock(store))))
}

/** Another node is the home of this shard: nothing more is sent, and all clients are disconnected. */
function leave(reason: string): void {
  postToNode({ kind: 'home-lost', reason })
  process.exit(0)
}

function observeClients(running: Shard): void {
  running.eventLog.tracer = createTracer(start.traces ?? [])
  running.eventLog.autoSubscriber = createAutoSubscriber(running)
}

function addLinks(running: Shard): void {
  for (const { peer, port, isRemote = false } of start.links ?? [])
    running.addLink(peer, createLinkPort(port), isRemote)
}

/** Collects garbage while the thread is idle, and on request. */
function createHeapManager(running: Shard): HeapManager {
  return startIdleGc({
    readTraffic: () => computeTraffic((name) => counters.get(counterCells[name])) + (running.peers?.relayedChunks ?? 0),
    readClientBytes: () => running.core.view.memory.totalBytes,
    forget() {
      running.forgetTopics()
      running.writer.buffers.forget()
      running.peers?.forget()
    },
  })
}

function createGateways(
  running: () => Shard,
  {
    listenerLimits,
    clock,
    store,
  }: { readonly listenerLimits: ListenerLimits; readonly clock: Clock; readonly store: Store },
): GatewayManager {
  const findStoredKey = createStoredKeyFinder(running)
  return new GatewayManager({
    own: start.shardNumber,
    shards: start.shards ?? 1,
    openRelay: (shard, listener, stream) => running().peers?.relay(shard, stream, listener, Buffer.alloc(0)) ?? false,
    log,
    nowMs: () => clock.nowMs(),
    accept: (stream, listener) => running().accept(stream, listener),
    openListener: (listener, accept) =>
      createListenerFactory(listenerLimits, { accept, findStoredKey: findStoredKey }).open(listener),
    storedKey: findStoredKey,
    connections: listenerLimits.connections,
    ...createStoredFacts(running, store),
    isBanned: (address) => running().access.isBanned(address),
    raiseAlarm,
    endAlarm,
    fail,
  })
}

function createRules(shard: Shard, clock: Clock): RuleEngine {
  return createRuleEngine(shard, {
    start,
    clock,
    ruleHook,
    limits: () => selectPacketLimits(settings).limits,
    log,
    sendStoredValues: (changes) => postToNode({ kind: 'stored-values', changes }),
    raiseAlarm,
    endAlarm,
    fail,
  })
}

function openCrashMarker({ crashMarker }: ShardStart): CrashMarker | undefined {
  return crashMarker === undefined ? undefined : new CrashMarker(crashMarker)
}

/** Bridges are clients, so they start when clients are accepted. */
function startBridges(shard: Shard, store: Store, clock: Clock): void {
  if (isStopping) return
  shard.bridges = new BridgeManager({
    shard,
    own: start.shardNumber,
    shards: start.shards ?? 1,
    log,
    nowMs: () => clock.nowMs(),
    readLimits: () => selectPacketLimits(settings),
    raiseAlarm,
    endAlarm,
    fail,
    readOldest: (clientId, fromSequence) => readOldest(store, clientId, fromSequence),
    report: (reports) => postToNode({ kind: 'bridges', reports }),
    sendFilters: (notice) => postToNode({ kind: 'client-filters', notice }),
  })
  shard.bridges.configure(plans)
  shard.bridges.endRemovedBridges().catch(fail)
}

function selectPacketLimits({
  core: { maxPacketBytes, maxTopicLevels, maxTopicBytes, receiveMaximum },
  maxPropertyBytes,
}: ShardSettings) {
  return { limits: { maxPacketBytes, maxPropertyBytes, maxTopicLevels, maxTopicBytes }, receiveMaximum }
}

function createTracer(targets: readonly TraceTarget[]): Tracer | undefined {
  return targets.length === 0
    ? undefined
    : new Tracer(targets, (name, line) => postToNode({ kind: 'trace', name, line }))
}

interface Running {
  readonly shard: Shard
  readonly store: Store
  readonly listeners: ListenerSet
  readonly listenerLimits: ListenerLimits
  readonly clock: Clock
  readonly rules: RuleEngine
  readonly gateways: GatewayManager
}

function createAutoSubscriber({ core, commands }: Shard): AutoSubscriber {
  const findClient = (clientId: string): ReturnType<typeof core.view.findClient> => core.view.findClient(clientId)
  return new AutoSubscriber(start.autoSubscriptions, { log, findClient, run: (command) => commands.run(command) })
}

function handleNodeMessage(
  message: NodeToShard,
  { shard, store, listeners, listenerLimits, clock, rules, gateways }: Running,
): void {
  if (message.kind === 'settings') {
    settings = message.settings
    shard.changeSettings(settings)
    shard.eventLog.autoSubscriber?.change(settings.autoSubscriptions)
    shard.eventLog.setPublishesClientEvents(settings.publishesClientEvents ?? true)
    listenerLimits.connections.limit = settings.maxConnections
    listenerLimits.rate.change(settings.maxConnectionRate)
    log.changeLevel(message.settings.logLevel)
    postToNode({ kind: 'changed', change: message.change })
  } else if (message.kind === 'access') {
    shard.applyAccess(message.records)
    postToNode({ kind: 'changed', change: message.change })
  } else if (message.kind === 'traces') {
    shard.eventLog.tracer = createTracer(message.targets)
    postToNode({ kind: 'changed', change: message.change })
  } else if (message.kind === 'bridges') {
    plans = message.plans
    shard.bridges?.configure(plans)
    postToNode({ kind: 'changed', change: message.change })
  } else if (message.kind === 'plugins') {
    shard.changePlugins(message.plan)
    postToNode({ kind: 'changed', change: message.change })
  } else if (message.kind === 'plugins-started') pluginsStarted.resolve()
  else if (message.kind === 'rules') {
    const { change } = message
    rules.configure(message.plan).then(() => postToNode({ kind: 'changed', change }), fail)
  } else if (message.kind === 'gateways') {
    const { change } = message
    gatewayPlan = message.plan
    gateways.configure(gatewayPlan).then(() => postToNode({ kind: 'changed', change }), fail)
  } else if (message.kind === 'memory') {
    shard.handleInput({ kind: 'memory-level', level: message.level, step: message.step })
    heap?.setShort(message.level !== 'normal')
  } else if (message.kind === 'collect-garbage') heap?.collectNow()
  else if (message.kind === 'client-filters') shard.bridges?.filters.receive(message.from, message.notice)
  else if (message.kind === 'link') shard.addLink(message.peer, createLinkPort(message.port), message.isRemote ?? false)
  else if (message.kind === 'reload-files') Promise.all([listeners.reload(), gateways.reload()]).catch(fail)
  else if (message.kind === 'listeners') {
    const { change } = message
    const taken = listeners.apply(message.step, message.difference)
    taken.then((problem) => postToNode({ kind: 'changed', change, problem }), fail)
  } else if (message.kind === 'broker-messages')
    for (const own of message.messages) shard.handleInput(toPublishInput(own))
  else if (message.kind === 'stored-values') rules.storedValues.apply(message.changes, message.isOwn)
  else if (message.kind === 'alarm') shard.handleInput({ kind: 'rule-trigger', trigger: message.trigger })
  else if (message.kind === 'query') {
    const { number, query } = message
    handleQuery(toQueriedShard(shard, rules, gateways), query, clock.nowMs()).then(
      (result) => postToNode({ kind: 'query-result', number, result }),
      fail,
    )
  } else if (message.kind === 'stop')
    stop({ shard, store, listeners, listenerLimits, clock, rules, gateways }).catch(fail)
}

function toQueriedShard(
  { core, access, commands, eventLog, bridges, plugins }: Shard,
  rules: RuleEngine,
  gateways: GatewayManager,
): QueriedShard {
  return { core, access, commands, eventLog, bridges, plugins, rules, gateways }
}

/** Raises and ends alarms about nearly full queues. */
function watchQueues({ core }: Shard): void {
  const alarms = new QueueAlarms({
    listNearlyFull: (max) => core.view.listNearlyFullSessions(max),
    nowMs: () => Date.now(),
    raiseAlarm,
    endAlarm,
  })
  setInterval(() => alarms.check(), queueCheckMs).unref()
}

/**
 * Accepts clients when the other shards have sent their filters, or after `readyTimeoutMs`. An unavailable shard must not keep this one
 * from accepting clients: only clients of the unavailable shard are refused.
 */
async function acceptClients(
  shard: Shard,
  listeners: ListenerSet,
  rules: RuleEngine,
  gateways: GatewayManager,
): Promise<void> {
  if (!(await shard.waitUntilReady(readyTimeoutMs))) {
    raiseAlarm(
      'shards',
      'some shards have not sent the subscriptions of their clients: clients may miss messages until they have',
    )
    shard.waitUntilReady(maxTimerMs).then((isReady) => {
      if (isReady) endAlarm('shards', 'all shards have sent the subscriptions of their clients')
    }, fail)
  }
  if (start.awaitsPlugins === true && start.hasServed !== true)
    await Promise.race([pluginsStarted.promise, delay(pluginTimeoutMs, undefined, { ref: false })])
  if (isStopping) return
  // A message that arrives before its rules are active would not trigger them.
  if (start.rules !== undefined) await rules.configure(start.rules)
  rules.adopt().catch(fail)
  if (isStopping) return
  shard.acceptClients()
  // When the node starts, a listener that cannot be opened is an error for the administrator. After a restart of a shard, the other
  // listeners must accept clients nevertheless.
  await (start.hasServed === true ? listeners.openAvailable() : listeners.openAll())
  setInterval(() => void listeners.retryMissing(), listenerRetryMs).unref()
  watchQueues(shard)
  if (isStopping) return listeners.closeAll()
  await gateways.configure(gatewayPlan)
  postToNode({ kind: 'ready', listeners: listeners.open })
}

function createStoredKeyFinder(running: () => Shard): ListenerDependencies['findStoredKey'] {
  return (name, listener) => running().access.findPreSharedKey(name, findKeyNamespace(name, listener))
}

/** Returns the namespace of a client with a pre-shared key. Its user name is the identity of the key. */
function findKeyNamespace(username: string, listener: ShardListener): string | undefined {
  const { namespaces } = start
  return namespaces && resolveNamespace(namespaces, { listener, arrival: undefined, username })
}

function createListenerFactory(
  listenerLimits: ListenerLimits,
  within: Pick<ListenerDependencies, 'accept' | 'findStoredKey'>,
): ListenerFactory {
  return new ListenerFactory({
    own: start.shardNumber,
    ...listenerLimits,
    log,
    ...within,
    countRefused: () => counters.add(counterCells.connectionsRefused, 1),
    raiseAlarm,
    endAlarm,
  })
}

async function stop({ shard, store, listeners, rules, gateways }: Running): Promise<void> {
  isStopping = true
  shard.bridges?.stop()
  rules.stop()
  await gateways.stop()
  await listeners.closeAll()
  await shard.stop(stopTimeoutMs)
  await store.close()
  postToNode({ kind: 'stopped' })
}

function raiseAlarm(name: AlarmName, message: string): void {
  postToNode({ kind: 'alarm', name, message })
}

function endAlarm(name: AlarmName, message: string): void {
  postToNode({ kind: 'alarm-over', name, message })
}

/** Reports an internal error. The state of the shard may be wrong, so the thread ends, and the node restarts it. */
function fail(error: unknown): void {
  guard.markInternal(error)
  setImmediate(() => {
    throw error
  })
}

function postToNode(message: ShardToNode): void {
  parentPort?.postMessage(message)
}
