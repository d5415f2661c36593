// What a sink and the thread of its SQLite file say to each other.

import type { WriteOutcome } from '../sink.ts'
import type { SqlStatement } from '../sql/sql-entry.ts'

export interface SqliteStart {
  /** Absolute. */
  readonly path: string
  /** How long another process or shard may keep the file. */
  readonly busyTimeoutMs: number
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

export interface SqliteAnswer {
  readonly id: number
  /** One for each statement. */
  readonly outcomes: readonly WriteOutcome[]
  /** Of a check: why the file cannot be used. */
  readonly problem: string | undefined
}
