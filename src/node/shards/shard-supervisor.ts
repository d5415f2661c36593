// The shards of a node: the links between them, start, stop, and messages to all.
//
// A shard gets the ports of its links when it starts, or by message if it is running. A port for a shard that is
// restarting waits in `#waitingPorts`.

import { MessageChannel, type MessagePort } from 'node:worker_threads'
import type { StoredValueChange } from '../../actions/index.ts'
import type {
  QueryResult,
  BridgeReport,
  FilterNotice,
  NodeToShard,
  QueryName,
  QueryOf,
  ShardLink,
  ShardStart,
  CrashCandidate,
  TraceLine,
} from '../../shard/index.ts'
import type { StoreOwner } from '../../storage/index.ts'
import type { Logger } from '../../telemetry/index.ts'
import type { Alarms } from '../observe/raised-alarms.ts'
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
  onRestartLimit(message: string): void
  readonly alarms: Alarms
  /** Numbers of the shards that run on this node from the start; undefined: all. */
  readonly hosted?: readonly number[] | undefined
  /** Undefined: the node is not part of a cluster. */
  readonly threads?: ShardThreadObserver | undefined
  /** Puts a record into quarantine, because a shard failed twice when it read it. Resolves when that is done. */
  quarantine(suspect: CrashCandidate): Promise<void>
}

/** What a cluster must know of the shards of this node. */
export interface ShardThreadObserver {
  /** A thread of the shard starts: other nodes link to it. */
  handleThreadStart(shard: number): void
  handleThreadEnd(shard: number): void
  /** Another node is the home of the shard, and its thread ends. */
  handleHomeLost(shard: number, reason: string): void
  /** The shard failed too often, and is not started again. */
  handleRestartLimit(shard: number, message: string): void
  /** The link to a shard of another node ended, because its bytes could not be read. */
  handleLinkFailure(shard: number): void
}

/** Without a pause, a message that can never be read would open links all the time. */
const reopenLinkAfterMs = 1_000

export class ShardSupervisor {
  readonly #shards: readonly SupervisedShard[]
  /** Shards of this node. Those of other nodes have no thread. */
  readonly #hosted: Set<number>
  readonly #threads: ShardThreadObserver | undefined
  /** Receives lines for traces. */
  onTrace: (trace: string, line: TraceLine) => void = () => {}
  /** Receives the state of a shard's bridges. */
  onBridges: (shard: number, reports: readonly BridgeReport[]) => void = () => {}
  /** A restarted shard serves again. */
  onShardRestart: () => void = () => {}
  /** By shard: ports of links that it gets when it starts. */
  readonly #waitingPorts: readonly Map<number, MessagePort>[]
  /** Values of `kv_store_*`, as JSON. */
  readonly #storedValues = new Map<string, string>()
  #lastChange: number
  #lastQuery: number

  constructor(options: ShardSupervisorOptions) {
    const { starts, entry, storeOwner, log, restarts, maxHeapMb } = options
    this.#lastChange = 0
    this.#lastQuery = 0
    this.#waitingPorts = starts.map(() => new Map())
    this.#hosted = new Set(options.hosted ?? starts.keys())
    this.#threads = options.threads
    this.#shards = starts.map(
      (start, number) =>
        new SupervisedShard({
          entry,
          start,
          storeOwner,
          log,
          restarts,
          maxHeapMb,
          onRestartLimit: (message) => {
            if (this.#threads === undefined) options.onRestartLimit(message)
            else this.#threads.handleRestartLimit(number, message)
          },
          quarantine: (suspect) => options.quarantine(suspect),
          alarms: options.alarms,
          onBridges: (reports) => this.onBridges(number, reports),
          listStoredValues: () => [...this.#storedValues],
          onStoredValues: (changes) => this.#recordStoredValues(number, changes),
          forwardFilters: (notice) => this.#forwardFilters(number, notice),
          onHomeLost: (reason) => {
            this.#hosted.delete(number)
            this.#threads?.handleHomeLost(number, reason)
          },
          onLinkFailure: (peer) => void setTimeout(() => this.#reopenLink(number, peer), reopenLinkAfterMs).unref(),
          onTrace: (trace, line) => this.onTrace(trace, line),
          createLinks: () => {
            this.#threads?.handleThreadStart(number)
            return this.#createLinks(number)
          },
          onRestart: () => this.onShardRestart(),
          onThreadEnd: (ended) => {
            this.#threads?.handleThreadEnd(number)
            freeConnectionSlots(ended)
            this.#closeWaitingPorts(number)
          },
        }),
    )
  }

  /** Resolves when all accept connections, or with the reason why one of them cannot. */
  async start(): Promise<ShardStartOutcome> {
    const outcomes = await Promise.all([...this.#hosted].map((shard) => this.#shards[shard].start()))
    return outcomes.find((outcome) => !outcome.ready) ?? { ready: true }
  }

  /** Stops all shards at the same time. A shard that does not stop within `deadlineMs` is terminated. */
  async stop(deadlineMs: number): Promise<void> {
    await Promise.all([...this.#hosted].map((shard) => this.#shards[shard].stop(deadlineMs)))
  }

  /** This node becomes the home of a shard. Resolves when it accepts clients, or with the reason why it cannot. */
  startShard(shard: number, changes: Partial<ShardStart>): Promise<ShardStartOutcome> {
    this.#hosted.add(shard)
    return this.#shards[shard].start(changes)
  }

  /** This node is not the home of a shard any more. */
  async stopShard(shard: number, deadlineMs: number): Promise<void> {
    await this.#shards[shard].stop(deadlineMs)
    this.#hosted.delete(shard)
  }

  /** Gives a shard a link to a shard of another node. The port is closed if the shard has no thread. */
  addRemoteLink(shard: number, peer: number, port: MessagePort): void {
    const supervised = this.#shards[shard]
    if (supervised.hasThread) supervised.send({ kind: 'link', peer, port, isRemote: true }, [port])
    else port.close()
  }

  /** Sends a message to one shard; drops it if the shard is not running. */
  send(shard: number, message: NodeToShard): void {
    this.#shards[shard]?.send(message)
  }

  /** Sends a message to the shard of this node with the lowest number; drops it if the shard is not running. */
  sendToFirst(message: NodeToShard): void {
    this.send(Math.min(...this.#hosted), message)
  }

  /** Sends a message to the first running shard. */
  sendToOne(message: NodeToShard): void {
    this.#shards.find(({ isRunning }) => isRunning)?.send(message)
  }

  /** Resolves with the response of the shard; undefined if it is not running. */
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
   * Sends a message to every shard and resolves when each has applied it. `startChanges`: the same change in the start
   * parameters, for a shard that restarts meanwhile.
   */
  async change(message: (change: number) => NodeToShard, startChanges: Partial<ShardStart>): Promise<void> {
    await this.attempt(message, startChanges)
  }

  /** Like `change`, for changes that may fail: resolves with the first problem. */
  async attempt(
    message: (change: number) => NodeToShard,
    startChanges: Partial<ShardStart>,
  ): Promise<string | undefined> {
    const change = ++this.#lastChange
    const problems = await Promise.all(this.#shards.map((shard) => shard.change(change, message(change), startChanges)))
    return problems.find((problem) => problem !== undefined)
  }

  /** Stores the values for shards that restart. All shards, including the sender, get the changes in the same order. */
  #recordStoredValues(from: number, changes: readonly StoredValueChange[]): void {
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

  /** Returns a port to each other shard, for a shard that starts. */
  #createLinks(number: number): ShardLink[] {
    const waiting = this.#waitingPorts[number]
    return this.#shards.flatMap((other, peer): ShardLink[] => {
      if (peer === number || !this.#hosted.has(peer)) return []
      const port = waiting.get(peer)
      waiting.delete(peer)
      return [{ peer, port: port ?? this.#createLink(number, other, peer) }]
    })
  }

  #createLink(number: number, other: SupervisedShard, peer: number): MessagePort {
    const { port1, port2 } = new MessageChannel()
    if (other.hasThread) other.send({ kind: 'link', peer: number, port: port2 }, [port2])
    else this.#waitingPorts[peer].set(number, port2)
    return port1
  }

  /** Opens a new link between two running shards. A shard that starts meanwhile gets its links then. */
  #reopenLink(number: number, peer: number): void {
    if (!this.#hosted.has(peer)) return this.#threads?.handleLinkFailure(number)
    const shard = this.#shards[number]
    if (!shard.hasThread) return
    const port = this.#createLink(number, this.#shards[peer], peer)
    shard.send({ kind: 'link', peer, port }, [port])
  }

  /** Closes the ports that wait for other shards: the opposite ports were closed with the ended thread. */
  #closeWaitingPorts(number: number): void {
    for (const waiting of this.#waitingPorts) {
      waiting.get(number)?.close()
      waiting.delete(number)
    }
  }
}
