// The audit log.

import type { auditEndpoints } from './endpoints.ts'
import type { ReplyOf } from '../../contract/index.ts'
import { type Handlers, toPageMeta, refuseFor, formatOffsetTime, type AuditEntry } from '../../management/index.ts'
import type { ApiContext } from '../context/api-context.ts'

type Known = typeof auditEndpoints

const defaultLimit = 100

export function createAuditHandlers({ audit }: Pick<ApiContext, 'audit'>): Handlers<Known> {
  return {
    get_audit: async ({ query, namespace }) => {
      const { username: name, operation, outcome, via, address, since, until } = query
      const [sinceMs, untilMs] = [parseTime(since), parseTime(until)]
      if (Number.isNaN(sinceMs) || Number.isNaN(untilMs)) {
        return refuseFor(
          'BAD_REQUEST',
          'since and until in the query are times of RFC 3339, or milliseconds since 1970',
        )
      }
      const page = { page: query.page ?? 1, limit: query.limit ?? defaultLimit }
      const filter = { name, operation, outcome, via, address, namespace, sinceMs, untilMs }
      const found = await audit.list(filter, page)
      const meta = { ...toPageMeta(page, found), max_bytes: audit.maxBytes }
      return { code: 0, data: found.items.map(toResponse), meta }
    },
  }
}

/** NaN: invalid. */
function parseTime(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  return /^\d+$/.test(text) ? Number(text) : Date.parse(text)
}

function toResponse({ atMs, name, tookMs, ...entry }: AuditEntry): ReplyOf<Known['get_audit']>['data'][number] {
  return { at: formatOffsetTime(atMs), at_ms: atMs, username: name, ...entry, took_ms: tookMs }
}
