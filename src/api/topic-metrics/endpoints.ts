// Topics whose messages are counted.

import { endpoint, Type } from '../../contract/index.ts'

const count = Type.Integer({ minimum: 0 })
const rate = Type.Number({ minimum: 0, description: 'Messages per second, averaged over the last five seconds.' })
const topic = Type.String({ minLength: 1, maxLength: 65_535, description: 'Topic without wildcards.' })
const time = Type.String({ description: 'Time in RFC 3339.' })
const params = Type.Object({ topic: Type.String() })
const topicMetrics = Type.Object({
  topic: Type.String(),
  create_time: time,
  reset_time: Type.Optional(time),
  metrics: Type.Object({
    'messages.in.count': count,
    'messages.in.rate': rate,
    'messages.out.count': count,
    'messages.out.rate': rate,
    'messages.qos0.in.count': count,
    'messages.qos0.in.rate': rate,
    'messages.qos0.out.count': count,
    'messages.qos0.out.rate': rate,
    'messages.qos1.in.count': count,
    'messages.qos1.in.rate': rate,
    'messages.qos1.out.count': count,
    'messages.qos1.out.rate': rate,
    'messages.qos2.in.count': count,
    'messages.qos2.in.rate': rate,
    'messages.qos2.out.count': count,
    'messages.qos2.out.rate': rate,
    'messages.dropped.count': Type.Integer({ minimum: 0, description: 'Number of messages without subscribers.' }),
    'messages.dropped.rate': rate,
  }),
})

export const topicMetricsEndpoints = {
  get_topic_metrics: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/topic_metrics',
    summary: 'Lists the topics whose messages are counted, with their counts and rates.',
    reply: Type.Array(topicMetrics),
    reasons: ['SERVICE_UNAVAILABLE'],
    access: 'read',
  }),
  add_topic_metrics: endpoint({
    version: 'v5',
    method: 'POST',
    path: '/mqtt/topic_metrics',
    summary: 'Counts the messages of a topic from now on.',
    body: Type.Object({ topic }),
    reply: topicMetrics,
    reasons: ['CONFLICT', 'SERVICE_UNAVAILABLE'],
    access: 'change',
  }),
  reset_topic_metrics: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/mqtt/topic_metrics',
    summary: 'Sets the counts of one topic, or of all topics, to zero.',
    body: Type.Object({ action: Type.Literal('reset'), topic: Type.Optional(topic) }),
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
  get_metrics_of_topic: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/topic_metrics/:topic',
    summary: 'Returns the counts and rates of a topic. In the path, `/` of the topic is written as `%2F`.',
    params,
    reply: topicMetrics,
    reasons: ['NOT_FOUND', 'SERVICE_UNAVAILABLE'],
    access: 'read',
  }),
  delete_topic_metrics: endpoint({
    version: 'v5',
    method: 'DELETE',
    path: '/mqtt/topic_metrics/:topic',
    summary: 'Stops counting the messages of a topic and deletes its counts.',
    params,
    status: 204,
    reply: Type.Null(),
    reasons: ['NOT_FOUND'],
    access: 'change',
  }),
}
