// Configured bridges.

import { answer, noContent, endpoint } from '../endpoint.ts'
import { type TSchema, Type } from '../schema.ts'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const flag = Type.Boolean()
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const duration = Type.String({ description: 'With its unit: `120s`, `800ms`.' })
const userProperties = Type.Array(Type.Object({ key: text, value: text }))

const identified = Type.Object({ identifier: Type.Optional(count), user_properties: userProperties })

const connectProperties = Type.Object({
  session_expiry_interval: count,
  receive_maximum: count,
  maximum_packet_size: count,
  topic_alias_maximum: count,
  request_response_information: flag,
  request_problem_information: flag,
  user_properties: userProperties,
})

const willProperties = Type.Object({
  payload_format_indicator: count,
  message_expiry_interval: count,
  will_delay_interval: count,
  content_type: Type.Optional(text),
  response_topic: Type.Optional(text),
  correlation_data: Type.Optional(text),
  user_properties: userProperties,
})

const will = Type.Object({ topic: text, payload: text, qos: count, retain: flag })

const tcp = Type.Object({
  bind_interface: orNull(text),
  nodelay: flag,
  keepalive: flag,
  quickack: flag,
  keepidle: duration,
  keepintvl: duration,
  keepcnt: count,
  sendtimeo: duration,
  recvtimeo: duration,
})

const rule = {
  prefix: Type.Optional(text),
  suffix: Type.Optional(text),
  remote_topic: text,
  local_topic: text,
}

const status = Type.Object({
  state: Type.String({ description: 'off, preparing, connecting, connected, draining or waiting.' }),
  since: Type.String({ description: 'Local time of the node.' }),
  server: Type.String({ description: 'What it is connected to, or tries.' }),
  proto_ver: Type.Integer({
    minimum: 3,
    maximum: 5,
    description: 'MQTT that is spoken with it: 5 also where it is configured otherwise and the other end is a Godwit.',
  }),
  attempts: Type.Integer({ minimum: 0, description: 'Since the last connection.' }),
  last_error: orNull(text),
  last_error_at: orNull(text),
  in_flight: Type.Integer({ minimum: 0, description: 'Sent and not acknowledged.' }),
  spool_depth: Type.Integer({ minimum: 0, description: 'Messages that are still to go, those in flight among them.' }),
  oldest_age: orNull(
    Type.Number({ minimum: 0, description: 'Seconds since the oldest of them was published; null: none.' }),
  ),
  lag: Type.Number({ minimum: 0, description: 'Seconds that the remote broker is behind; 0: nothing waits for it.' }),
  spool_dropped: Type.Integer({
    minimum: 0,
    description: 'Messages that were dropped because the queue was full or they had expired.',
  }),
  spool_drops: Type.Record(text, count, { description: 'The same by reason.' }),
  passed_on: Type.Integer({
    minimum: 0,
    description: 'Filters of clients here that a transparent bridge has subscribed to there, or that lie within those.',
  }),
  not_passed_on: Type.Integer({
    minimum: 0,
    description: 'Those that were too many, or that the remote broker refused.',
  }),
  sent_rate: Type.Number({ minimum: 0, description: 'Messages in a second, over the last ten.' }),
  received_rate: Type.Number({ minimum: 0 }),
  counters: Type.Object({
    sent: count,
    sent_again: count,
    sent_bytes: count,
    acknowledged: count,
    received: count,
    received_bytes: count,
    connects: count,
    failures: count,
    unasked: count,
    dropped: Type.Record(text, count),
  }),
})

const connector = {
  server: text,
  proto_ver: Type.Integer({ minimum: 3, maximum: 5 }),
  clientid: orNull(text),
  clean_start: flag,
  username: orNull(text),
  password: orNull(Type.String({ description: '`******` if there is one. Sent back like that, it does not change.' })),
  keepalive: Type.Number({ minimum: 0, description: 'Seconds.' }),
  conn_properties: Type.Optional(connectProperties),
  will_properties: Type.Optional(willProperties),
}

const node = Type.Object({
  name: text,
  enable: flag,
  parallel: Type.Integer({ minimum: 1 }),
  connector: Type.Object(connector),
  forwards: Type.Array(Type.Object({ ...rule, qos: Type.Optional(count), retain: Type.Optional(flag) })),
  subscription: Type.Array(
    Type.Object({
      ...rule,
      qos: count,
      retain: Type.Optional(flag),
      retain_as_published: Type.Optional(count),
      retain_handling: Type.Optional(count),
    }),
  ),
  sub_properties: Type.Optional(identified),
  unsub_properties: Type.Optional(identified),
  tls: Type.Object({
    enable: flag,
    url: Type.Null(),
    key_password: orNull(text),
    key: orNull(Type.String({ description: '`******` where there is one.' })),
    cert: orNull(Type.String({ description: 'PEM.' })),
    cacert: orNull(Type.String({ description: 'PEM.' })),
    verify_peer: flag,
    fail_if_no_peer_cert: flag,
  }),
  quic_keepalive: duration,
  quic_idle_timeout: duration,
  quic_discon_timeout: duration,
  quic_handshake_timeout: duration,
  quic_send_idle_timeout: duration,
  quic_initial_rtt_ms: duration,
  quic_max_ack_delay_ms: duration,
  quic_multi_stream: flag,
  multi_stream: flag,
  hybrid_bridging: flag,
  hybrid_servers: Type.Array(text),
  quic_qos_priority: flag,
  quic_0rtt: flag,
  max_send_queue_len: count,
  max_recv_queue_len: count,
  backoff_max: duration,
  cancel_timeout: duration,
  resend_interval: orNull(duration),
  resend_wait: orNull(duration),
  retry_qos_0: flag,
  no_local_v4: flag,
  transparent: flag,
  spool_max_messages: orNull(count),
  spool_full_policy: Type.String({ description: 'refuse, drop_newest or drop_oldest.' }),
  will: orNull(will),
  tcp,
  status: Type.Optional(orNull(status)),
})

/** As in PUT: the fields of the connector are next to the others. */
const flattenedNode = Type.Object({ ...Type.Omit(node, ['connector']).properties, ...connector })

const listing = answer(
  Type.Object({
    bridge: Type.Object({
      nodes: Type.Array(node),
      sqlite: Type.Object({
        enable: flag,
        disk_cache_size: count,
        flush_mem_threshold: count,
        resend_interval: count,
        mounted_file_path: orNull(text),
      }),
    }),
  }),
)

const params = Type.Object({ bridge_name: Type.String({ description: 'Name of the bridge in the configuration.' }) })
const body = Type.Unknown()
const failures = ['missingParameter', 'invalidParameter', 'notJson', 'configNotWritten'] as const
const otherStatuses = [['invalidParameter', 404]] as const

const subscribing = {
  summary: 'Adds subscriptions at the remote broker to a bridge, or replaces those of the same remote topic.',
  path: '/bridges/sub/:bridge_name',
  params,
  body,
  reply: noContent,
  failures,
  otherStatuses,
  access: 'change',
} as const

const unsubscribing = {
  summary: 'Takes subscriptions at the remote broker out of a bridge that is on.',
  path: '/bridges/unsub/:bridge_name',
  params,
  body,
  reply: noContent,
  failures,
  otherStatuses,
  access: 'change',
} as const

export const bridgeEndpoints = {
  get_mqtt_bridges: endpoint({
    method: 'GET',
    path: '/bridges',
    summary: 'Every bridge with all of its settings.',
    reply: listing,
    access: 'read',
  }),
  get_mqtt_bridge: endpoint({
    method: 'GET',
    path: '/bridges/:bridge_name',
    summary: 'One bridge with all of its settings.',
    params,
    reply: listing,
    failures: ['invalidParameter'],
    otherStatuses,
    access: 'read',
  }),
  put_mqtt_bridge: endpoint({
    method: 'PUT',
    path: '/bridges/:bridge_name',
    summary: 'Gives a bridge other settings. Those that are not named have their defaults; whether it is on stays.',
    params,
    body,
    reply: answer(Type.Record(text, flattenedNode)),
    failures,
    otherStatuses,
    access: 'change',
  }),
  post_mqtt_bridge: endpoint({
    method: 'POST',
    path: '/bridges',
    summary: 'Creates a bridge. Settings that are not named have their defaults; it is off unless `enable` is true.',
    body: Type.Object({
      name: Type.String({ minLength: 1, description: 'Name of the new bridge in the configuration.' }),
    }),
    reply: answer(Type.Record(text, flattenedNode)),
    failures,
    access: 'change',
  }),
  delete_mqtt_bridge: endpoint({
    method: 'DELETE',
    path: '/bridges/:bridge_name',
    summary: 'Deletes a bridge and what waits in its queue.',
    params,
    reply: noContent,
    failures: ['invalidParameter', 'configNotWritten'],
    otherStatuses,
    access: 'change',
  }),
  put_mqtt_bridge_switch: endpoint({
    method: 'POST',
    path: '/bridges/switch/:bridge_name',
    summary: 'Turns a bridge on or off.',
    params,
    body,
    reply: noContent,
    failures,
    otherStatuses,
    access: 'change',
  }),
  sub_mqtt_bridge: endpoint({ method: 'PUT', ...subscribing }),
  post_sub_mqtt_bridge: endpoint({ method: 'POST', ...subscribing }),
  unsub_mqtt_bridge: endpoint({ method: 'PUT', ...unsubscribing }),
  post_unsub_mqtt_bridge: endpoint({ method: 'POST', ...unsubscribing }),
}
