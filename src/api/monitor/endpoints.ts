// Load of the broker now, and in the last 24 hours.

import { endpoint, Type } from '../../contract/index.ts'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const rate = (description: string) => Type.Number({ minimum: 0, description })

const gauges = {
  connections: count('Open connections.'),
  sessions: count('Sessions.'),
  topics: count('Different topic filters that are subscribed to.'),
  subscriptions: count('Subscriptions.'),
  retained: count('Retained messages.'),
}

const point = Type.Object({
  time_stamp: Type.Integer({
    description: 'Time in milliseconds since 1970: the end of a step of 10 s, the start of a step of 60 s.',
  }),
  ...gauges,
  received: count('PUBLISH packets from clients within the step.'),
  sent: count('PUBLISH packets to clients within the step.'),
  received_bytes: count('Bytes from clients within the step.'),
  sent_bytes: count('Bytes to clients within the step.'),
  dropped: count('Messages that were dropped within the step.'),
})

const maxSeconds = 86_400

export const monitorEndpoints = {
  get_monitor: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/monitor',
    summary: 'Returns gauges and counts over time: in steps of 10 s for the last hour, before that of 60 s.',
    query: Type.Object({
      latest: Type.Optional(
        Type.Integer({ minimum: 1, maximum: maxSeconds, description: 'Period before now, in seconds. Default: 3600.' }),
      ),
    }),
    reply: Type.Object({ code: Type.Literal(0), data: Type.Array(point) }),
    access: 'read',
  }),
  get_monitor_current: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/monitor_current',
    summary: 'Returns current gauges and rates. Rates are averages over the last 10 s.',
    reply: Type.Object({
      code: Type.Literal(0),
      data: Type.Object({
        ...gauges,
        received_rate: rate('PUBLISH packets from clients per second.'),
        sent_rate: rate('PUBLISH packets to clients per second.'),
        dropped_rate: rate('Dropped messages per second.'),
      }),
    }),
    access: 'read',
  }),
}
