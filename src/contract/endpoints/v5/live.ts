// Live messages, for a page that shows topics.

import { endpoint } from '../../endpoint.ts'
import { Type } from '../../schema.ts'

const maxRate = 1_000
const maxBytes = 65_536

export const liveEndpoints = {
  watch_messages: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/live',
    summary:
      'Messages that match a filter, one line of JSON each, the retained ones first: {ts,topic,qos,retain,size,payload_base64,truncated,clientid}, {left_out} and {heartbeat}. Endless. At most 8 at a time.',
    query: Type.Object({
      topic: Type.String({ description: 'A topic filter.' }),
      max_rate: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxRate, description: 'Messages per second; unsaid: 200.' }),
      ),
      max_bytes: Type.Optional(
        Type.Integer({ minimum: 0, maximum: maxBytes, description: 'Of a payload; unsaid: 4096.' }),
      ),
    }),
    reply: 'bytes',
    replyType: 'application/x-ndjson; charset=utf-8',
    reasons: ['CONFLICT'],
    access: 'change',
    isLong: true,
  }),
}
