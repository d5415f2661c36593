// Rewritten topics, and automatic subscriptions.

import { endpoint, Type } from '../../contract/index.ts'

const level = Type.Integer({ minimum: 0, maximum: 2 })
const flag = Type.Integer({ minimum: 0, maximum: 1 })
const topic = Type.String({ minLength: 1, maxLength: 65_535 })
const rewrites = Type.Array(
  Type.Object({
    action: Type.Union([Type.Literal('publish'), Type.Literal('subscribe'), Type.Literal('all')]),
    source_topic: topic,
    re: Type.String({ minLength: 1, maxLength: 4_096, description: 'Regular expression that the topic must match.' }),
    dest_topic: topic,
  }),
  { maxItems: 1_000, description: 'Rewrite rules as in the setting `rewrite`.' },
)
const subscription = { topic, qos: level, rh: level, rap: flag, nl: flag }

export const topicSettingEndpoints = {
  get_topic_rewrite: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/topic_rewrite',
    summary: 'Lists the rules that rewrite topics of clients.',
    reply: rewrites,
    access: 'read',
  }),
  change_topic_rewrite: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/mqtt/topic_rewrite',
    summary: 'Replaces all rules that rewrite topics of clients.',
    body: rewrites,
    reply: rewrites,
    access: 'change',
  }),
  get_auto_subscribe: endpoint({
    version: 'v5',
    method: 'GET',
    path: '/mqtt/auto_subscribe',
    summary: 'Lists the subscriptions that the broker adds to each client that connects.',
    reply: Type.Array(Type.Object(subscription)),
    access: 'read',
  }),
  change_auto_subscribe: endpoint({
    version: 'v5',
    method: 'PUT',
    path: '/mqtt/auto_subscribe',
    summary: 'Replaces all subscriptions that the broker adds to each client that connects.',
    body: Type.Array(
      Type.Object({
        topic,
        qos: Type.Optional(level),
        rh: Type.Optional(level),
        rap: Type.Optional(flag),
        nl: Type.Optional(flag),
      }),
      { maxItems: 100 },
    ),
    reply: Type.Array(Type.Object(subscription)),
    access: 'change',
  }),
}
