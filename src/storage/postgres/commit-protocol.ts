// Decides what a home does until a batch is durable. No I/O: the shard writer (shard-writer.ts) runs the effects and reports their
// results as inputs.
//
//   connecting ──connected──► raising ──confirmed──► ready ──commit──► writing ──durable──► ready
//       ▲                        │  the server has       ▲                 │
//       │                        │  fewer batches        │                 │ lost, error, warning:
//       │                        └──► repeating ─────────┘                 │ outcome unknown
//       └──────────────────────────────────────────────────────────────────┘
//   stopped: another home writes the shard, or the database lost batches that are not in memory
//
// A batch is durable if its statement took effect and the server sent no warning: a cancelled wait for the standby also ends in success.
// In all other cases the outcome is unknown. A greater attempt on a new connection then makes earlier statements ineffective, however
// late they arrive, and, once confirmed, everything that is visible is on the standby as well. Only then the numbers are compared.

import assert from 'node:assert/strict'
import type { ShardHome, ShardRow } from './commit-statements.ts'

/** What the protocol needs to know of a batch. */
export interface ProtocolBatch {
  readonly bytes: number
}

/** A database and its present primary. After a promotion, the timeline is greater. */
export interface ServerTimeline {
  readonly systemIdentifier: string
  readonly timeline: number
}

export type StopReason =
  /** Another home has the shard. */
  | 'replaced'
  /** The database has fewer batches than were confirmed, and they are not in memory any more; or it lost the start of this home. */
  | 'went-back'

export type ProtocolEffect<Batch> =
  /** Results: `connected` or `lost`. `hasFailed`: wait before. */
  | { readonly kind: 'connect'; readonly connection: number; readonly hasFailed: boolean }
  /** The connection is not used any more. */
  | { readonly kind: 'disconnect'; readonly connection: number }
  /** Results: `raised` or `lost`. */
  | { readonly kind: 'raise-attempt'; readonly connection: number; readonly attempt: number }
  /** Results: `row-read` or `lost`. */
  | { readonly kind: 'read-row'; readonly connection: number }
  /** Results: `written` or `lost`. */
  | {
      readonly kind: 'write'
      readonly connection: number
      readonly attempt: number
      readonly sequence: number
      readonly batch: Batch
    }
  /** The batch of `commit` is durable. */
  | { readonly kind: 'durable'; readonly sequence: number }
  /** What the database has is confirmed: it may be read from this server. */
  | { readonly kind: 'ready'; readonly server: ServerTimeline }
  /** Results of reads from now on are not confirmed. */
  | { readonly kind: 'unready'; readonly why: string }
  /** Batches that the database had lost are stored again. */
  | { readonly kind: 'repeated'; readonly first: number; readonly last: number }
  | { readonly kind: 'stopped'; readonly reason: StopReason; readonly text: string }

export interface ProtocolOptions {
  readonly home: ShardHome
  /** The server that confirmed the start of this home; undefined: any. */
  readonly server: ServerTimeline | undefined
  /** Sum of the bytes of confirmed batches that are kept. */
  readonly maxKeptBytes: number
}

interface SentBatch<Batch> {
  readonly sequence: number
  readonly batch: Batch
}

type State =
  | { readonly name: 'idle' }
  | { readonly name: 'connecting' }
  | { readonly name: 'raising' }
  | { readonly name: 'reading-row' }
  | { readonly name: 'repeating'; readonly first: number; readonly next: number }
  | { readonly name: 'ready' }
  | { readonly name: 'writing' }
  | { readonly name: 'stopped' }

export class CommitProtocol<Batch extends ProtocolBatch> {
  readonly #home: ShardHome
  readonly #maxKeptBytes: number
  #state: State = { name: 'idle' }
  #connection = 0
  #attempt = 0
  /** Sequence number of the last durable batch. Undefined: not read yet, and this home has written none. */
  #confirmed: number | undefined
  #server: ServerTimeline | undefined
  #pending: Batch | undefined
  /** The last durable batches, oldest first. */
  readonly #kept: SentBatch<Batch>[] = []
  #keptBytes = 0
  #effects: ProtocolEffect<Batch>[] = []

  constructor(options: ProtocolOptions) {
    this.#home = options.home
    this.#server = options.server
    this.#maxKeptBytes = options.maxKeptBytes
  }

  get lastSequence(): number | undefined {
    return this.#confirmed
  }

  /** Returns the effects since the last call, in order. */
  takeEffects(): ProtocolEffect<Batch>[] {
    return this.#effects.splice(0)
  }

  start(): void {
    assert(this.#state.name === 'idle', 'the protocol was started before')
    this.#connect(false)
  }

  /** Writes a batch. The previous one must be durable. */
  commit(batch: Batch): void {
    assert(this.#pending === undefined, 'a batch is being written')
    this.#pending = batch
    if (this.#state.name === 'ready') this.#writePending()
  }

  handleConnected(connection: number, server: ServerTimeline): void {
    if (!this.#isCurrent(connection, 'connecting')) return
    const problem = this.findServerProblem(server)
    if (problem !== undefined) return this.#reconnect(problem)
    this.#server = server
    this.#raiseAttempt()
  }

  /** Returns why this server is not used; undefined: it is. */
  findServerProblem(server: ServerTimeline): string | undefined {
    const known = this.#server
    if (known === undefined) return undefined
    if (server.systemIdentifier !== known.systemIdentifier) {
      return `it is another database: ${server.systemIdentifier} instead of ${known.systemIdentifier}`
    }
    if (server.timeline < known.timeline) {
      return `the server is a former primary: it has timeline ${server.timeline}, and ${known.timeline} exists`
    }
    return undefined
  }

  /** `row`: of the statement that raised the attempt; undefined: it changed nothing. */
  handleRaised(connection: number, row: ShardRow | undefined, warnings: readonly string[]): void {
    if (!this.#isCurrent(connection, 'raising')) return
    if (warnings.length > 0) return this.#reconnect(warnings.join('; '))
    if (row === undefined) return this.#readRow()
    this.#compare(row)
  }

  handleWritten(connection: number, hasEffect: boolean, warnings: readonly string[]): void {
    if (!this.#isCurrent(connection, 'writing') && !this.#isCurrent(connection, 'repeating')) return
    if (warnings.length > 0) return this.#reconnect(warnings.join('; '))
    if (!hasEffect) return this.#readRow()
    const state = this.#state
    if (state.name === 'repeating') this.#repeat({ ...state, next: state.next + 1 })
    else this.#confirmPending()
  }

  /** The row of the shard, after a statement had no effect. */
  handleRow(connection: number, row: ShardRow | undefined): void {
    if (!this.#isCurrent(connection, 'reading-row')) return
    const { epoch, life } = this.#home
    if (row === undefined || row.epoch < epoch) return this.#stop('went-back', this.#describeLostStart(row))
    if (row.epoch > epoch || row.life !== life) {
      const other = row.life === undefined ? 'no node' : `life ${row.life}`
      return this.#stop('replaced', `epoch ${row.epoch} of shard ${this.#home.shard} belongs to ${other}`)
    }
    // It is the row of this home, so an attempt of this home was greater, or the number was not the next one.
    this.#attempt = Math.max(this.#attempt, row.attempt)
    this.#reconnect('a statement had no effect')
  }

  /** The connection failed, ended, or had an error: the outcome of its statement is unknown. */
  handleLost(connection: number, why: string): void {
    if (connection !== this.#connection || this.#state.name === 'stopped') return
    this.#reconnect(why)
  }

  /** Another node uses this server. */
  handleReportedServer(server: ServerTimeline): void {
    const known = this.#server
    if (known === undefined || server.systemIdentifier !== known.systemIdentifier) return
    if (server.timeline <= known.timeline || this.#state.name === 'stopped' || this.#state.name === 'idle') return
    this.#server = server
    this.#reconnect(`another server was promoted: timeline ${server.timeline} exists`)
  }

  #isCurrent(connection: number, name: State['name']): boolean {
    return connection === this.#connection && this.#state.name === name
  }

  #connect(hasFailed: boolean): void {
    this.#state = { name: 'connecting' }
    this.#connection += 1
    this.#effects.push({ kind: 'connect', connection: this.#connection, hasFailed })
  }

  #reconnect(why: string): void {
    this.#effects.push({ kind: 'unready', why }, { kind: 'disconnect', connection: this.#connection })
    this.#connect(true)
  }

  #raiseAttempt(): void {
    this.#state = { name: 'raising' }
    this.#attempt += 1
    this.#effects.push({ kind: 'raise-attempt', connection: this.#connection, attempt: this.#attempt })
  }

  #readRow(): void {
    this.#state = { name: 'reading-row' }
    this.#effects.push({ kind: 'read-row', connection: this.#connection })
  }

  /** The row is confirmed, and statements of earlier connections have no effect. */
  #compare({ sequence }: ShardRow): void {
    const confirmed = (this.#confirmed ??= sequence)
    if (sequence < confirmed) return this.#repeatFrom(sequence + 1, confirmed)
    if (sequence === confirmed) return this.#enterReady()
    // Only this home has written in this epoch, and only one batch at a time.
    assert(sequence === confirmed + 1, 'the shard has a batch of this epoch that this home did not write')
    this.#confirmPending()
  }

  /** The database went back to an earlier state: a standby without the last batches was promoted. */
  #repeatFrom(first: number, confirmed: number): void {
    const [oldest] = this.#kept
    if (oldest === undefined || oldest.sequence > first) {
      const lost = `batches ${first} to ${confirmed} of shard ${this.#home.shard} were confirmed`
      return this.#stop('went-back', `${lost}; the database lost them, and they are not in memory any more`)
    }
    this.#repeat({ name: 'repeating', first, next: first })
  }

  /** Writes the batch `next` again, if there is one. */
  #repeat(state: Extract<State, { name: 'repeating' }>): void {
    this.#state = state
    const sent = this.#kept.find(({ sequence }) => sequence === state.next)
    if (sent !== undefined) return this.#write(sent)
    this.#effects.push({ kind: 'repeated', first: state.first, last: state.next - 1 })
    this.#enterReady()
  }

  #enterReady(): void {
    assert(this.#server !== undefined)
    this.#state = { name: 'ready' }
    this.#effects.push({ kind: 'ready', server: this.#server })
    if (this.#pending !== undefined) this.#writePending()
  }

  #writePending(): void {
    assert(this.#pending !== undefined && this.#confirmed !== undefined)
    this.#state = { name: 'writing' }
    this.#write({ sequence: this.#confirmed + 1, batch: this.#pending })
  }

  #write({ sequence, batch }: SentBatch<Batch>): void {
    const [connection, attempt] = [this.#connection, this.#attempt]
    this.#effects.push({ kind: 'write', connection, attempt, sequence, batch })
  }

  #confirmPending(): void {
    const batch = this.#pending
    assert(batch !== undefined && this.#confirmed !== undefined)
    const sequence = this.#confirmed + 1
    this.#pending = undefined
    this.#confirmed = sequence
    this.#keep({ sequence, batch })
    if (this.#state.name === 'raising') this.#enterReady()
    else this.#state = { name: 'ready' }
    this.#effects.push({ kind: 'durable', sequence })
  }

  #keep(sent: SentBatch<Batch>): void {
    this.#kept.push(sent)
    this.#keptBytes += sent.batch.bytes
    while (this.#keptBytes > this.#maxKeptBytes) this.#keptBytes -= this.#kept.shift()?.batch.bytes ?? 0
  }

  #stop(reason: StopReason, text: string): void {
    this.#state = { name: 'stopped' }
    this.#effects.push(
      { kind: 'unready', why: text },
      { kind: 'disconnect', connection: this.#connection },
      { kind: 'stopped', reason, text },
    )
  }

  #describeLostStart(row: ShardRow | undefined): string {
    const { shard, epoch } = this.#home
    const found = row === undefined ? 'has no row' : `has epoch ${row.epoch}`
    return `the database lost epoch ${epoch} of shard ${shard}: it ${found}; batches up to ${this.#confirmed ?? 'the last one'} may be lost`
  }
}
