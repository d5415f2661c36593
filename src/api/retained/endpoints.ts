// Retained messages.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'

const maxRows = 10_000

const retained = Type.Object({
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  payload_bytes: Type.Integer({ minimum: 0 }),
  from_clientid: Type.String({ description: 'Client ID of the publisher; empty: the publisher was not a client.' }),
  publish_at: Type.String({ description: 'Time of publication: local time of the node, `YYYY-MM-DD HH:mm:ss`.' }),
  expires_at: Type.Optional(
    Type.String({
      description: 'Time at which the message expires: local time of the node, `YYYY-MM-DD HH:mm:ss`; absent: never.',
    }),
  ),
})

const limit = Type.Integer({
  minimum: 1,
  maximum: maxRows,
  description: 'Maximum number of messages in the response. Default: 1000.',
})

const cursor = Type.String({
  description:
    'Position of the page: `first`, then `cursor` of the previous response. Pages can shift if messages are stored or deleted meanwhile.',
})

const ofTopic = Type.Object({ topic: Type.String({ description: 'A topic without wildcards.' }) })
const notThere = [['invalidParameter', 404]] as const

export const retainedEndpoints = {
  list_retained: endpoint({
    method: 'GET',
    path: '/retained',
    summary: 'Lists the retained messages whose topics match a filter, without their payloads.',
    query: Type.Object({
      topic: Type.Optional(Type.String({ description: 'Topic filter. Default: `#`.' })),
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
        hasnext: Type.Boolean({ description: 'true: there are more messages than the response contains.' }),
        cursor: Type.Optional(
          Type.String({
            description: 'Position of the next page, if the request had a cursor and there is a next page.',
          }),
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
    summary: 'Returns the retained message of a topic with its payload.',
    params: ofTopic,
    reply: responseWith(Type.Object({ ...retained.properties, payload_base64: Type.String() })),
    failures: ['rpcError', 'invalidParameter', 'invalidTopic'],
    otherStatuses: notThere,
    access: 'read',
    isForNamespaces: true,
  }),
  delete_retained: endpoint({
    method: 'DELETE',
    path: '/retained/:topic',
    summary: 'Deletes the retained message of a topic. Subscribers get no message about it.',
    params: ofTopic,
    reply: noContent,
    failures: ['rpcError', 'invalidParameter', 'invalidTopic'],
    otherStatuses: notThere,
    access: 'change',
    isForNamespaces: true,
  }),
}
