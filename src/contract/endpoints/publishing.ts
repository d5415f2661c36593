// Publishes, subscribes and unsubscribes in the name of clients.

import { noContent, endpoint } from '../endpoint.ts'
import { Type } from '../schema.ts'

const largestTopicBytes = 65_535
const maxSeconds = 4_294_967_295
const maxIdentifier = 268_435_455
/** Maximum entries of a batch; the body has its own limit. */
const maxBatchEntries = 10_000

const qos = Type.Integer({ minimum: 0, maximum: 2 })
const clientId = Type.String({ minLength: 1, maxLength: largestTopicBytes })
const topic = Type.String({ description: 'One topic.' })
const topics = Type.String({ description: 'Several topics, separated by commas and nothing else.' })

const propertyValue = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

const publishProperties = Type.Object(
  {
    payload_format_indicator: Type.Optional(Type.Integer({ minimum: 0, maximum: 1, description: '1: UTF-8 text.' })),
    message_expiry_interval: Type.Optional(
      Type.Integer({ minimum: 0, maximum: maxSeconds, description: 'In seconds.' }),
    ),
    response_topic: Type.Optional(Type.String({ description: 'A topic without wildcards.' })),
    correlation_data: Type.Optional(Type.String({ description: 'Sent as the UTF-8 bytes of the text.' })),
    subscription_identifier: Type.Optional(
      Type.Integer({ minimum: 1, maximum: maxIdentifier, description: 'Checked, and not passed on.' }),
    ),
    content_type: Type.Optional(Type.String()),
    user_properties: Type.Optional(Type.Record(Type.String(), propertyValue)),
  },
  { additionalProperties: false, description: 'Properties of a PUBLISH of MQTT 5.0.' },
)

const encoding = Type.Union([Type.Literal('plain'), Type.Literal('base64')])

/** A message. `topic` or `topics` is required. */
export const publishMessage = Type.Object({
  topic: Type.Optional(topic),
  topics: Type.Optional(topics),
  clientid: Type.Optional(Type.String({ ...clientId, description: 'In whose name; unsaid: a fixed one.' })),
  payload: Type.String(),
  encoding: Type.Optional(Type.Union(encoding.anyOf, { description: 'What the payload is written in.' })),
  decoding: Type.Optional(Type.Union(encoding.anyOf, { description: 'Another name for `encoding`.' })),
  qos: Type.Optional(qos),
  retain: Type.Optional(Type.Boolean()),
  properties: Type.Optional(publishProperties),
  receipt: Type.Optional(Type.Boolean({ description: 'Say what became of it.' })),
})

const count = (description: string): ReturnType<typeof Type.Integer> => Type.Integer({ minimum: 0, description })

/** Deliveries of a publication when it was routed, over all of its topics. */
const receipt = Type.Object({
  matched: count('Sessions that were to have it; one member of each shared subscription.'),
  sent: count('Those whose clients it is on its way to.'),
  queued: count('Those that it waits for: the client is away, or has as much as it takes.'),
  dropped: count(
    'Sessions for which it was dropped; where the oldest message of a full queue is dropped, that one counts.',
  ),
  missed: count('Those that get QoS 0 and are away.'),
  elsewhere: Type.Object(
    { matched: count('Part of `matched`.'), sent: count('Part of `sent`.'), queued: count('Part of `queued`.') },
    { description: 'Of these, what was foreseen for the sessions of other threads of the node.' },
  ),
})

const code = Type.Integer({ description: '0, or why not.' })
const message = Type.Optional(Type.String({ description: 'Why not, in words.' }))

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
    summary: 'Publish a message to one topic or several; answered when it is safe.',
    body: publishMessage,
    reply: Type.Object({ ...noContent.properties, data: Type.Optional(Type.Object({ receipt })) }),
    failures: publishFailures,
    access: 'publish',
    isForNamespaces: true,
  }),
  mqtt_publish_batch: endpoint({
    method: 'POST',
    path: '/mqtt/publish_batch',
    summary: 'Publish messages, in order; each has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(publishedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'publish',
    isForNamespaces: true,
  }),
  mqtt_subscribe: endpoint({
    method: 'POST',
    path: '/mqtt/subscribe',
    summary: 'Subscribe a client that is connected to one topic or several.',
    body: subscribeRequest,
    reply: noContent,
    failures: subscribeFailures,
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_subscribe_batch: endpoint({
    method: 'POST',
    path: '/mqtt/subscribe_batch',
    summary: 'Subscribe clients; each entry has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(subscribedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_unsubscribe: endpoint({
    method: 'POST',
    path: '/mqtt/unsubscribe',
    summary: 'Take subscriptions of a client that is connected away.',
    body: unsubscribeRequest,
    reply: noContent,
    failures: subscribeFailures,
    access: 'change',
    isForNamespaces: true,
  }),
  mqtt_unsubscribe_batch: endpoint({
    method: 'POST',
    path: '/mqtt/unsubscribe_batch',
    summary: 'Take subscriptions of clients away; each entry has its own result.',
    body: entries,
    reply: Type.Object({ ...noContent.properties, data: Type.Array(subscribedEntry) }),
    failures: ['notJson', 'invalidParameter'],
    access: 'change',
    isForNamespaces: true,
  }),
}
