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
import { isSocketPath, usedSlots } from '../../transports/index.ts'
import type { ConfigConsumer, Problem } from '../configuration/config-consumers.ts'
import { changedAddress, hostsFor, type ListenerAddress, resolveListener } from './listener-addresses.ts'
import { withoutMissingQuic } from './quic-presence.ts'
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
  tell(
    step: ListenerStep,
    difference: ListenerDifference,
    listeners?: readonly ShardListener[],
  ): Promise<string | undefined>
}

interface HeldListener {
  readonly configured: ListenerConfig
  /** Hosts that were tried, in order. */
  readonly hosts: readonly string[]
  readonly address: ListenerAddress
  readonly dealt: ShardListener
  /** Stopped by an administrator, until it is started or restarted; not stored across a restart of the node. */
  readonly isStopped: boolean
}

interface Plan {
  readonly held: readonly HeldListener[]
  readonly difference: ListenerDifference
}

export class ListenerManager {
  readonly #options: ListenerManagerOptions
  #held: readonly HeldListener[]
  #lastNumber: number
  #work: Promise<unknown>

  constructor(options: ListenerManagerOptions) {
    const { config, addresses } = options
    this.#options = options
    this.#lastNumber = 0
    this.#work = Promise.resolve()
    const byName = new Map(addresses.map((address) => [nameOf(address), address]))
    this.#held = config.listeners.flatMap((configured) => {
      const address = byName.get(nameOf(configured))
      return address === undefined ? [] : [this.#hold(configured, config, address)]
    })
  }

  /** Addresses of listeners that have a network address. */
  get addresses(): readonly ListenerAddress[] {
    return this.#held.map(({ address }) => address).filter(({ host }) => !isSocketPath(host))
  }

  /** Listeners for starting shards. */
  get dealt(): readonly ShardListener[] {
    return this.#held.filter(({ isStopped }) => !isStopped).map(({ dealt }) => dealt)
  }

  /** In the order of the configuration. */
  states(): readonly ListenerState[] {
    return this.#held.map(({ address: listener, dealt: { connectionSlots, counts, onlyOnShard }, isStopped }) => ({
      listener,
      isRunning: !isStopped,
      shards: onlyOnShard === undefined ? this.#options.shards : 1,
      connections: connectionSlots === undefined ? 0 : usedSlots(connectionSlots),
      ...(counts === undefined ? { accepted: 0, refused: 0 } : readListenerTable(counts)),
    }))
  }

  /** Applies the listeners of `config`. A problem is a sentence for administrators: then nothing has changed. */
  change(config: GodwitConfig): Promise<Problem | undefined> {
    return this.#next(async () => {
      // The host of ports without one is fixed at the start.
      const { node } = this.#options.config
      const plan = await this.#plan({ ...config, node })
      return 'problem' in plan ? plan : this.#carryOut(plan)
    })
  }

  /**
   * Disconnects its clients and opens it again, unless its files are unusable now. False: there is none of that kind
   * and name.
   */
  restart(kind: string, name: string): Promise<Problem | boolean> {
    return this.#next(async () => {
      const found = this.#held.find(({ address }) => address.kind === kind && address.name === name)
      if (found === undefined) return false
      const checked = changedAddress(found.address, found.configured)
      if ('problem' in checked) return checked
      const anew = { ...found, dealt: this.#deal(found.address), isStopped: false }
      const held = this.#held.map((one) => (one === found ? anew : one))
      const difference = { opened: [anew.dealt], changed: [], closed: openNumbersOf([found]) }
      return (await this.#carryOut({ held, difference })) ?? true
    })
  }

  /** Disconnects its clients and accepts no more until it is started. False: there is none of that kind and name. */
  stop(kind: string, name: string): Promise<Problem | boolean> {
    return this.#next(async () => {
      const found = this.#held.find(({ address }) => address.kind === kind && address.name === name)
      if (found === undefined) return false
      if (found.isStopped) return true
      const held = this.#held.map((one) => (one === found ? { ...found, isStopped: true } : one))
      const difference = { opened: [], changed: [], closed: [found.dealt.number] }
      return (await this.#carryOut({ held, difference })) ?? true
    })
  }

  /** Opens a stopped one; an open one is unchanged. */
  async start(kind: string, name: string): Promise<Problem | boolean> {
    const found = this.#held.find(({ address }) => address.kind === kind && address.name === name)
    return found?.isStopped === false ? true : this.restart(kind, name)
  }

  async #plan(config: GodwitConfig): Promise<Plan | Problem> {
    const staying = new Map<ListenerConfig, HeldListener>()
    const byName = new Map(this.#held.map((one) => [nameOf(one.configured), one]))
    for (const configured of config.listeners) {
      const old = byName.get(nameOf(configured))
      if (old !== undefined && mayStay(old, configured, config)) staying.set(configured, old)
    }
    const kept = new Set(staying.values())
    const going = this.#held.filter((one) => !kept.has(one))
    const held: HeldListener[] = []
    const difference = { opened: [] as ShardListener[], changed: [] as ShardListener[] }
    for (const configured of config.listeners) {
      const old = staying.get(configured)
      const now = old === undefined ? await this.#open(configured, config, going) : this.#change(old, configured)
      if (now === undefined) continue
      if ('problem' in now) return now
      held.push(now)
      if (old === undefined) difference.opened.push(now.dealt)
      else if (now !== old && !now.isStopped) difference.changed.push(now.dealt)
    }
    return { held, difference: { ...difference, closed: openNumbersOf(going) } }
  }

  #change(old: HeldListener, configured: ListenerConfig): HeldListener | Problem {
    if (isDeepStrictEqual(old.configured, configured)) return old
    const changed = changedAddress(old.address, configured)
    if ('problem' in changed) return changed
    const { listener: address } = changed
    return { ...old, configured, address, dealt: replaceListeners(address, this.#options.shards, old.dealt) }
  }

  /** undefined: its library is missing. */
  async #open(
    configured: ListenerConfig,
    config: GodwitConfig,
    going: readonly HeldListener[],
  ): Promise<HeldListener | Problem | undefined> {
    const ports = going
      .filter(({ address }) => usesUdp(address) === usesUdp(configured))
      .map(({ address }) => address.port)
    const resolved = await resolveListener(configured, config, ports)
    if ('problem' in resolved) return resolved
    const [address] = await withoutMissingQuic([resolved.listener], this.#options.log)
    return address === undefined ? undefined : this.#hold(configured, config, address)
  }

  async #carryOut(plan: Plan): Promise<Problem | undefined> {
    const { held, difference } = plan
    const { opened, changed, closed } = difference
    if (opened.length + changed.length + closed.length === 0) return undefined
    const shards = this.#options
    await shards.tell('learn', difference)
    const problem = await shards.tell('open', difference)
    if (problem !== undefined) {
      await shards.tell('abandon', difference)
      return { problem }
    }
    const before = this.#held
    this.#held = held
    const late = await shards.tell('settle', difference, this.dealt)
    return late === undefined ? undefined : this.#takeBack(before, difference, late)
  }

  /** A listener replaced another one at its address, and could not be opened there after that was closed. */
  async #takeBack(before: readonly HeldListener[], done: ListenerDifference, problem: string): Promise<Problem> {
    const wasClosed = new Set(done.closed)
    const wasChanged = new Set(done.changed.map(({ number }) => number))
    const opened: ShardListener[] = []
    this.#held = before.map((one) => {
      if (one.isStopped || !wasClosed.has(one.dealt.number)) return one
      const dealt = this.#deal(one.address)
      opened.push(dealt)
      return { ...one, dealt }
    })
    const changed = before.map(({ dealt }) => dealt).filter(({ number }) => wasChanged.has(number))
    const difference = { opened, changed, closed: done.opened.map(({ number }) => number) }
    await this.#options.tell('learn', difference)
    const late = await this.#options.tell('settle', difference, this.dealt)
    if (late !== undefined) this.#options.log.error('listener not reopened', { why: late })
    return { problem }
  }

  #hold(configured: ListenerConfig, config: GodwitConfig, address: ListenerAddress): HeldListener {
    return { configured, hosts: hostsFor(configured, config), address, dealt: this.#deal(address), isStopped: false }
  }

  #deal(address: ListenerAddress): ShardListener {
    this.#lastNumber += 1
    return placeListener(address, this.#options.shards, this.#lastNumber)
  }

  #next<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#work.then(work)
    this.#work = result.catch(() => undefined)
    return result
  }
}

/** Returns the numbers of the open listeners. */
function openNumbersOf(held: readonly HeldListener[]): number[] {
  return held.filter(({ isStopped }) => !isStopped).map(({ dealt }) => dealt.number)
}

type Named = Pick<ListenerConfig, 'kind' | 'name'>

/** Kind and name, which are unique together. */
function nameOf({ kind, name }: Named): string {
  return `${kind} ${name}`
}

function usesUdp({ kind }: Named): boolean {
  return kind === 'quic'
}

/** True if the address is the same and all differences can be applied to the open listener. */
function mayStay(old: HeldListener, configured: ListenerConfig, config: GodwitConfig): boolean {
  const hasItsPlace =
    old.configured.port === configured.port && isDeepStrictEqual(old.hosts, hostsFor(configured, config))
  return hasItsPlace && (configured.kind !== 'quic' || isDeepStrictEqual(old.configured, configured))
}

/**
 * `withOwn` adds listeners without settings. Always called: a listener may have only default settings, and its files
 * may have changed.
 */
export function listenersConsumer(
  listeners: ListenerManager,
  withOwn: (config: GodwitConfig) => GodwitConfig,
): ConfigConsumer {
  return {
    owns: (key) => key.startsWith('listeners.'),
    isAlwaysApplied: true,
    apply: (config) => listeners.change(withOwn(config)),
  }
}
