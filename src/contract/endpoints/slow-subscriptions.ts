// Slow clients.

import { answer, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const slow = Type.Object({
  namespace: Type.Optional(Type.String({ description: 'Absent: the client belongs to none.' })),
  node: Type.String(),
  clientid: Type.String(),
  topic: Type.String({ description: 'Of the oldest message that the client has not taken.' }),
  timespan: Type.Integer({ minimum: 0, description: 'Milliseconds since that was published.' }),
  mqueue_len: Type.Integer({
    minimum: 1,
    description: 'Messages that wait for the client or for its acknowledgement.',
  }),
})

export const slowSubscriptionEndpoints = {
  list_slow_subscriptions: endpoint({
    method: 'GET',
    path: '/slow_subscriptions',
    summary: 'Connected clients that are behind, the slowest first.',
    query: Type.Object({
      threshold: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 86_400_000, description: 'Milliseconds; unsaid: 500.' }),
      ),
      _limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: 'Unsaid: 100.' })),
    }),
    reply: answer(Type.Array(slow)),
    failures: ['invalidParameter'],
    access: 'read',
    isForNamespaces: true,
  }),
}
