// Drains the broker before it stops.

import { endpoint, responseWith, Type } from '../../contract/index.ts'

const report = responseWith(
  Type.Object({
    draining: Type.Boolean({ description: 'true: new clients are refused, and connected clients are disconnected.' }),
    connected: Type.Integer({ description: 'Clients that are still connected.' }),
    sessions: Type.Integer({ description: 'Sessions of the broker, which keeps those that are persistent.' }),
    started_at: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Time at which the drain has started, in ms since 1970; null: the broker is not drained.',
    }),
  }),
)

export const drainEndpoints = {
  get_drain: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/drain',
    summary: 'Returns whether the broker is drained, and how many clients are still connected.',
    reply: report,
    access: 'read',
  }),
  start_drain: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/drain',
    summary:
      'Refuses new clients and disconnects connected ones in portions with reason 0x9C, so that they connect to other brokers. Persistent sessions stay. It ends with `DELETE`, or when the broker stops.',
    body: Type.Object({
      clients_per_second: Type.Optional(
        Type.Integer({
          minimum: 1,
          maximum: 1_000_000,
          description: 'Maximum number of clients that are disconnected per second. Default: 1000.',
        }),
      ),
    }),
    bodyMayBeAbsent: true,
    reply: report,
    access: 'change',
  }),
  cancel_drain: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/drain',
    summary: 'Accepts clients again after a drain.',
    reply: report,
    access: 'change',
  }),
}
