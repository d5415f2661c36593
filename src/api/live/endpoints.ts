// Live messages, for a page that shows topics.

import { endpoint, Type } from '../../contract/index.ts'

const maxRate = 1_000
const maxBytes = 65_536

export const liveEndpoints = {
  watch_messages: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/live',
    summary:
      'Streams messages that match a topic filter, one JSON line each, retained messages first: {ts,topic,qos,retain,size,payload_base64,truncated,clientid}, {left_out} and {heartbeat}. The stream does not end. At most 8 streams are open at a time.',
    query: Type.Object({
      topic: Type.String({ description: 'Topic filter of the messages.' }),
      max_rate: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: maxRate,
          description: 'Maximum number of messages per second. Default: 200.',
        }),
      ),
      max_bytes: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: maxBytes,
          description: 'Maximum bytes of a payload; longer payloads are truncated. Default: 4096.',
        }),
      ),
    }),
    reply: 'bytes',
    replyType: 'application/x-ndjson; charset=utf-8',
    reasons: ['CONFLICT'],
    access: 'change',
    isLong: true,
  }),
}
