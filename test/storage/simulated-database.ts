// A replicated database as the commit protocol sees it, without I/O. Statements wait until the test executes them: in time, after their
// connection was lost, or never. What a server shows may not be replicated, a cancelled wait for the standby is a success with a warning,
// and a standby may be promoted while the old primary lives on.

import type { ProtocolEffect, ServerTimeline } from '../../src/storage/postgres/commit-protocol.ts'
import type { ShardRow } from '../../src/storage/postgres/commit-statements.ts'

/** A batch is known by its position among all batches that the home committed, from 1. */
export interface SimulatedBatch {
  readonly bytes: number
  readonly position: number
}

export type SentStatement = Extract<
  ProtocolEffect<SimulatedBatch>,
  { readonly kind: 'raise-attempt' | 'read-row' | 'write' }
>

type LogEntry =
  | { readonly kind: 'taken'; readonly epoch: number; readonly life: string }
  | { readonly kind: 'raised'; readonly attempt: number }
  | { readonly kind: 'written'; readonly sequence: number; readonly position: number }

export interface StatementResult {
  /** The row of the shard after it; undefined: it had no effect, or there is no row. */
  readonly row: ShardRow | undefined
  /** Number of log entries that must be on the standby before the server responds. */
  readonly waitsFor: number
}

export class SimulatedServer {
  readonly timeline: number
  readonly log: LogEntry[]
  /** Number of entries that the standby has. */
  replicated: number

  constructor(timeline: number, log: readonly LogEntry[]) {
    this.timeline = timeline
    this.log = [...log]
    this.replicated = log.length
  }

  get identity(): ServerTimeline {
    return { systemIdentifier: '1', timeline: this.timeline }
  }

  get row(): ShardRow | undefined {
    let row: ShardRow | undefined
    for (const entry of this.log) {
      if (entry.kind === 'taken')
        row = { sequence: row?.sequence ?? 0, attempt: 0, epoch: entry.epoch, life: entry.life }
      else if (row === undefined) throw new Error('the log begins with a home')
      else if (entry.kind === 'raised') row = { ...row, attempt: entry.attempt }
      else row = { ...row, sequence: entry.sequence }
    }
    return row
  }

  /** Positions of the batches in the first `count` log entries. */
  listBatches(count = this.log.length): number[] {
    return this.log.slice(0, count).flatMap((entry) => (entry.kind === 'written' ? entry.position : []))
  }

  /** Returns the number of batches that were written after a home with this epoch took the shard. */
  countBatchesAfter(epoch: number): number {
    const taken = this.log.findIndex((entry) => entry.kind === 'taken' && entry.epoch === epoch)
    return taken < 0 ? 0 : this.log.slice(taken).filter(({ kind }) => kind === 'written').length
  }

  /** Another home takes the shard, and has as many attempts as the former one. */
  replace({ epoch, life }: { readonly epoch: number; readonly life: string }): void {
    const attempt = this.row?.attempt ?? 0
    this.take(epoch, life)
    this.log.push({ kind: 'raised', attempt })
  }

  take(epoch: number, life: string): void {
    this.log.push({ kind: 'taken', epoch, life })
  }

  /** As the statements of `CommitStatements`. */
  execute(home: { readonly epoch: number; readonly life: string }, statement: SentStatement): StatementResult {
    const row = this.row
    if (statement.kind === 'read-row') return { row, waitsFor: 0 }
    const isHome = row !== undefined && row.epoch === home.epoch && row.life === home.life
    if (statement.kind === 'raise-attempt') {
      if (!isHome || row.attempt >= statement.attempt) return { row: undefined, waitsFor: 0 }
      this.log.push({ kind: 'raised', attempt: statement.attempt })
    } else {
      const { attempt, sequence, batch } = statement
      if (!isHome || row.attempt !== attempt || row.sequence !== sequence - 1) return { row: undefined, waitsFor: 0 }
      this.log.push({ kind: 'written', sequence, position: batch.position })
    }
    return { row: this.row, waitsFor: this.log.length }
  }
}
