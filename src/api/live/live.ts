// Live messages: operations of the node, and the handler.

import type { liveEndpoints } from './endpoints.ts'
import { parseTopicFilter, type TopicFilter } from '../../protocol/index.ts'
import { refuseFor, type Handlers } from '../../management/index.ts'
import type { Readable } from 'node:stream'

export interface LiveWanted {
  readonly filter: TopicFilter
  /** Messages per second. */
  readonly maxRate: number
  /** Maximum bytes of a payload. */
  readonly maxBytes: number
}

/** Live messages, for the API. */
export interface LiveOperations {
  /** Returns lines of JSON until the stream is destroyed. */
  open(wanted: LiveWanted): Readable | 'too-many'
}

const defaultRate = 200
const defaultBytes = 4_096

export function liveHandlers(live: LiveOperations): Handlers<typeof liveEndpoints> {
  return {
    watch_messages: ({ query }) => {
      const { topic, max_rate: maxRate = defaultRate, max_bytes: maxBytes = defaultBytes } = query
      const filter = parseTopicFilter(topic)
      if (filter === undefined || /^\$(share|exclusive)\//.test(filter)) {
        return refuseFor('BAD_REQUEST', `topic in the query: ${topic} is not a topic filter`)
      }
      const lines = live.open({ filter, maxRate, maxBytes })
      return lines === 'too-many' ? refuseFor('CONFLICT', 'too many live streams: 8; maximum 8. End one.') : lines
    },
  }
}
