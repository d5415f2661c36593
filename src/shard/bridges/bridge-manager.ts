// The bridges of a shard. Each bridge belongs to the shard that owns its session, by the name of the session, so its messages use
// no links.
//
//   remote broker <--dialer--> Bridge <--stream pair--> a client of this shard, with an ordinary session
//
// All shards get the settings of all bridges, and each shard runs those whose sessions it owns. After a restart, a shard continues its
// bridges with the contents of their sessions.

import {
  Bridge,
  type BridgeEvent,
  toBridgeSettings,
  type BridgeSettings,
  type BridgeDependencies,
  type LocalBroker,
} from '../../bridges/index.ts'
import { createStreamPair } from '../../mqtt-client/index.ts'
import {
  toBridgeClientId,
  type BrokerCore,
  type PeerNumber,
  computeOwnerShard,
  toSourceBridgeName,
  parseSourceBridgeName,
} from '../../core/index.ts'
import { assert } from '../../protocol/index.ts'
import type { AlarmName, Log } from '../../telemetry/index.ts'
import type { ByteStream } from '../../transports/index.ts'
import { BridgeDialer } from './bridge-dialer.ts'
import { BridgeRates } from './bridge-rates.ts'
import { FilterSync } from './filter-sync.ts'
import type { FilterNotice } from '../messages/messages.ts'
import { listBridgesWithSession, createRemovedBridgeSettings } from './removed-bridges.ts'
import { DeadlineTimer } from '../runtime/deadline-timer.ts'
import type { BridgeAssignment, BridgeReport } from '../messages/bridge-assignment.ts'
import type { ShardListener } from '../messages/messages.ts'
import { OldestQueued, type ReadOldest } from './oldest-queued.ts'

/** The functions of the shard that bridges use. */
interface BridgeShard {
  readonly core: Pick<BrokerCore, 'view' | 'clientFilters'>
  handleInput(input: { readonly kind: 'client-filters'; readonly areWanted: boolean }): void
  openConnection(stream: ByteStream, listener: ShardListener): unknown
}

export interface BridgeManagerDependencies {
  readonly shard: BridgeShard
  readonly own: PeerNumber
  readonly shards: number
  readonly log: Log
  nowMs(): number
  /** Returns the limits of clients' packets, and the Receive Maximum. */
  readLimits(): Pick<LocalBroker, 'limits' | 'receiveMaximum'>
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
  fail(error: unknown): void
  /** Sends filters of clients to all other shards. */
  sendFilters(notice: FilterNotice): void
  readonly readOldest: ReadOldest
  /** Called once per second while there are bridges. */
  report(reports: readonly BridgeReport[]): void
}

interface RunningBridge {
  readonly bridge: Bridge
  readonly timer: DeadlineTimer
  readonly rates: BridgeRates
  /** The bridge is not configured any more. It remains until its session has ended. */
  isRetiring: boolean
  /** The bridge subscribes at the remote broker to the filters to which clients are subscribed at this broker. */
  isTransparent: boolean
}

const reportIntervalMs = 1_000

/** The listener of bridges, which are clients without a real listener. */
export const bridgeListener: ShardListener = {
  number: 0,
  kind: 'tcp',
  name: 'bridges',
  host: '127.0.0.1',
  port: 0,
  maxConnections: undefined,
  isLoopback: true,
  sharesPort: false,
  isInternal: true,
}

export class BridgeManager {
  readonly #dependencies: BridgeManagerDependencies
  readonly #bridges = new Map<string, RunningBridge>()
  readonly #dialer = new BridgeDialer()
  /** Filters of clients on all shards, for transparent bridges. */
  readonly filters: FilterSync
  #plans: readonly BridgeAssignment[] = []
  #reporter: NodeJS.Timeout | undefined
  #isStopped = false

  constructor(dependencies: BridgeManagerDependencies) {
    this.#dependencies = dependencies
    const { own, shards, shard } = dependencies
    this.filters = new FilterSync({
      core: shard.core,
      own,
      shards,
      setCounting: (areWanted) => shard.handleInput({ kind: 'client-filters', areWanted }),
      sendToPeers: (notice) => dependencies.sendFilters(notice),
      updateBridges: (filters) => {
        for (const { bridge, isTransparent } of this.#bridges.values())
          if (isTransparent) bridge.updateClientFilters(filters)
      },
      runGuarded: (work) => this.#runGuarded(work),
    })
  }

  /** Replaces the bridges. Their settings were checked before. */
  configure(plans: readonly BridgeAssignment[]): void {
    if (this.#isStopped) return
    this.#plans = plans
    const own = plans.filter(({ name }) => this.#isLocal(name))
    const wanted = new Set(own.map(({ name }) => name))
    for (const [name, running] of this.#bridges) if (!wanted.has(name)) this.#retire(name, running)
    for (const plan of own) this.#configureOne(plan)
    this.filters.set(plans.some(isTransparent), own.some(isTransparent))
    for (const running of this.#bridges.values()) {
      if (running.isTransparent) running.bridge.updateClientFilters(this.filters.clientSubscriptions)
    }
    this.#setReporter()
  }

  /** Ends the sessions of bridges that are not configured any more. */
  async endRemovedBridges(): Promise<void> {
    for (const name of await listBridgesWithSession(this.#dependencies.shard.core.view)) {
      if (this.#isStopped || this.#bridges.has(name)) continue
      const running = this.#add(name, createRemovedBridgeSettings(name))
      this.#retire(name, running)
    }
    this.#setReporter()
  }

  listReports(): readonly BridgeReport[] {
    return [...this.#bridges.values()].filter(({ isRetiring }) => !isRetiring).map(toReport)
  }

  /** Starts, stops or restarts a source. The effect lasts until the next change of the configuration or the next start. */
  controlSource(source: string, operation: 'start' | 'stop' | 'restart'): void {
    const name = toSourceBridgeName(source)
    const plan = this.#plans.find((each) => each.name === name)
    if (plan === undefined || !this.#isLocal(name)) return
    const running = this.#bridges.get(name)
    if (operation !== 'start' && running !== undefined) this.#remove(name, running)
    if (operation !== 'stop') this.#configureOne(plan)
    this.#setReporter()
  }

  /** Disconnects all bridges from both brokers. Their in-flight messages stay in their sessions. */
  stop(): void {
    this.#isStopped = true
    clearInterval(this.#reporter)
    this.filters.stop()
    for (const { bridge, timer } of this.#bridges.values()) {
      timer.stop()
      bridge.stop()
    }
  }

  #isLocal(name: string): boolean {
    return computeOwnerShard(toBridgeClientId(name), this.#dependencies.shards) === this.#dependencies.own
  }

  #configureOne(plan: BridgeAssignment): void {
    const running = this.#bridges.get(plan.name)
    const settings = toSettings(plan)
    if (running === undefined || running.isRetiring) {
      // A bridge that is configured again while it is being removed starts with an empty queue: queued messages belong to the removed
      // bridge.
      const startsEmpty = running !== undefined
      if (running !== undefined) this.#remove(plan.name, running)
      return this.#add(plan.name, settings).bridge.start(startsEmpty)
    }
    running.isTransparent = settings.isTransparent
    running.bridge.change(settings)
  }

  #add(name: string, settings: BridgeSettings): RunningBridge {
    const timer = new DeadlineTimer(() => this.#runGuarded(() => this.#runDueWork(name)))
    const bridge = new Bridge(settings, this.#createDependencies(name, timer))
    const { isTransparent } = settings
    const running = { bridge, timer, rates: new BridgeRates(), isRetiring: false, isTransparent }
    this.#bridges.set(name, running)
    return running
  }

  #runDueWork(name: string): void {
    const running = this.#bridges.get(name)
    if (running === undefined) return
    running.timer.begin()
    running.bridge.tick()
  }

  #retire(name: string, running: RunningBridge): void {
    if (running.isRetiring) return
    running.isRetiring = true
    running.bridge.remove()
    this.#dependencies.endAlarm(toAlarmName(name), `the bridge ${name} is not configured any more`)
  }

  #remove(name: string, { bridge, timer }: RunningBridge): void {
    timer.stop()
    bridge.stop()
    this.#bridges.delete(name)
  }

  #createDependencies(name: string, timer: DeadlineTimer): BridgeDependencies {
    const nowMs = (): number => this.#dependencies.nowMs()
    return {
      connector: this.#dialer,
      broker: this.#createLocalBroker(name),
      nowMs,
      random: Math.random,
      later: (work) => void setImmediate(() => this.#runGuarded(work)),
      wakeAt: (timeMs) => timer.schedule(timeMs, nowMs),
      emit: (event) => this.#handleEvent(name, event),
    }
  }

  #createLocalBroker(name: string): LocalBroker {
    const dependencies = this.#dependencies
    const { shard } = dependencies
    const clientId = toBridgeClientId(name)
    const oldest = new OldestQueued(clientId, dependencies.readOldest, (error) => dependencies.fail(error))
    return {
      open: () => {
        // The bytes pass directly after the current callback, so an acknowledgement and the next message pass within one iteration of the
        // event loop.
        const [bridgeEnd, shardEnd] = createStreamPair((work) => process.nextTick(() => this.#runGuarded(work)))
        shard.openConnection(shardEnd, bridgeListener)
        return bridgeEnd
      },
      readSessionStatus: () => {
        const session = shard.core.view.findInternalSession(clientId)
        if (session === undefined) return nothing
        const isOnDisk = session.oldestAtMs === undefined && session.spooled > 0 && session.onDiskFrom !== undefined
        return isOnDisk ? { ...session, oldestAtMs: oldest.findTimeMs(session.onDiskFrom) } : session
      },
      // A getter, because limits may change while the bridge runs.
      get limits() {
        return dependencies.readLimits().limits
      },
      get receiveMaximum() {
        return dependencies.readLimits().receiveMaximum
      },
    }
  }

  #handleEvent(name: string, event: BridgeEvent): void {
    const dependencies = this.#dependencies
    const { log } = dependencies
    if (event.event === 'connected') {
      const { server, sessionPresent, version } = event
      log.info('bridge connected', { bridge: name, server, sessionPresent, mqtt: version })
      dependencies.endAlarm(toAlarmName(name), `the bridge ${name} is connected to ${server}`)
    } else if (event.event === 'warning') log.warn('a bridge', { bridge: name, warning: event.text })
    else if (event.event === 'notice') log.info('a bridge', { bridge: name, notice: event.text })
    else {
      const { server, why, isNew } = event
      const fields = { bridge: name, server, why }
      if (!isNew) return log.debug('bridge disconnected', fields)
      log.warn('bridge disconnected', fields)
      dependencies.raiseAlarm(toAlarmName(name), `the bridge ${name} is not connected to ${server}: ${why}`)
    }
  }

  #setReporter(): void {
    clearInterval(this.#reporter)
    this.#reporter = undefined
    this.#report()
    if (this.#bridges.size > 0) this.#reporter = setInterval(() => this.#report(), reportIntervalMs).unref()
  }

  #report(): void {
    const nowMs = this.#dependencies.nowMs()
    for (const [name, running] of this.#bridges) {
      if (running.isRetiring && !this.#hasSession(name)) this.#remove(name, running)
    }
    for (const { bridge, rates } of this.#bridges.values()) rates.recordCounts(bridge.readStatus().counters, nowMs)
    this.#dependencies.report(this.listReports())
  }

  #hasSession(name: string): boolean {
    return this.#dependencies.shard.core.view.findInternalSession(toBridgeClientId(name)) !== undefined
  }

  #runGuarded(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.#dependencies.fail(error)
    }
  }
}

const nothing = {
  subscriptions: new Map(),
  unreleased: [],
  spooled: 0,
  oldestAtMs: undefined,
  dropped: 0,
  drops: new Map(),
}

function isTransparent({ config }: BridgeAssignment): boolean {
  return config.enable && config.transparent
}

function toAlarmName(name: string): AlarmName {
  const source = parseSourceBridgeName(name)
  return source === undefined ? `bridge:${name}` : `source:${source}`
}

function toSettings({ name, config, facts }: BridgeAssignment): BridgeSettings {
  const read = toBridgeSettings(name, config, facts)
  assert('settings' in read, 'the node has read the settings of the bridge')
  return read.settings
}

function toReport({ bridge, rates }: RunningBridge): BridgeReport {
  return { ...bridge.readStatus(), ...rates.read() }
}
