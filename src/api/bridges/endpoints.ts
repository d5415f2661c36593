// Configured bridges.

import { responseWith, noContent, endpoint, type TSchema, Type } from '../../contract/index.ts'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const flag = Type.Boolean()
const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
const duration = Type.String({ description: 'Duration with its unit, such as `120s` or `800ms`.' })
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
  state: Type.String({
    description: 'State of the bridge: off, preparing, connecting, connected, draining or waiting.',
  }),
  since: Type.String({ description: 'Time at which the bridge entered this state: local time of the node.' }),
  server: Type.String({
    description: 'Address of the remote broker to which the bridge is connected or tries to connect.',
  }),
  proto_ver: Type.Integer({
    minimum: 3,
    maximum: 5,
    description:
      'MQTT version of the connection: 3, 4 or 5. If the remote broker is a Godwit, it can be 5 although another version is configured.',
  }),
  attempts: Type.Integer({ minimum: 0, description: 'Number of connection attempts since the last connection.' }),
  last_error: orNull(text),
  last_error_at: orNull(text),
  in_flight: Type.Integer({
    minimum: 0,
    description: 'Number of messages that were sent and that the remote broker has not acknowledged.',
  }),
  spool_depth: Type.Integer({
    minimum: 0,
    description: 'Number of messages in the queue of the bridge, including messages in flight.',
  }),
  oldest_age: orNull(
    Type.Number({
      minimum: 0,
      description:
        'Age of the oldest message in the queue, in seconds since it was published; null: the queue is empty.',
    }),
  ),
  lag: Type.Number({ minimum: 0, description: 'Delay of the remote broker in seconds; 0: no message waits for it.' }),
  spool_dropped: Type.Integer({
    minimum: 0,
    description: 'Number of messages that were dropped because the queue was full or because they had expired.',
  }),
  spool_drops: Type.Record(text, count, { description: 'Number of dropped messages for each reason.' }),
  passed_on: Type.Integer({
    minimum: 0,
    description:
      'Number of filters of local clients that a transparent bridge has subscribed to at the remote broker, or that such a filter covers.',
  }),
  not_passed_on: Type.Integer({
    minimum: 0,
    description:
      'Number of filters of local clients that the bridge did not subscribe to: above the limit, or refused by the remote broker.',
  }),
  sent_rate: Type.Number({ minimum: 0, description: 'Messages sent per second, averaged over the last ten seconds.' }),
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
  password: orNull(
    Type.String({
      description: 'Password, shown as `******`; null: none. In a request, `******` keeps the stored password.',
    }),
  ),
  keepalive: Type.Number({ minimum: 0, description: 'Keep alive of the connection, in seconds.' }),
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
    key: orNull(Type.String({ description: 'Private key, shown as `******`; null: none.' })),
    cert: orNull(Type.String({ description: 'Client certificate in PEM; null: none.' })),
    cacert: orNull(Type.String({ description: 'Certificates of the trusted authorities in PEM; null: none.' })),
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
  spool_full_policy: Type.String({
    description: 'What happens if the queue is full: refuse, drop_newest or drop_oldest.',
  }),
  will: orNull(will),
  tcp,
  status: Type.Optional(orNull(status)),
})

/** A node in the form of PUT: the fields of the connector are next to the other fields. */
const flattenedNode = Type.Object({ ...Type.Omit(node, ['connector']).properties, ...connector })

const listing = responseWith(
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
  summary:
    'Adds subscriptions at the remote broker to a bridge. A subscription with the same remote topic is replaced.',
  path: '/bridges/sub/:bridge_name',
  params,
  body,
  reply: noContent,
  failures,
  otherStatuses,
  access: 'change',
} as const

const unsubscribing = {
  summary: 'Removes subscriptions at the remote broker from a bridge that is on.',
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
    summary: 'Lists the bridges with all their settings.',
    reply: listing,
    access: 'read',
  }),
  get_mqtt_bridge: endpoint({
    method: 'GET',
    path: '/bridges/:bridge_name',
    summary: 'Returns a bridge with all its settings.',
    params,
    reply: listing,
    failures: ['invalidParameter'],
    otherStatuses,
    access: 'read',
  }),
  put_mqtt_bridge: endpoint({
    method: 'PUT',
    path: '/bridges/:bridge_name',
    summary: 'Replaces the settings of a bridge. Absent settings get their defaults; the bridge stays on or off.',
    params,
    body,
    reply: responseWith(Type.Record(text, flattenedNode)),
    failures,
    otherStatuses,
    access: 'change',
  }),
  post_mqtt_bridge: endpoint({
    method: 'POST',
    path: '/bridges',
    summary: 'Creates a bridge. Absent settings get their defaults; the bridge is off unless `enable` is true.',
    body: Type.Object({
      name: Type.String({ minLength: 1, description: 'Name of the new bridge in the configuration.' }),
    }),
    reply: responseWith(Type.Record(text, flattenedNode)),
    failures,
    access: 'change',
  }),
  delete_mqtt_bridge: endpoint({
    method: 'DELETE',
    path: '/bridges/:bridge_name',
    summary: 'Deletes a bridge and the messages in its queue.',
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
