// The shards of a node together: links between each two of them, one start, one stop, and what is said to all.
//
// Of the two ports of a link each end gets its own with its start, or, where it runs already, by message. An end that is
// between two lives finds the port of a sibling that was faster in `#waiting`.

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
  readonly keeper: StoreOwner
  readonly log: Logger
  readonly restarts: RestartPolicy
  /** Of each thread's own heap, in MiB. */
  readonly maxHeapMb: number
  /** A shard died too often: the node cannot go on. */
  onGivenUp(message: string): void
  readonly alarms: Alarms
  /** Taking this in has killed its shard twice: resolves when it is out of the way. */
  quarantine(suspect: CrashCandidate): Promise<void>
}

export class ShardSupervisor {
  readonly #shards: readonly SupervisedShard[]
  /** Told of what the shards write for traces. */
  onTrace: (trace: string, line: TraceLine) => void = () => {}
  /** Told of how the bridges of a shard are. */
  onBridges: (shard: number, reports: readonly BridgeReport[]) => void = () => {}
  /** By shard: ports of siblings' links that it takes along when it starts. */
  readonly #waiting: readonly Map<number, MessagePort>[]
  /** Values of `kv_store_*`, as JSON. */
  readonly #storedValues = new Map<string, string>()
  #lastChange: number
  #lastAsk: number

  constructor(options: ShardSupervisorOptions) {
    const { starts, entry, keeper, log, restarts, maxHeapMb } = options
    this.#lastChange = 0
    this.#lastAsk = 0
    this.#waiting = starts.map(() => new Map())
    this.#shards = starts.map(
      (start, number) =>
        new SupervisedShard({
          entry,
          start,
          keeper,
          log,
          restarts,
          maxHeapMb,
          onGivenUp: (message) => options.onGivenUp(message),
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

  /** All are asked at once; those that do not answer within the deadline are ended. */
  async stop(deadlineMs: number): Promise<void> {
    await Promise.all(this.#shards.map((shard) => shard.stop(deadlineMs)))
  }

  /** To one shard, if it lives. */
  send(shard: number, message: NodeToShard): void {
    this.#shards[shard]?.send(message)
  }

  /** To the first shard that serves. */
  sendToOne(message: NodeToShard): void {
    this.#shards.find(({ isRunning }) => isRunning)?.send(message)
  }

  /** What the shard answers; undefined where it is not there. */
  ask<Name extends QueryName>(shard: number, question: QueryOf<Name>): Promise<QueryResult<Name> | undefined> {
    return this.#shards[shard].ask(++this.#lastAsk, question)
  }

  get size(): number {
    return this.#shards.length
  }

  /** How many of them serve. */
  get running(): number {
    return this.#shards.filter(({ isRunning }) => isRunning).length
  }

  /** How often one of them died and was started again. */
  get restarts(): number {
    return this.#shards.reduce((sum, { restarts }) => sum + restarts, 0)
  }

  /**
   * Says the same to every shard and resolves when each has it in force. `alters` is what it changes of a shard's start:
   * one that dies meanwhile starts with that.
   */
  async change(message: (change: number) => NodeToShard, alters: Partial<ShardStart>): Promise<void> {
    await this.attempt(message, alters)
  }

  /** As `change`, of what a shard may be unable to do: resolves with the first problem. */
  async attempt(message: (change: number) => NodeToShard, alters: Partial<ShardStart>): Promise<string | undefined> {
    const change = ++this.#lastChange
    const problems = await Promise.all(this.#shards.map((shard) => shard.change(change, message(change), alters)))
    return problems.find((problem) => problem !== undefined)
  }

  /** Kept for shards that start anew. All shards, also the one that told them, have them in this order. */
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

  /** For a shard that starts: a port to each sibling. */
  #linksOf(number: number): ShardLink[] {
    const waiting = this.#waiting[number]
    return this.#shards.flatMap((sibling, peer): ShardLink[] => {
      if (peer === number) return []
      const port = waiting.get(peer)
      waiting.delete(peer)
      return [{ peer, port: port ?? this.#newLink(number, sibling, peer) }]
    })
  }

  #newLink(number: number, sibling: SupervisedShard, peer: number): MessagePort {
    const { port1, port2 } = new MessageChannel()
    if (sibling.hasThread) sibling.send({ kind: 'link', peer: number, port: port2 }, [port2])
    else this.#waiting[peer].set(number, port2)
    return port1
  }

  /** The other ends of its links are gone with it. */
  #forgetLinks(number: number): void {
    for (const waiting of this.#waiting) {
      waiting.get(number)?.close()
      waiting.delete(number)
    }
  }
}
