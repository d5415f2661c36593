// The listeners of the node: changes of the configuration, and the steps in which all shards apply them.
//
//   plan: unchanged, changed, new, removed                    ports and files are checked here, with error texts
//     -> learn -> open ---> settle                             see `listeners/listener-set.ts`
//                   '-----> abandon                            one could not be opened: nothing has changed
//
// A listener with the same address is changed in place. One with a new address is a new listener and a removed one: clients of the old
// address are disconnected. The same applies to a changed QUIC listener, because its library cannot change settings.

import { isDeepStrictEqual } from 'node:util'
import type { GodwitConfig, ListenerConfig } from '../../config/index.ts'
import type { ListenerDifference, ListenerStep, ShardListener } from '../../shard/index.ts'
import { type ListenerCounts, type Log, readListenerTable } from '../../telemetry/index.ts'
import { isSocketPath, countUsedSlots } from '../../transports/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import { resolveChanged, listHosts, type ListenerAddress, resolveListener } from './listener-addresses.ts'
import { omitMissingQuic } from './omit-missing-quic.ts'
import { replaceListeners, placeListener } from './listener-placement.ts'

export interface ListenerState extends ListenerCounts {
  readonly listener: ListenerAddress
  /** Shards that accept its connections. */
  readonly shards: number
  readonly connections: number
  /** True if the listener accepts connections. */
  readonly isRunning: boolean
}

export interface ListenerManagerOptions {
  readonly config: GodwitConfig
  /** Available listeners of `config`, with their addresses. */
  readonly addresses: readonly ListenerAddress[]
  readonly shards: number
  readonly log: Log
  /** Sends a step to all shards. `listeners`: for shards that start later. Resolves with the first problem. */
  sendStep(
    step: ListenerStep,
    difference: ListenerDifference,
    listeners?: readonly ShardListener[],
  ): Promise<string | undefined>
}

interface ManagedListener {
  readonly configured: ListenerConfig
  /** Hosts that were tried, in order. */
  readonly hosts: readonly string[]
  readonly address: ListenerAddress
  readonly shardListener: ShardListener
  /** Stopped by an administrator, until it is started or restarted; not stored across a restart of the node. */
  readonly isStopped: boolean
}

interface Plan {
  readonly listeners: readonly ManagedListener[]
  readonly difference: ListenerDifference
}

export class ListenerManager {
  readonly #options: ListenerManagerOptions
  #listeners: readonly ManagedListener[]
  #lastNumber: number
  #work: Promise<unknown>

  constructor(options: ListenerManagerOptions) {
    const { config, addresses } = options
    this.#options = options
    this.#lastNumber = 0
    this.#work = Promise.resolve()
    const byName = new Map(addresses.map((address) => [formatName(address), address]))
    this.#listeners = config.listeners.flatMap((configured) => {
      const address = byName.get(formatName(configured))
      return address === undefined ? [] : [this.#manage(configured, config, address)]
    })
  }

  /** Addresses of listeners that have a network address. */
  get addresses(): readonly ListenerAddress[] {
    return this.#listeners.map(({ address }) => address).filter(({ host }) => !isSocketPath(host))
  }

  /** Listeners for starting shards. */
  get placed(): readonly ShardListener[] {
    return this.#listeners.filter(({ isStopped }) => !isStopped).map(({ shardListener }) => shardListener)
  }

  /** In the order of the configuration. */
  listStates(): readonly ListenerState[] {
    return this.#listeners.map(
      ({ address: listener, shardListener: { connectionSlots, counts, onlyOnShard }, isStopped }) => ({
        listener,
        isRunning: !isStopped,
        shards: onlyOnShard === undefined ? this.#options.shards : 1,
        connections: connectionSlots === undefined ? 0 : countUsedSlots(connectionSlots),
        ...(counts === undefined ? { accepted: 0, refused: 0 } : readListenerTable(counts)),
      }),
    )
  }

  /** Applies the listeners of `config`. A problem is a sentence for administrators: then nothing has changed. */
  change(config: GodwitConfig): Promise<Problem | undefined> {
    return this.#runNext(async () => {
      // The host of ports without one is fixed at the start.
      const { node } = this.#options.config
      const plan = await this.#plan({ ...config, node })
      return 'problem' in plan ? plan : this.#carryOut(plan)
    })
  }

  /**
   * Disconnects the clients of a listener and opens it again, unless its files are unusable now. False: there is none of that
   * kind and name.
   */
  restart(kind: string, name: string): Promise<Problem | boolean> {
    return this.#runNext(async () => {
      const found = this.#listeners.find(({ address }) => address.kind === kind && address.name === name)
      if (found === undefined) return false
      const checked = resolveChanged(found.address, found.configured)
      if ('problem' in checked) return checked
      const restarted: ManagedListener = {
        ...found,
        shardListener: this.#placeListener(found.address),
        isStopped: false,
      }
      const listeners = this.#listeners.map((one) => (one === found ? restarted : one))
      const difference = { opened: [restarted.shardListener], changed: [], closed: listOpenNumbers([found]) }
      return (await this.#carryOut({ listeners, difference })) ?? true
    })
  }

  /** Closes a listener and disconnects its clients, until it is started. False: there is none of that kind and name. */
  stop(kind: string, name: string): Promise<Problem | boolean> {
    return this.#runNext(async () => {
      const found = this.#listeners.find(({ address }) => address.kind === kind && address.name === name)
      if (found === undefined) return false
      if (found.isStopped) return true
      const listeners = this.#listeners.map((one) => (one === found ? { ...found, isStopped: true } : one))
      const difference = { opened: [], changed: [], closed: [found.shardListener.number] }
      return (await this.#carryOut({ listeners, difference })) ?? true
    })
  }

  /** Opens a stopped listener; does not change an open one. */
  async start(kind: string, name: string): Promise<Problem | boolean> {
    const found = this.#listeners.find(({ address }) => address.kind === kind && address.name === name)
    return found?.isStopped === false ? true : this.restart(kind, name)
  }

  async #plan(config: GodwitConfig): Promise<Plan | Problem> {
    const kept = new Map<ListenerConfig, ManagedListener>()
    const byName = new Map(this.#listeners.map((one) => [formatName(one.configured), one]))
    for (const configured of config.listeners) {
      const old = byName.get(formatName(configured))
      if (old !== undefined && canStayOpen(old, configured, config)) kept.set(configured, old)
    }
    const keptListeners = new Set(kept.values())
    const removed = this.#listeners.filter((one) => !keptListeners.has(one))
    const listeners: ManagedListener[] = []
    const difference = { opened: [] as ShardListener[], changed: [] as ShardListener[] }
    for (const configured of config.listeners) {
      const old = kept.get(configured)
      const now = old === undefined ? await this.#open(configured, config, removed) : this.#change(old, configured)
      if (now === undefined) continue
      if ('problem' in now) return now
      listeners.push(now)
      if (old === undefined) difference.opened.push(now.shardListener)
      else if (now !== old && !now.isStopped) difference.changed.push(now.shardListener)
    }
    return { listeners, difference: { ...difference, closed: listOpenNumbers(removed) } }
  }

  #change(old: ManagedListener, configured: ListenerConfig): ManagedListener | Problem {
    if (isDeepStrictEqual(old.configured, configured)) return old
    const changed = resolveChanged(old.address, configured)
    if ('problem' in changed) return changed
    const { listener: address } = changed
    return {
      ...old,
      configured,
      address,
      shardListener: replaceListeners(address, this.#options.shards, old.shardListener),
    }
  }

  /** Returns undefined if the QUIC library is missing. */
  async #open(
    configured: ListenerConfig,
    config: GodwitConfig,
    going: readonly ManagedListener[],
  ): Promise<ManagedListener | Problem | undefined> {
    const ports = going
      .filter(({ address }) => isOverUdp(address) === isOverUdp(configured))
      .map(({ address }) => address.port)
    const resolved = await resolveListener(configured, config, ports)
    if ('problem' in resolved) return resolved
    const [address] = await omitMissingQuic([resolved.listener], this.#options.log)
    return address === undefined ? undefined : this.#manage(configured, config, address)
  }

  async #carryOut(plan: Plan): Promise<Problem | undefined> {
    const { listeners, difference } = plan
    const { opened, changed, closed } = difference
    if (opened.length + changed.length + closed.length === 0) return undefined
    const shards = this.#options
    await shards.sendStep('learn', difference)
    const problem = await shards.sendStep('open', difference)
    if (problem !== undefined) {
      await shards.sendStep('abandon', difference)
      return { problem }
    }
    const before = this.#listeners
    this.#listeners = listeners
    const late = await shards.sendStep('settle', difference, this.placed)
    return late === undefined ? undefined : this.#restore(before, difference, late)
  }

  /** Opens the earlier listeners again, because a new one could not be opened at the address of a closed one. */
  async #restore(before: readonly ManagedListener[], done: ListenerDifference, problem: string): Promise<Problem> {
    const wasClosed = new Set(done.closed)
    const wasChanged = new Set(done.changed.map(({ number }) => number))
    const opened: ShardListener[] = []
    this.#listeners = before.map((one) => {
      if (one.isStopped || !wasClosed.has(one.shardListener.number)) return one
      const shardListener = this.#placeListener(one.address)
      opened.push(shardListener)
      return { ...one, shardListener }
    })
    const changed = before.map(({ shardListener }) => shardListener).filter(({ number }) => wasChanged.has(number))
    const difference = { opened, changed, closed: done.opened.map(({ number }) => number) }
    await this.#options.sendStep('learn', difference)
    const late = await this.#options.sendStep('settle', difference, this.placed)
    if (late !== undefined) this.#options.log.error('listener not reopened', { why: late })
    return { problem }
  }

  #manage(configured: ListenerConfig, config: GodwitConfig, address: ListenerAddress): ManagedListener {
    return {
      configured,
      hosts: listHosts(configured, config),
      address,
      shardListener: this.#placeListener(address),
      isStopped: false,
    }
  }

  #placeListener(address: ListenerAddress): ShardListener {
    this.#lastNumber += 1
    return placeListener(address, this.#options.shards, this.#lastNumber)
  }

  #runNext<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#work.then(work)
    this.#work = result.catch(() => undefined)
    return result
  }
}

/** Returns the numbers of the open listeners. */
function listOpenNumbers(listeners: readonly ManagedListener[]): number[] {
  return listeners.filter(({ isStopped }) => !isStopped).map(({ shardListener }) => shardListener.number)
}

type Named = Pick<ListenerConfig, 'kind' | 'name'>

/** Kind and name, which are unique together. */
function formatName({ kind, name }: Named): string {
  return `${kind} ${name}`
}

function isOverUdp({ kind }: Named): boolean {
  return kind === 'quic'
}

/** True if the address is the same and all differences can be applied to the open listener. */
function canStayOpen(old: ManagedListener, configured: ListenerConfig, config: GodwitConfig): boolean {
  const hasSameAddress =
    old.configured.port === configured.port && isDeepStrictEqual(old.hosts, listHosts(configured, config))
  return hasSameAddress && (configured.kind !== 'quic' || isDeepStrictEqual(old.configured, configured))
}

/**
 * `withOwn` adds listeners without settings. Always called: a listener may have only default settings, and its files
 * may have changed.
 */
export function createListenersConsumer(
  listeners: ListenerManager,
  withOwn: (config: GodwitConfig) => GodwitConfig,
): ConfigConsumer {
  return {
    canApply: (key) => key.startsWith('listeners.'),
    isAlwaysApplied: true,
    apply: (config) => listeners.change(withOwn(config)),
  }
}
