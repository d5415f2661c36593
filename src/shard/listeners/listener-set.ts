// The listeners of a shard. A change has steps that all shards take together, so that it applies to all or to none:
//
//   learn ---> open ---> settle      closes removed listeners, disconnects their clients, accepts clients on new ones
//                '-----> abandon     closes what was opened
//
// Steps run one after the other. A shard that has not opened its listeners yet adds the difference to what it will open.
//
// A listener that was open before and cannot be opened again (damaged files, a used port) does not block others: it raises an alarm
// and is tried again.

import type { AlarmName } from '../../telemetry/index.ts'
import type { ListenerDifference, ListenerStep, ShardListener } from '../messages/messages.ts'
import type { OpenListener, ListenerFactory, PreparedChange } from './listener-factory.ts'

export interface ListenerSetDependencies {
  readonly factory: Pick<ListenerFactory, 'open'>
  /** The number of the shard. */
  readonly own: number
  /** Disconnects all clients of the listeners. */
  disconnectClients(listeners: ReadonlySet<number>): Promise<void>
  raiseAlarm(name: AlarmName, message: string): void
  endAlarm(name: AlarmName, message: string): void
}

/** Maximum wait until the address of a QUIC listener is free after its clients were disconnected. */
const releaseTimeoutMs = 5_000

export class ListenerSet {
  readonly #dependencies: ListenerSetDependencies
  /** Listeners of the node by number, including those that are being added or removed. */
  readonly #known: Map<number, ShardListener>
  /** Listeners that this shard has, or will have. */
  readonly #wanted: Map<number, ShardListener>
  readonly #open: Map<number, OpenListener>
  /** Results of `open`, by number. */
  readonly #prepared: Map<number, PreparedChange>
  /** Reported text of each required listener that is not open, by number. */
  readonly #missing: Map<number, string>
  #isServing: boolean
  #work: Promise<unknown>

  constructor(listeners: readonly ShardListener[], dependencies: ListenerSetDependencies) {
    this.#dependencies = dependencies
    this.#known = new Map(listeners.map((listener) => [listener.number, listener]))
    this.#wanted = new Map(listeners.filter((one) => this.#isLocal(one)).map((one) => [one.number, one]))
    this.#open = new Map()
    this.#prepared = new Map()
    this.#missing = new Map()
    this.#isServing = false
    this.#work = Promise.resolve()
  }

  /** Returns a listener of any shard. Undefined: the listener was closed before the relayed connection arrived. */
  findListener(number: number): ShardListener | undefined {
    return this.#known.get(number)
  }

  /** Returns a listener of any shard by its name in the configuration. */
  findByName(kind: string, name: string): ShardListener | undefined {
    return [...this.#known.values()].find((listener) => listener.kind === kind && listener.name === name)
  }

  /** Opens the required listeners. Rejects if one cannot be opened. */
  openAll(): Promise<void> {
    return this.#runInOrder(async () => {
      this.#isServing = true
      for (const listener of this.#wanted.values()) await this.#openOne(listener)
    })
  }

  /** Opens the required listeners that can be opened. */
  openAvailable(): Promise<void> {
    return this.#runInOrder(() => {
      this.#isServing = true
      return this.#openMissing()
    })
  }

  /** Retries listeners that could not be opened. */
  retryMissing(): Promise<void> {
    return this.#runInOrder(async () => {
      if (this.#isServing) await this.#openMissing()
    })
  }

  /** Resolves with an error text if the step fails. */
  apply(step: ListenerStep, difference: ListenerDifference): Promise<string | undefined> {
    return this.#runInOrder(async () => {
      switch (step) {
        case 'learn':
          return this.#addKnown(difference)
        case 'open':
          return await this.#prepare(difference)
        case 'settle':
          return await this.#settle(difference)
        case 'abandon':
          return await this.#abandon(difference)
        default:
          return step satisfies never
      }
    })
  }

  reload(): Promise<unknown> {
    return Promise.all([this.retryMissing(), ...[...this.#open.values()].map((listener) => listener.reload())])
  }

  /** Accepts no more clients. */
  async closeAll(): Promise<void> {
    this.#isServing = false
    await Promise.all([...this.#open.values()].map((listener) => listener.close()))
  }

  get open(): readonly { name: string; host: string; port: number }[] {
    return [...this.#open].map(([number, { host, port }]) => ({
      name: this.#wanted.get(number)?.name ?? '',
      host,
      port,
    }))
  }

  #addKnown({ opened }: ListenerDifference): undefined {
    for (const listener of opened) this.#known.set(listener.number, listener)
  }

  async #prepare({ opened, changed, closed }: ListenerDifference): Promise<string | undefined> {
    if (!this.#isServing) return undefined
    try {
      for (const listener of opened) {
        if (this.#isLocal(listener) && !this.#isAddressTaken(listener, closed)) await this.#openOne(listener)
      }
      for (const listener of changed) {
        const open = this.#open.get(listener.number)
        if (open !== undefined) this.#prepared.set(listener.number, open.prepare(listener))
      }
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  async #settle({ opened, changed, closed }: ListenerDifference): Promise<string | undefined> {
    for (const listener of changed) this.#change(listener)
    await this.#close(closed)
    for (const listener of opened) {
      this.#known.set(listener.number, listener)
      if (this.#isLocal(listener)) this.#wanted.set(listener.number, listener)
    }
    if (!this.#isServing) return undefined
    try {
      for (const listener of opened) if (this.#isLocal(listener)) await this.#openOne(listener)
      await this.#openMissing()
      return undefined
    } catch (error) {
      return (error as Error).message
    }
  }

  async #abandon({ opened }: ListenerDifference): Promise<undefined> {
    for (const prepared of this.#prepared.values()) prepared.discard()
    this.#prepared.clear()
    await this.#close(opened.map(({ number }) => number))
  }

  #change(listener: ShardListener): void {
    const { number } = listener
    this.#known.set(number, listener)
    if (this.#wanted.has(number)) this.#wanted.set(number, listener)
    const prepared = this.#prepared.get(number) ?? this.#open.get(number)?.prepare(listener)
    this.#prepared.delete(number)
    prepared?.apply()
  }

  async #close(numbers: readonly number[]): Promise<void> {
    const removed = numbers.map((number) => this.#open.get(number)).filter((open) => open !== undefined)
    for (const number of numbers) {
      this.#open.delete(number)
      this.#wanted.delete(number)
      this.#recordOpened(number, 'the listener was removed')
    }
    await Promise.all(removed.map((open) => open.close()))
    if (this.#isServing) await this.#dependencies.disconnectClients(new Set(numbers))
    for (const number of numbers) this.#known.delete(number)
    await Promise.all(removed.map((open) => waitWithTimeout(open.waitUntilReleased())))
  }

  async #openOne(listener: ShardListener): Promise<void> {
    if (this.#open.has(listener.number)) return
    this.#open.set(listener.number, await this.#dependencies.factory.open(listener))
    this.#recordOpened(listener.number, 'the listener is open again')
  }

  async #openMissing(): Promise<void> {
    for (const listener of this.#wanted.values()) {
      try {
        await this.#openOne(listener)
      } catch (error) {
        this.#recordMissing(listener, (error as Error).message)
      }
    }
  }

  #recordMissing(listener: ShardListener, why: string): void {
    if (this.#missing.get(listener.number) === why) return
    this.#missing.set(listener.number, why)
    this.#dependencies.raiseAlarm(toAlarmName(listener), `a listener cannot be opened and is retried every 5 s: ${why}`)
  }

  #recordOpened(number: number, text: string): void {
    const listener = this.#known.get(number)
    if (listener !== undefined && this.#missing.delete(number)) this.#dependencies.endAlarm(toAlarmName(listener), text)
  }

  #isLocal({ onlyOnShard = this.#dependencies.own }: ShardListener): boolean {
    return onlyOnShard === this.#dependencies.own
  }

  /** Returns whether a listener that is being removed may have the address. */
  #isAddressTaken(listener: ShardListener, closed: readonly number[]): boolean {
    return closed.some((number) => {
      const old = this.#known.get(number)
      return old !== undefined && canShareAddress(old, listener)
    })
  }

  #runInOrder<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = this.#work.then(work)
    this.#work = result.catch(() => undefined)
    return result
  }
}

function toAlarmName({ kind, name }: ShardListener): AlarmName {
  return `listener-closed:${kind}:${name}`
}

/** Returns whether both listeners may need the same address. True also if only one is on all interfaces. UDP has its own ports. */
function canShareAddress(one: ShardListener, other: ShardListener): boolean {
  return one.port === other.port && (one.kind === 'quic') === (other.kind === 'quic')
}

async function waitWithTimeout(released: Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, releaseTimeoutMs)
  await Promise.race([released, promise])
  clearTimeout(timer)
}
