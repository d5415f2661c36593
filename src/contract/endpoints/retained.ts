// Retained messages.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const maxRows = 10_000

const retained = Type.Object({
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  payload_bytes: Type.Integer({ minimum: 0 }),
  from_clientid: Type.String({ description: 'Empty where it was not a client.' }),
  publish_at: Type.String({ description: 'Local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  expires_at: Type.Optional(Type.String({ description: 'The same; absent: never.' })),
})

const limit = Type.Integer({ minimum: 1, maximum: maxRows, description: 'Rows at most; unsaid: 1000.' })

const cursor = Type.String({
  description:
    'Where to go on: `first`, then what the last answer gave. A message that comes or goes meanwhile may move others.',
})

const ofTopic = Type.Object({ topic: Type.String({ description: 'A topic without wildcards.' }) })
const notThere = [['invalidParameter', 404]] as const

export const retainedEndpoints = {
  list_retained: endpoint({
    method: 'GET',
    path: '/retained',
    summary: 'The retained messages whose topics match a filter, without what they say.',
    query: Type.Object({
      topic: Type.Optional(Type.String({ description: 'A topic filter; unsaid: `#`.' })),
      _limit: Type.Optional(limit),
      limit: Type.Optional(limit),
      _cursor: Type.Optional(cursor),
      cursor: Type.Optional(cursor),
    }),
    unknownQuery: 'refuse',
    reply: Type.Object({
      code: Type.Literal(0),
      data: Type.Array(retained),
      meta: Type.Object({
        limit: Type.Integer({ minimum: 1 }),
        hasnext: Type.Boolean({ description: 'There are more than were asked for.' }),
        cursor: Type.Optional(
          Type.String({ description: 'Where the next page begins, if a cursor was given and there is one.' }),
        ),
      }),
    }),
    failures: ['rpcError', 'invalidParameter', 'invalidTopic'],
    access: 'read',
    isForNamespaces: true,
  }),
  get_retained: endpoint({
    method: 'GET',
    path: '/retained/:topic',
    summary: 'The retained message of one topic, with what it says.',
    params: ofTopic,
    reply: answer(Type.Object({ ...retained.properties, payload_base64: Type.String() })),
    failures: ['rpcError', 'invalidParameter', 'invalidTopic'],
    otherStatuses: notThere,
    access: 'read',
    isForNamespaces: true,
  }),
  delete_retained: endpoint({
    method: 'DELETE',
    path: '/retained/:topic',
    summary: 'Deletes the retained message of one topic. Subscribers are not told.',
    params: ofTopic,
    reply: noContent,
    failures: ['rpcError', 'invalidParameter', 'invalidTopic'],
    otherStatuses: notThere,
    access: 'change',
    isForNamespaces: true,
  }),
}
