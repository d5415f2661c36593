// Endpoints that explain what happens to clients and messages: access decisions, dropped messages, queues and events.

import { responseWith, noContent, endpoint, Type } from '../../contract/index.ts'

export const dropReasonNames = [
  'queue-full',
  'memory-full',
  'expired',
  'too-large',
  'not-reading',
  'rate-limited',
  'storage-full',
  'no-retained-room',
  'session-ended',
  'peer-behind',
  'not-allowed',
  'plugin',
] as const

export const eventNames = [
  'connected',
  'refused',
  'taken-over',
  'keep-alive-gap',
  'message-dropped',
  'packet-refused',
  'waits-for-action',
  'disconnected',
  'session-ended',
] as const

const maxPageRows = 10_000

const reason = Type.Enum(dropReasonNames, { description: 'Reason why the message was dropped.' })
const count = Type.Integer({ minimum: 0 })
const ts = Type.Integer({ description: 'Milliseconds since 1970-01-01, UTC.' })

const droppedMessage = Type.Object({
  ts,
  topic: Type.String(),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  reason,
  plugin: Type.Union([Type.String(), Type.Null()], { description: 'The plugin that dropped the message, or failed.' }),
  publisher: Type.String({ description: 'Client ID; empty if the publisher was not a client.' }),
  clientid: Type.String({
    description:
      'The client that did not receive the message; empty if the publisher was denied or the limit of retained messages was reached.',
  }),
})

const timelineEntry = Type.Object({
  ts,
  event: Type.Enum(eventNames),
  text: Type.String({ description: 'The reason as a sentence; for dropped messages its name.' }),
  reason_code: Type.Union([Type.Integer(), Type.Null()], { description: 'Reason code of MQTT 5.0.' }),
  ip_address: Type.Union([Type.String(), Type.Null()]),
  count: Type.Integer({
    minimum: 1,
    description: 'Number of equal events in a row; `ts` is the time of the last one.',
  }),
})

const queuedMessage = Type.Object({
  topic: Type.Union([Type.String(), Type.Null()], {
    description: 'null: PUBREC was received, so only the packet identifier is stored.',
  }),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  payload_bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  publish_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Milliseconds since 1970-01-01, UTC.' }),
  state: Type.Enum(['waiting', 'inflight', 'rel'], {
    description:
      'waiting: not sent yet; inflight: sent and not acknowledged; rel: PUBREL was sent and PUBCOMP is awaited.',
  }),
})

const page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }))
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageRows }))

/** Smaller than the limit of other lists, because payloads on disk are read to determine their length. */
const queueLimit = Type.Optional(
  Type.Integer({
    minimum: 1,
    maximum: 1_000,
    description: 'Maximum number of messages in the response. Default: 100.',
  }),
)

const nullableText = Type.Union([Type.String(), Type.Null()])

const explanation = Type.Object({
  clientid: Type.String(),
  action: Type.Enum(['publish', 'subscribe']),
  topic: Type.String(),
  client: Type.Object({
    connected: Type.Boolean(),
    session: Type.Boolean({
      description:
        'The client has a session, and the other values are those of the session. Otherwise they are assumed.',
    }),
    username: nullableText,
    ip_address: nullableText,
    authenticated_by: Type.Union([Type.String(), Type.Null()], {
      description: 'The authenticator by its name in auth.chain, or anonymous. Null if the client is not connected.',
    }),
    superuser: Type.Boolean(),
  }),
  decision: Type.Object({
    result: Type.Enum(['allow', 'deny', 'unknown'], {
      description: 'unknown: an HTTP service decides, and was not queried.',
    }),
    because: Type.String({
      description:
        'What decides: a kind of rule, a service, no-match, superuser, token or bridge. Accounts of a namespace do not get the text of rules outside it.',
    }),
    rule: Type.Union([Type.String(), Type.Null()], { description: 'The text of the rule.' }),
    place: Type.Union([Type.String(), Type.Null()], { description: 'Position of the rule: file and line.' }),
  }),
  obstacle: Type.Union([Type.String(), Type.Null()], {
    description: 'Another reason why the action fails, such as a limit; null: none.',
  }),
  topic_here: Type.String({ description: 'The topic with the mount point of the client.' }),
  subscriptions: Type.Array(
    Type.Object({
      clientid: Type.String(),
      topic: Type.String({ description: 'The filter, including `$share/group/`.' }),
      qos: Type.Integer({ description: 'Granted QoS.' }),
      delivered_qos: Type.Integer({ description: 'QoS at which the message would be delivered.' }),
      connected: Type.Boolean(),
      outcome: Type.Enum(['sent', 'queued', 'missed', 'denied', 'own', 'group'], {
        description:
          'Result for the message. sent, queued; missed: QoS 0 and the client is offline; denied: access rules; own: the client published it and set No Local; group: one member of the shared subscription receives it.',
      }),
    }),
    {
      description: 'For publishing: the matching subscriptions. A session with several of them receives one message.',
    },
  ),
  truncated: Type.Boolean({ description: 'true: the list is incomplete; there are more matching subscriptions.' }),
  quotas: Type.Record(Type.String(), Type.Object({ used: count, limit: count, left: count }), {
    description: 'Use of the limits of the client, by setting.',
  }),
})

export const diagnosticsEndpoints = {
  explain: endpoint({
    method: 'GET',
    path: '/explain',
    summary:
      'Explains whether a client may publish or subscribe, why, and which subscribers would receive the message. Changes nothing.',
    query: Type.Object({
      clientid: Type.String(),
      action: Type.Enum(['publish', 'subscribe']),
      topic: Type.String({ description: 'A topic to publish to, or a filter to subscribe to.' }),
      qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'QoS of the publication. Default: 2.' })),
      username: Type.Optional(Type.String({ description: 'Value to assume if the client is not connected.' })),
      ip_address: Type.Optional(Type.String({ description: 'Value to assume if the client is not connected.' })),
    }),
    unknownQuery: 'refuse',
    reply: responseWith(explanation),
    failures: ['missingParameter', 'invalidParameter', 'invalidTopic', 'rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
  list_dropped: endpoint({
    method: 'GET',
    path: '/dropped',
    summary: 'Lists the recently dropped messages, newest first, with the number of drops for each reason.',
    query: Type.Object({
      topic: Type.Optional(Type.String({ description: 'A topic, or a filter with wildcards.' })),
      reason: Type.Optional(reason),
      clientid: Type.Optional(Type.String({ description: 'Client ID of the publisher or of the subscriber.' })),
      since: Type.Optional(
        Type.Integer({ minimum: 0, description: 'Earliest time, in milliseconds since 1970-01-01, UTC.' }),
      ),
      _page: page,
      _limit: limit,
      page,
      limit,
    }),
    unknownQuery: 'refuse',
    reply: Type.Object({
      ...noContent.properties,
      data: Type.Array(droppedMessage),
      meta: Type.Object({
        page: count,
        limit: count,
        count: Type.Integer({
          minimum: 0,
          description: 'Number of stored drops that match the query.',
        }),
        by_reason: Type.Record(Type.String(), count, {
          description:
            'Number of all dropped messages since the start. The list contains only a part of frequent drops.',
        }),
      }),
    }),
    failures: ['invalidParameter', 'invalidTopic'],
    access: 'read',
    isForNamespaces: true,
  }),
  client_queue: endpoint({
    method: 'GET',
    path: '/clients/:clientid/queue',
    summary:
      'Lists the messages that a client has not acknowledged: messages in flight first, then the queue in order of delivery.',
    params: Type.Object({ clientid: Type.String() }),
    query: Type.Object({ _limit: queueLimit, limit: queueLimit }),
    reply: responseWith(Type.Array(queuedMessage)),
    failures: ['rpcError', 'clientOffline'],
    access: 'read',
    isForNamespaces: true,
  }),
  client_timeline: endpoint({
    method: 'GET',
    path: '/clients/:clientid/timeline',
    summary: 'Lists the recent events of a client in order; empty if none are stored.',
    params: Type.Object({ clientid: Type.String() }),
    reply: responseWith(Type.Array(timelineEntry)),
    failures: ['rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
}
