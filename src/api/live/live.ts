// Live messages.

import { refuseFor, type Handlers } from '../../management/index.ts'
import { parseTopicFilter } from '../../protocol/index.ts'
import type { liveEndpoints } from './endpoints.ts'
import type { LiveStreams } from './live-stream.ts'

const defaultRate = 200
const defaultBytes = 4_096

export function createLiveHandlers(live: LiveStreams): Handlers<typeof liveEndpoints> {
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
