// Publishes, subscribes and unsubscribes in the name of clients.

import { noContent, endpoint, Type } from '../../contract/index.ts'

const largestTopicBytes = 65_535
const maxSeconds = 4_294_967_295
const maxIdentifier = 268_435_455
/** Maximum entries of a batch; the body has its own limit. */
const maxBatchEntries = 10_000

const qos = Type.Integer({ minimum: 0, maximum: 2 })
const clientId = Type.String({ minLength: 1, maxLength: largestTopicBytes })
const topic = Type.String({ description: 'Topic. For several topics use `topics`.' })
const topics = Type.String({ description: 'Topics, separated by commas without spaces.' })

const propertyValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

const publishProperties = Type.Object(
  {
    payload_format_indicator: Type.Optional(
      Type.Integer({ minimum: 0, maximum: 1, description: 'Format of the payload: 0: bytes; 1: UTF-8 text.' }),
    ),
    message_expiry_interval: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: maxSeconds,
        description: 'Time after which the message expires, in seconds.',
      }),
    ),
    response_topic: Type.Optional(Type.String({ description: 'Topic for responses, without wildcards.' })),
    correlation_data: Type.Optional(Type.String({ description: 'Correlation data as text, which is sent in UTF-8.' })),
    subscription_identifier: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: maxIdentifier,
        description: 'Subscription identifier. The broker checks the value and does not forward it.',
      }),
    ),
    content_type: Type.Optional(Type.String()),
    user_properties: Type.Optional(Type.Record(Type.String(), propertyValue)),
  },
  { additionalProperties: false, description: 'Properties of the PUBLISH packet in MQTT 5.0.' },
)

const encoding = Type.Union([Type.Literal('plain'), Type.Literal('base64')])

/** A message. `topic` or `topics` is required. */
export const publishMessage = Type.Object({
  topic: Type.Optional(topic),
  topics: Type.Optional(topics),
  clientid: Type.Optional(
    Type.String({ ...clientId, description: 'Client ID of the publisher; absent: a fixed client ID of the API.' }),
  ),
  payload: Type.String(),
  encoding: Type.Optional(Type.Union(encoding.anyOf, { description: 'Encoding of `payload` in this request.' })),
  decoding: Type.Optional(Type.Union(encoding.anyOf, { description: 'Another name for `encoding`.' })),
  qos: Type.Optional(qos),
  retain: Type.Optional(Type.Boolean()),
  properties: Type.Optional(publishProperties),
  receipt: Type.Optional(
    Type.Boolean({ description: 'true: the response has a receipt with the number of deliveries.' }),
  ),
})

const count = (description: string): ReturnType<typeof Type.Integer> => Type.Integer({ minimum: 0, description })

/** Deliveries of a publication when it was routed, over all of its topics. */
const receipt = Type.Object({
  matched: count('Number of matching sessions, with one member of each shared subscription.'),
  sent: count('Number of sessions to whose clients the message is being sent.'),
  queued: count(
    'Number of sessions in whose queues the message waits, because the client is offline or cannot take more messages now.',
  ),
  dropped: count(
    'Number of sessions for which a message was dropped: this message, or the oldest message of a full queue.',
  ),
  missed: count('Number of sessions that receive QoS 0 and whose client is offline.'),
  elsewhere: Type.Object(
    {
      matched: count('Estimated part of `matched`.'),
      sent: count('Estimated part of `sent`.'),
      queued: count('Estimated part of `queued`.'),
      dropped: count('Estimated part of `dropped`.'),
    },
    { description: 'Estimates for sessions of other shards of the node, which the counts above include.' },
  ),
})

const code = Type.Integer({ description: 'Result code: 0 for success, otherwise the error as in `docs/errors.md`.' })
const message = Type.Optional(Type.String({ description: 'Description of the error; absent: success.' }))

export const subscribeRequest = Type.Object({
  topic: Type.Optional(topic),
  topics: Type.Optional(topics),
  clientid: clientId,
  qos: Type.Optional(qos),
})

export const unsubscribeRequest = Type.Object({
  topic: Type.Optional(topic),
  topics: Type.Optional(topics),
  clientid: clientId,
})

/** Each entry is checked separately, so that an invalid one does not affect others. */
const entries = Type.Array(Type.Unknown(), { maxItems: maxBatchEntries })

const publishedEntry = Type.Object({ topic: Type.String(), code, message, receipt: Type.Optional(receipt) })
const subscribedEntry = Type.Object({ clientid: Type.String(), topic: Type.String(), code, message })

const publishFailures = ['missingParameter', 'invalidParameter', 'notJson', 'invalidTopic', 'rpcError'] as const
const subscribeFailures = [...publishFailures, 'clientOffline'] as const

export const publishingEndpoints = {
  mqtt_publish: endpoint({
    method: 'POST',
    path: '/mqtt/publish',
    summary: 'Publishes a message to one or more topics. The response is sent when the message is durable.',
    body: publishMessage,
    reply: Type.Object({ ...noContent.properties, data: Type.Optional(Type.Object({ receipt })) }),
    failures: publishFailures,
    access: 'publish',
    isForNamespaces: true,
  }),
  mqtt_publish_batch: endpoint({
    method: 'POST',
    path: '/mqtt/publish_batch',
    summary: 'Publishes messages in order. Each message has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(publishedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'publish',
    isForNamespaces: true,
  }),
  mqtt_subscribe: endpoint({
    method: 'POST',
    path: '/mqtt/subscribe',
    summary: 'Subscribes a connected client to one or more topic filters.',
    body: subscribeRequest,
    reply: noContent,
    failures: subscribeFailures,
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_subscribe_batch: endpoint({
    method: 'POST',
    path: '/mqtt/subscribe_batch',
    summary: 'Subscribes connected clients. Each entry has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(subscribedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_unsubscribe: endpoint({
    method: 'POST',
    path: '/mqtt/unsubscribe',
    summary: 'Removes subscriptions of a connected client.',
    body: unsubscribeRequest,
    reply: noContent,
    failures: subscribeFailures,
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_unsubscribe_batch: endpoint({
    method: 'POST',
    path: '/mqtt/unsubscribe_batch',
    summary: 'Removes subscriptions of connected clients. Each entry has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(subscribedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
}
