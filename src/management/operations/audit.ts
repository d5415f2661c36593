// Who has changed what.

import type { PageFound, PageWanted } from './credentials.ts'

export interface AuditEntry {
  /** Wall clock. */
  readonly atMs: number
  /** Account, application id, who a token is about, or `local` over the socket. */
  readonly name: string
  readonly by: string
  readonly role: string
  /** That it was about; null: the whole broker. */
  readonly namespace: string | null
  /** '' where nobody came over the network. */
  readonly address: string
  readonly via: 'v4' | 'v5' | 'ctl' | 'signal'
  /** Of the contract: `delete_user`. */
  readonly operation: string
  readonly method: string
  readonly path: string
  /** What was sent, shortened, without secrets. */
  readonly request: unknown
  /** Of HTTP; 0: it was none. */
  readonly status: number
  /** Result code of the answer. */
  readonly code: number
  readonly outcome: 'done' | 'refused' | 'failed'
  /** Why it was not done. */
  readonly message: string
  readonly tookMs: number
}

/** What an entry must be to be found. What is left out is not looked at. */
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
  /** Bytes that are kept on disk at most; what is oldest goes first. */
  readonly maxBytes: number
  /** Resolves when it is on disk. It never rejects: what cannot be written is in the log of the node. */
  note(entry: AuditEntry): Promise<void>
  /** The newest first. */
  list(question: AuditQuery, page: PageWanted): Promise<PageFound<AuditEntry>>
}
