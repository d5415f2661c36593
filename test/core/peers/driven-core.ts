// One of several cores, run step by step: its outputs are collected and executed when the test requests it. A larger world around several cores
// uses `handle`, which takes inputs and returns what goes to peers, and `commit`, which is the disk.

import {
  BrokerCore,
  Connection,
  type Batch,
  type CommandResult,
  type CoreSettings,
  type Input,
  type ListenerTraits,
  type MatchedRule,
  type Message,
  type PeerMessage,
  type PeerNumber,
  type Permissions,
  type RuleHook,
  type ShardPlace,
  type CoreRequest,
  type SendList,
} from '../../../src/core/index.ts'
import { TopicTable, type TopicFilter } from '../../../src/protocol/index.ts'
import type { StoredChange } from '../../../src/records/index.ts'
import { frozenChanges, type MemoryRecordStore } from '../../simulator/record-store.ts'

type LoadQueue = Extract<CoreRequest, { kind: 'load-queue' }>
type LoadMessage = Extract<CoreRequest, { kind: 'load-message' }>

export interface CoreDependencies {
  /** Packets to clients, in order. */
  readonly sent: (sends: SendList) => void
  /** A `Message` is a plain message. */
  readonly toPeer: (to: PeerNumber, message: PeerMessage | Message) => void
  readonly closed: (connection: Connection) => void
  readonly nowMs: () => number
}

/** A rule and what it does. */
export interface CoreRules {
  readonly hook: RuleHook
  readonly rule: MatchedRule
  readonly filters: readonly TopicFilter[]
}

/** Steps of a batch: taken, written (a crash may follow), reported to the core. */
interface PendingWrite {
  readonly batch: Batch
  readonly changes: StoredChange[]
  isWritten: boolean
}

export class DrivenCore {
  readonly number: PeerNumber
  readonly core: BrokerCore
  readonly topics = new TopicTable(1_024)
  /** Results of administrator commands, by request ID. */
  readonly results = new Map<number, CommandResult>()
  readonly #recordStore: MemoryRecordStore
  readonly #dependencies: CoreDependencies
  readonly #loads: LoadQueue[] = []
  readonly #messageLoads: LoadMessage[] = []
  #writing: PendingWrite | undefined = undefined
  #committedBatch = 0
  /** A batch had changes. */
  hasWritten = false

  constructor(
    shard: ShardPlace,
    from: {
      recordStore: MemoryRecordStore
      settings: CoreSettings
      identity: string
      dependencies: CoreDependencies
      permissions?: Permissions | undefined
      rules?: CoreRules | undefined
    },
  ) {
    this.number = shard.own
    this.#recordStore = from.recordStore
    this.#dependencies = from.dependencies
    this.core = new BrokerCore(from.settings, {
      identity: from.identity,
      topics: this.topics,
      shard,
      ...(from.permissions !== undefined && { permissions: from.permissions }),
      ...(from.rules !== undefined && { ruleHook: from.rules.hook }),
    })
    const { rules } = from
    if (rules !== undefined)
      this.handle({ kind: 'rules', rules: rules.filters.map((filter) => [filter, rules.rule]), triggers: new Set() })
    const { records, queues, payloadReferences } = from.recordStore.readStart()
    this.handle({ kind: 'restore', records })
    for (const queue of queues) this.handle({ kind: 'restore-queue', ...queue })
    this.handle({ kind: 'payloads-counted', counts: payloadReferences, isEnd: true })
  }

  /** Runs a turn with one input. */
  handle(input: Input): void {
    this.core.handle(input, this.#dependencies.nowMs())
    this.#drain()
  }

  /** Whether a batch is being written. */
  get isWriting(): boolean {
    return this.#writing !== undefined
  }

  /** Runs one step of the disk. */
  commit(): void {
    const writing = this.#writing
    if (writing === undefined) return
    if (!writing.isWritten) {
      writing.isWritten = true
      this.#recordStore.apply(writing.changes)
      return
    }
    this.#writing = undefined
    this.#committedBatch = writing.batch.number
    this.#dependencies.sent(writing.batch.sendsAfterCommit)
    this.handle({ kind: 'committed', batch: writing.batch.number })
    this.#load()
  }

  /** Whether a message read is pending. */
  get isReading(): boolean {
    return this.#messageLoads.length > 0
  }

  /** Reads one message. */
  read(): void {
    const load = this.#messageLoads.shift()
    if (load === undefined) return
    const message = this.#recordStore.readMessage(load.of)
    this.handle({ kind: 'message-loaded', requestId: load.requestId, message })
  }

  /** Whether the core has work without an input. */
  get hasMoreWork(): boolean {
    return this.core.view.hasMoreWork
  }

  #drain(): void {
    const outputs = this.core.takeOutputs()
    this.#dependencies.sent(outputs.sends)
    outputs.peerSends.drainTo((to) => ({
      send: (message) => this.#dependencies.toPeer(to, message),
      sendPlain: (message) => this.#dependencies.toPeer(to, message),
      // Here, each message has its own chunk.
      sendRun: (message) => this.#dependencies.toPeer(to, message),
    }))
    for (const event of outputs.events)
      if (event.event === 'command-done') this.results.set(event.requestId, event.result)
    const { requests, closes, drains } = outputs
    const pending = [...requests]
    const closing = [...closes]
    const draining = [...drains]
    this.core.clearOutputs()
    this.#startWrite()
    for (const request of pending) {
      if (request.kind === 'load-queue') this.#loads.push(request)
      else if (request.kind === 'load-message') this.#messageLoads.push(request)
      else if (request.kind === 'authenticate')
        this.handle({ kind: 'authentication-result', requestId: request.requestId, decision: { allowed: true } })
      else throw new Error(`no response to ${request.kind} here`)
    }
    this.#load()
    for (const { connection } of closing) this.#dependencies.closed(connection)
    // Clients here have one way to their shard, so nothing has arrived elsewhere.
    for (const connection of draining) this.handle({ kind: 'input-drained', connection })
  }

  #startWrite(): void {
    if (this.#writing !== undefined) return
    const batch = this.core.takeBatch()
    if (batch !== undefined) this.hasWritten ||= batch.changes.length > 0
    if (batch !== undefined) this.#writing = { batch, changes: frozenChanges(batch.changes), isWritten: false }
  }

  #load(): void {
    const due = this.#loads.findIndex(({ afterBatch }) => afterBatch <= this.#committedBatch)
    if (due === -1) return
    const [load] = this.#loads.splice(due, 1)
    const { records, isEnd } = this.#recordStore.readQueue(load)
    this.handle({ kind: 'queue-loaded', requestId: load.requestId, records, isEnd })
  }
}

export const newConnection = (output: object, listener: Partial<ListenerTraits> = {}): Connection =>
  new Connection(output, { name: 'tcp:default', isLoopback: true, ...listener }, '127.0.0.1')
