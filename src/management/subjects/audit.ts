// The audit log: operations of the node, and the handler.

import type { auditEndpoints, ReplyOf } from '../../contract/index.ts'
import type { Handlers } from '../http/handler.ts'
import { metaOf, type PageFound, type PageWanted } from '../lists/numbered-pages.ts'
import { refuseFor } from '../http/api-error.ts'
import { offsetTime } from '../http/format-time.ts'

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

type Known = typeof auditEndpoints

const defaultLimit = 100

export function auditHandlers(audit: AuditOperations): Handlers<Known> {
  return {
    get_audit: async ({ query, namespace }) => {
      const { username: name, operation, outcome, via, address, since, until } = query
      const [sinceMs, untilMs] = [timeIn(since), timeIn(until)]
      if (Number.isNaN(sinceMs) || Number.isNaN(untilMs)) {
        return refuseFor(
          'BAD_REQUEST',
          'since and until in the query are times of RFC 3339, or milliseconds since 1970',
        )
      }
      const page = { page: query.page ?? 1, limit: query.limit ?? defaultLimit }
      const filter = { name, operation, outcome, via, address, namespace, sinceMs, untilMs }
      const found = await audit.list(filter, page)
      const meta = { ...metaOf(page, found), max_bytes: audit.maxBytes }
      return { code: 0, data: found.items.map(written), meta }
    },
  }
}

/** NaN: invalid. */
function timeIn(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Number(text) : Date.parse(text)
}

function written({ atMs, name, tookMs, ...entry }: AuditEntry): ReplyOf<Known['get_audit']>['data'][number] {
  return { at: offsetTime(atMs), at_ms: atMs, username: name, ...entry, took_ms: tookMs }
}
