import type { retainedEndpoints } from '../../contract/index.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import type { Handlers } from '../handler.ts'
import { clientName } from '../lists/client-name.ts'
import type { RetainedOperations, RetainedRow } from '../operations/retained.ts'
import { refuse } from '../api-error.ts'
import { localTime } from '../format-time.ts'

const defaultLimit = 1_000

export function retainedHandlers(retained: RetainedOperations): Handlers<typeof retainedEndpoints> {
  return {
    list_retained: async ({ query }) => {
      const { topic = '#', _limit: limit = query.limit ?? defaultLimit } = query
      const filter = parseTopicFilter(topic)
      if (filter === undefined || filter.startsWith('$share/')) {
        return refuse('invalidTopic', `topic in the query: ${topic} is no topic filter`)
      }
      const list = await retained.list(filter, limit)
      if (list === undefined) return refuse('rpcError', 'a thread of the broker is being started again: ask once more')
      return { code: 0, data: list.rows.map(rowOf), meta: { limit, hasnext: list.hasMore } }
    },
  }
}

function rowOf({ topic, qos, payloadBytes, publisher, publishedAtMs, expiresAtMs }: RetainedRow) {
  const row = {
    topic,
    qos,
    payload_bytes: payloadBytes,
    from_clientid: clientName(publisher).clientid,
    publish_at: localTime(publishedAtMs),
  }
  return expiresAtMs === undefined ? row : { ...row, expires_at: localTime(expiresAtMs) }
}
