// Traces of messages, and events of clients.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

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
] as const

export const eventNames = [
  'connected',
  'refused',
  'taken-over',
  'keep-alive-gap',
  'message-dropped',
  'disconnected',
  'session-ended',
] as const

const maxPageRows = 10_000

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
    description: 'The client that did not get it; empty if the publisher was denied or the retained limit was reached.',
  }),
})

const timelineEntry = Type.Object({
  ts,
  event: Type.Enum(eventNames),
  text: Type.String({ description: 'Why, in words; for dropped messages the name of the reason.' }),
  reason_code: Type.Union([Type.Integer(), Type.Null()], { description: 'Of MQTT 5.0.' }),
  ip_address: Type.Union([Type.String(), Type.Null()]),
  count: Type.Integer({ minimum: 1, description: 'The same so many times in a row; `ts` is of the last.' }),
})

const queuedMessage = Type.Object({
  topic: Type.Union([Type.String(), Type.Null()], { description: 'null: only the packet ID is needed any more.' }),
  qos: Type.Integer({ minimum: 0, maximum: 2 }),
  payload_bytes: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  publish_at: Type.Union([Type.Integer(), Type.Null()], { description: 'Milliseconds since 1970-01-01, UTC.' }),
  state: Type.Enum(['waiting', 'inflight', 'rel'], {
    description: 'It waits, it was sent and is not acknowledged, or PUBCOMP is awaited.',
  }),
})

const page = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 }))
const limit = Type.Optional(Type.Integer({ minimum: 1, maximum: maxPageRows }))

/** Payloads on disk are read to determine their length. */
const queueLimit = Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000, description: '100 if left out.' }))

const nullableText = Type.Union([Type.String(), Type.Null()])

const explanation = Type.Object({
  clientid: Type.String(),
  action: Type.Enum(['publish', 'subscribe']),
  topic: Type.String(),
  client: Type.Object({
    connected: Type.Boolean(),
    session: Type.Boolean({ description: 'It has a session; the rest is known of it, and not only assumed.' }),
    username: nullableText,
    ip_address: nullableText,
    authenticated_by: Type.Union([Type.String(), Type.Null()], {
      description: 'What let it in: the name in auth.chain, or anonymous. Null where it is not in.',
    }),
    superuser: Type.Boolean(),
  }),
  decision: Type.Object({
    result: Type.Enum(['allow', 'deny', 'unknown'], { description: 'unknown: a service elsewhere would be asked.' }),
    because: Type.String({
      description: 'What decides: a kind of rule, a service, no-match, superuser, token, bridge.',
    }),
    rule: Type.Union([Type.String(), Type.Null()], { description: 'The rule as it is written.' }),
    place: Type.Union([Type.String(), Type.Null()], { description: 'Where it is written: file and line.' }),
  }),
  obstacle: Type.Union([Type.String(), Type.Null()], { description: 'What stands in the way beside that.' }),
  topic_here: Type.String({ description: 'The topic with the mount point of the client.' }),
  subscriptions: Type.Array(
    Type.Object({
      clientid: Type.String(),
      topic: Type.String({ description: 'The filter, `$share/group/` and all.' }),
      qos: Type.Integer({ description: 'As granted.' }),
      delivered_qos: Type.Integer({ description: 'At which the message would come.' }),
      connected: Type.Boolean(),
      outcome: Type.Enum(['sent', 'queued', 'missed', 'denied', 'own', 'group'], {
        description:
          'What would become of the message: missed: QoS 0 and away; denied: it may not have it; own: it does not want its own messages; group: one member of the shared subscription gets it.',
      }),
    }),
    {
      description: 'Of publishing: the subscriptions that match. A session that has several of them gets one message.',
    },
  ),
  truncated: Type.Boolean({ description: 'There are more subscriptions that match.' }),
  quotas: Type.Record(Type.String(), Type.Object({ used: count, limit: count, left: count }), {
    description: 'What is left to the client, by setting.',
  }),
})

export const diagnosticsEndpoints = {
  explain: endpoint({
    method: 'GET',
    path: '/explain',
    summary: 'Why a client may publish or subscribe, or may not, and who would hear it. Nothing is changed.',
    query: Type.Object({
      clientid: Type.String(),
      action: Type.Enum(['publish', 'subscribe']),
      topic: Type.String({ description: 'A topic to publish to, or a filter to subscribe to.' }),
      qos: Type.Optional(Type.Integer({ minimum: 0, maximum: 2, description: 'Of the publication; unsaid: 2.' })),
      username: Type.Optional(Type.String({ description: 'To be assumed, where the client is not in.' })),
      ip_address: Type.Optional(Type.String({ description: 'To be assumed, where the client is not in.' })),
    }),
    unknownQuery: 'refuse',
    reply: answer(explanation),
    failures: ['missingParameter', 'invalidParameter', 'invalidTopic', 'rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
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
      ...noContent.properties,
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
    failures: ['invalidParameter', 'invalidTopic'],
    access: 'read',
    isForNamespaces: true,
  }),
  client_queue: endpoint({
    method: 'GET',
    path: '/clients/:clientid/queue',
    summary: 'The messages that a client has not acknowledged: in flight first, then in the order of delivery.',
    params: Type.Object({ clientid: Type.String() }),
    query: Type.Object({ _limit: queueLimit, limit: queueLimit }),
    reply: answer(Type.Array(queuedMessage)),
    failures: ['rpcError', 'clientOffline'],
    access: 'read',
    isForNamespaces: true,
  }),
  client_timeline: endpoint({
    method: 'GET',
    path: '/clients/:clientid/timeline',
    summary: 'What has happened to a client lately, in order; empty where nothing is known of it.',
    params: Type.Object({ clientid: Type.String() }),
    reply: answer(Type.Array(timelineEntry)),
    failures: ['rpcError'],
    access: 'read',
    isForNamespaces: true,
  }),
}
