// Where messages went, and what happened to clients.

import { answer, done, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

export const dropReasonNames = [
  'queue-full',
  'expired',
  'too-large',
  'not-reading',
  'storage-full',
  'no-retained-room',
  'session-ended',
  'peer-behind',
  'not-allowed',
] as const

export const momentNames = [
  'connected',
  'refused',
  'taken-over',
  'keep-alive-gap',
  'message-dropped',
  'disconnected',
  'session-ended',
] as const

const largestPage = 10_000

const reason = Type.Enum(dropReasonNames, { description: 'Why a message was dropped.' })
const count = Type.Integer({ minimum: 0 })
const ts = Type.Integer({ description: 'Milliseconds since 1970-01-01, UTC.' })

const droppedMessage = Type.Object({
  ts,
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  reason,
  publisher: Type.String({ description: 'Client id; empty where it was no client.' }),
  clientid: Type.String({
    description:
      'Who did not get it; empty where nobody was to: its publisher may not, or there is no room to retain it.',
  }),
})

const timelineEntry = Type.Object({
  ts,
  event: Type.Enum(momentNames),
  text: Type.String({ description: 'Why, in words; for dropped messages the name of the reason.' }),
  reason_code: Type.Union([Type.Integer(), Type.Null()], { description: 'Of MQTT 5.0.' }),
  ip_address: Type.Union([Type.String(), Type.Null()]),
  count: Type.Integer({ minimum: 1, description: 'The same so many times in a row; `ts` is of the last.' }),
})

const page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }))
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: largestPage }))

export const insightEndpoints = {
  list_dropped: endpoint({
    method: 'GET',
    path: '/dropped',
    summary: 'The last messages that were dropped, newest first, and how many were for which reason.',
    query: Type.Object({
      topic: Type.Optional(Type.String({ description: 'A topic, or a filter with wildcards.' })),
      reason: Type.Optional(reason),
      clientid: Type.Optional(Type.String({ description: 'Whose message it was, or who did not get it.' })),
      since: Type.Optional(Type.Integer({ minimum: 0, description: 'Not before: milliseconds since 1970-01-01.' })),
      _page: page,
      _limit: limit,
      page,
      limit,
    }),
    unknownQuery: 'refuse',
    reply: Type.Object({
      ...done.properties,
      data: Type.Array(droppedMessage),
      meta: Type.Object({
        page: count,
        limit: count,
        count: Type.Integer({
          minimum: 0,
          description: 'Messages that are looked for among those that are remembered.',
        }),
        by_reason: Type.Record(Type.String(), count, {
          description: 'All that were dropped since the start. Of floods only a part is remembered above.',
        }),
      }),
    }),
    failures: ['invalidParameter'],
    access: 'read',
  }),
  client_timeline: endpoint({
    method: 'GET',
    path: '/clients/:clientid/timeline',
    summary: 'What has happened to a client lately, in order; empty where nothing is known of it.',
    params: Type.Object({ clientid: Type.String() }),
    reply: answer(Type.Array(timelineEntry)),
    failures: ['rpcError'],
    access: 'read',
  }),
}
