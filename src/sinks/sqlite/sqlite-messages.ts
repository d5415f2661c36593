// Messages between a sink and the thread that writes to its SQLite file.

import type { WriteOutcome } from '../sink.ts'
import type { SqlStatement } from '../sql/sql-entry.ts'

export interface SqliteStart {
  /** Absolute path. */
  readonly path: string
  /** Maximum wait for a lock of another process or shard. */
  readonly busyTimeoutMs: number
  /** Maximum wait for the response of the thread. It is longer than the wait for a lock, whose reason is more exact. */
  readonly timeoutMs: number
}

export type SqliteRequest =
  | {
      readonly kind: 'write'
      readonly id: number
      readonly statements: readonly SqlStatement[]
      /** Executed once before the first row. */
      readonly createTable: string | undefined
    }
  | { readonly kind: 'check'; readonly id: number; readonly createTable: string | undefined }
  | { readonly kind: 'close' }

/** The thread has started. */
export type SqliteReady = 'ready'

export interface SqliteResponse {
  readonly id: number
  /** One outcome for each statement. */
  readonly outcomes: readonly WriteOutcome[]
  /** Result of a check: why the file cannot be used; undefined: it can. */
  readonly problem: string | undefined
}
