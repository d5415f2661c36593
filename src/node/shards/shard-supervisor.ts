// The shards of a node: the links between them, start, stop, and messages to all.
//
// Each end of a link gets its port with its start, or by message if it is running. The port for a shard that is
// restarting waits in `#waiting`.

import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type {
  QueryResult,
  BridgeReport,
  FilterNotice,
  NodeToShard,
  QueryName,
  QueryOf,
  ShardLink,
  ShardStart,
  StoredValueChange,
  CrashCandidate,
  TraceLine,
} from '../../shard/index.ts'
import type { StoreOwner } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/alarms.ts'
import { freeConnectionSlots } from './connection-slots.ts'
import { type RestartPolicy, type ShardStartOutcome, SupervisedShard } from './supervised-shard.ts'

export interface ShardSupervisorOptions {
  readonly entry: URL
  /** One for each shard, in order. */
  readonly starts: readonly ShardStart[]
  readonly storeOwner: StoreOwner
  readonly log: Logger
  readonly restarts: RestartPolicy
  /** Maximum heap of each thread, in MiB. */
  readonly maxHeapMb: number
  /** A shard failed too often: the node cannot continue. */
  onGivenUp(message: string): void
  readonly alarms: Alarms
  /** Reading this has made its shard fail twice: resolves when it is in quarantine. */
  quarantine(suspect: CrashCandidate): Promise<void>
}

export class ShardSupervisor {
  readonly #shards: readonly SupervisedShard[]
  /** Receives lines for traces. */
  onTrace: (trace: string, line: TraceLine) => void = () => {}
  /** Receives the state of a shard's bridges. */
  onBridges: (shard: number, reports: readonly BridgeReport[]) => void = () => {}
  /** By shard: ports of links that it gets when it starts. */
  readonly #waiting: readonly Map<number, MessagePort>[]
  /** Values of `kv_store_*`, as JSON. */
  readonly #storedValues = new Map<string, string>()
  #lastChange: number
  #lastQuery: number

  constructor(options: ShardSupervisorOptions) {
    const { starts, entry, storeOwner, log, restarts, maxHeapMb } = options
    this.#lastChange = 0
    this.#lastQuery = 0
    this.#waiting = starts.map(() => new Map())
    this.#shards = starts.map(
      (start, number) =>
        new SupervisedShard({
          entry,
          start,
          storeOwner,
          log,
          restarts,
          maxHeapMb,
          onRestartLimit: (message) => options.onGivenUp(message),
          quarantine: (suspect) => options.quarantine(suspect),
          alarms: options.alarms,
          noteBridges: (reports) => this.onBridges(number, reports),
          storedValues: () => [...this.#storedValues],
          noteStoredValues: (changes) => this.#noteStoredValues(number, changes),
          forwardFilters: (notice) => this.#forwardFilters(number, notice),
          noteTrace: (trace, line) => this.onTrace(trace, line),
          links: () => this.#linksOf(number),
          onThreadEnd: (ended) => {
            freeConnectionSlots(ended)
            this.#forgetLinks(number)
          },
        }),
    )
  }

  /** Resolves when all accept connections, or with the reason why one of them cannot. */
  async start(): Promise<ShardStartOutcome> {
    const outcomes = await Promise.all(this.#shards.map((shard) => shard.start()))
    return outcomes.find((outcome) => !outcome.ready) ?? { ready: true }
  }

  /** Stops all at once; those without a response within the deadline are terminated. */
  async stop(deadlineMs: number): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.stop(deadlineMs)))
  }

  /** To one shard, if it is running. */
  send(shard: number, message: NodeToShard): void {
    this.#shards[shard]?.send(message)
  }

  /** To the first running shard. */
  sendToOne(message: NodeToShard): void {
    this.#shards.find(({ isRunning }) => isRunning)?.send(message)
  }

  /** The response of the shard; undefined if it is not running. */
  query<Name extends QueryName>(shard: number, query: QueryOf<Name>): Promise<QueryResult<Name> | undefined> {
    return this.#shards[shard].query(++this.#lastQuery, query)
  }

  get size(): number {
    return this.#shards.length
  }

  /** Number of running shards. */
  get running(): number {
    return this.#shards.filter(({ isRunning }) => isRunning).length
  }

  /** Number of restarts of all shards. */
  get restarts(): number {
    return this.#shards.reduce((sum, { restarts }) => sum + restarts, 0)
  }

  /**
   * Sends the same to every shard and resolves when each has applied it. `alters`: its change of start parameters, for
   * a shard that fails meanwhile.
   */
  async change(message: (change: number) => NodeToShard, alters: Partial<ShardStart>): Promise<void> {
    await this.attempt(message, alters)
  }

  /** Like `change`, for changes that may fail: resolves with the first problem. */
  async attempt(message: (change: number) => NodeToShard, alters: Partial<ShardStart>): Promise<string | undefined> {
    const change = ++this.#lastChange
    const problems = await Promise.all(this.#shards.map((shard) => shard.change(change, message(change), alters)))
    return problems.find((problem) => problem !== undefined)
  }

  /** Stored for shards that restart. All shards, including the sender, have them in this order. */
  #noteStoredValues(from: number, changes: readonly StoredValueChange[]): void {
    for (const [key, json] of changes) {
      if (json === undefined) this.#storedValues.delete(key)
      else this.#storedValues.set(key, json)
    }
    for (const [number, shard] of this.#shards.entries())
      shard.send({ kind: 'stored-values', changes, isOwn: number === from })
  }

  #forwardFilters(from: number, notice: FilterNotice): void {
    for (const [number, shard] of this.#shards.entries()) {
      if (number !== from) shard.send({ kind: 'client-filters', from, notice })
    }
  }

  /** For a shard that starts: a port to each other one. */
  #linksOf(number: number): ShardLink[] {
    const waiting = this.#waiting[number]
    return this.#shards.flatMap((other, peer): ShardLink[] => {
      if (peer === number) return []
      const port = waiting.get(peer)
      waiting.delete(peer)
      return [{ peer, port: port ?? this.#newLink(number, other, peer) }]
    })
  }

  #newLink(number: number, other: SupervisedShard, peer: number): MessagePort {
    const { port1, port2 } = new MessageChannel()
    if (other.hasThread) other.send({ kind: 'link', peer: number, port: port2 }, [port2])
    else this.#waiting[peer].set(number, port2)
    return port1
  }

  /** The other ends of its links are closed with it. */
  #forgetLinks(number: number): void {
    for (const waiting of this.#waiting) {
      waiting.get(number)?.close()
      waiting.delete(number)
    }
  }
}
