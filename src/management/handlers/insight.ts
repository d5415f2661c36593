import type { insightEndpoints } from '../../contract/index.ts'
import type { Handlers } from '../handler.ts'
import type { InsightOperations } from '../operations/insight.ts'
import { refuse } from '../refusal.ts'

const defaultLimit = 100

export function insightHandlers(operations: InsightOperations): Handlers<typeof insightEndpoints> {
  return {
    list_dropped: async ({ query }) => {
      const { topic, reason, clientid: clientId, since: sinceMs, _page: pageOf4, _limit: limitOf4 } = query
      const page = pageOf4 ?? query.page ?? 1
      const limit = limitOf4 ?? query.limit ?? defaultLimit
      const window = { skip: (page - 1) * limit, limit }
      const { messages, count, byReason } = await operations.listDropped({ topic, reason, clientId, sinceMs }, window)
      const data = messages.map(({ atMs, subscriber, ...message }) => ({ ts: atMs, ...message, clientid: subscriber }))
      return { code: 0, data, meta: { page, limit, count, by_reason: byReason } }
    },
    client_timeline: async ({ params }) => {
      const moments = await operations.timelineOf(params.clientid)
      if (moments === undefined) return refuse('rpcError', 'the part of the broker that has this client did not answer')
      const data = moments.map(({ atMs, event, text, reasonCode, address, count }) => ({
        ts: atMs,
        event,
        text,
        reason_code: reasonCode ?? null,
        ip_address: address ?? null,
        count,
      }))
      return { code: 0, data }
    },
  }
}
