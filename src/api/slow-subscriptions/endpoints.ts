// Slow clients.

import { responseWith, endpoint, Type } from '../../contract/index.ts'

const slow = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Namespace of the client; absent: none.' })),
  node: Type.String(),
  clientid: Type.String(),
  topic: Type.String({ description: 'Topic of the oldest message that the client has not received or acknowledged.' }),
  timespan: Type.Integer({ minimum: 0, description: 'Age of this message: milliseconds since it was published.' }),
  mqueue_len: Type.Integer({
    minimum: 1,
    description: 'Number of messages that wait for the client or for its acknowledgement.',
  }),
})

export const slowSubscriptionEndpoints = {
  list_slow_subscriptions: endpoint({
    method: 'GET',
    path: '/slow_subscriptions',
    summary: 'Lists the connected clients that receive slowly, slowest first.',
    query: Type.Object({
      threshold: Type.Optional(
        Type.Integer({
          minimum: 0,
          maximum: 86_400_000,
          description: 'Minimum age of the oldest message, in milliseconds. Default: 500.',
        }),
      ),
      _limit: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000,
          description: 'Maximum number of clients in the response. Default: 100.',
        }),
      ),
    }),
    reply: responseWith(Type.Array(slow)),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
}
