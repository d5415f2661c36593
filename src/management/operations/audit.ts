// The audit log.

import type { PageFound, PageWanted } from './credentials.ts'

export interface AuditEntry {
  /** Wall clock. */
  readonly atMs: number
  /** Account, application ID, subject of a token, or `local` over the socket. */
  readonly name: string
  readonly by: string
  readonly role: string
  /** Namespace of the request; null: the whole broker. */
  readonly namespace: string | null
  /** '' over the socket. */
  readonly address: string
  readonly via: 'v4' | 'v5' | 'ctl' | 'signal'
  /** Name in the contract: `delete_user`. */
  readonly operation: string
  readonly method: string
  readonly path: string
  /** The request, shortened and without secrets. */
  readonly request: unknown
  /** HTTP status; 0: there was none. */
  readonly status: number
  /** Result code of the response. */
  readonly code: number
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Why it failed. */
  readonly message: string
  readonly tookMs: number
}

/** Conditions for entries. Absent ones match all. */
export interface AuditQuery {
  readonly name?: string | undefined
  readonly operation?: string | undefined
  readonly outcome?: string | undefined
  readonly via?: string | undefined
  readonly address?: string | undefined
  readonly namespace?: string | undefined
  /** Wall clock, both inclusive. */
  readonly sinceMs?: number | undefined
  readonly untilMs?: number | undefined
}

export interface AuditOperations {
  /** Maximum bytes on disk; the oldest entries are deleted first. */
  readonly maxBytes: number
  /** Resolves when the entry is durable. Never rejects: a failure is logged. */
  note(entry: AuditEntry): Promise<void>
  /** Newest first. */
  list(query: AuditQuery, page: PageWanted): Promise<PageFound<AuditEntry>>
}
