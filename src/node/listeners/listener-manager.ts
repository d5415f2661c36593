// The listeners of the node while it runs: what another configuration makes of them, and the steps in which all shards take
// that.
//
//   plan: who stays, who is changed, who is new, who goes     ports are tried and files read here, for a sentence
//     -> learn -> open ---> settle                             see `listeners/listener-set.ts`
//                   '-----> abandon                            somewhere one could not be opened: nothing has changed
//
// A listener whose address stays is changed where it is. One that moves is a new one and an old one that goes: clients
// of the old address are sent away, as they are from one that is taken out. So it is with a changed QUIC listener, whose library keeps
// what it was opened with.

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
  /** Shards that accept connections on it. */
  readonly shards: number
  readonly connections: number
  /** It accepts connections. */
  readonly isRunning: boolean
}

export interface ListenerManagerOptions {
  readonly config: GodwitConfig
  /** Those of `config` that can be, with their addresses. */
  readonly addresses: readonly ListenerAddress[]
  readonly shards: number
  readonly log: Log
  /** Says a step to all shards. `listeners`: with what shards start from then on. Resolves with the first problem. */
  tell(
    step: ListenerStep,
    difference: ListenerDifference,
    listeners?: readonly ShardListener[],
  ): Promise<string | undefined>
}

interface HeldListener {
  readonly configured: ListenerConfig
  /** That were tried for it, in order. */
  readonly hosts: readonly string[]
  readonly address: ListenerAddress
  readonly dealt: ShardListener
  /** Closed by an administrator, until it is started or restarted; not remembered by a restart of the node. */
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

  /** Those of a network. */
  get addresses(): readonly ListenerAddress[] {
    return this.#held.map(({ address }) => address).filter(({ host }) => !isSocketPath(host))
  }

  /** With what shards start. */
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

  /** From here on the listeners are those of `config`. A problem is a sentence for the operator: then all are as they were. */
  change(config: GodwitConfig): Promise<Problem | undefined> {
    return this.#next(async () => {
      // Where ports without an address are bound is settled at the start.
      const { node } = this.#options.config
      const plan = await this.#plan({ ...config, node })
      return 'problem' in plan ? plan : this.#carryOut(plan)
    })
  }

  /**
   * Its clients are sent away and it is opened anew; not where it could not be, for its files cannot be used now. False: there
   * is none of that kind and name.
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

  /** Its clients are sent away and it accepts no more, until it is started. False: there is none of that kind and name. */
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

  /** Opens one that was stopped; one that is open stays as it is. */
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

  /** undefined: it is for a library that is not there. */
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

  /** A listener was to be where another one had been, and could not be opened there after that was closed. */
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

/** Of those that shards have open. */
function openNumbersOf(held: readonly HeldListener[]): number[] {
  return held.filter(({ isStopped }) => !isStopped).map(({ dealt }) => dealt.number)
}

type Named = Pick<ListenerConfig, 'kind' | 'name'>

/** Kind and name: no two listeners have both. */
function nameOf({ kind, name }: Named): string {
  return `${kind} ${name}`
}

function usesUdp({ kind }: Named): boolean {
  return kind === 'quic'
}

/** Its address is the same, and where anything else is not, that can be changed in place. */
function mayStay(old: HeldListener, configured: ListenerConfig, config: GodwitConfig): boolean {
  const hasItsPlace =
    old.configured.port === configured.port && isDeepStrictEqual(old.hosts, hostsFor(configured, config))
  return hasItsPlace && (configured.kind !== 'quic' || isDeepStrictEqual(old.configured, configured))
}

/** `withOwn` adds listeners that no setting names. Asked always: a listener may be described by nothing but what is the default anyway, and names files. */
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
