// bridges: connections to remote brokers. Settings without effect are kept, shown, and reported in a warning.

import { listOf, record, textMap } from '../schema/collections.ts'
import { path } from '../schema/path.ts'
import { duration } from '../schema/quantities.ts'
import { namedSection, section, setting, appliedAtOnce } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'
import { serverAddress, serverUrl } from '../server-url.ts'
import { maxCount } from './node.ts'

const dayMs = 86_400_000
const anyText = text({ isEmptyAllowed: true })
// Sample files contain "" for unused settings.
const maybeText = optional(anyText, 'none')
const maybeFile = optional(path('working-directory', { isEmptyAllowed: true }), 'none')
const maybeDirectory = optional(path('working-directory', { isWritten: true, isEmptyAllowed: true }), 'none')
const qos = choice(['0', '1', '2'])
const flag = boolean
const flagOrDigit = choice(['1', '0', 'true', 'false'])

/** Durations that other brokers' files give as milliseconds without a unit. */
const milliseconds = duration({ minMs: 0, maxMs: dayMs, bareUnitMs: 1 })
const seconds = duration({ minMs: 0, maxMs: 30 * dayMs })

const forward = record('a forward', {
  remote_topic: anyText,
  local_topic: anyText,
  qos,
  retain: flag,
  prefix: anyText,
  suffix: anyText,
})

const subscription = record('a subscription', {
  remote_topic: anyText,
  local_topic: anyText,
  qos,
  retain: flag,
  prefix: anyText,
  suffix: anyText,
  retain_as_published: choice(['true', 'false', '1', '0']),
  retain_handling: choice(['0', '1', '2']),
})

const rules = {
  forwards: setting(listOf(forward), [], {
    description:
      'What goes to the remote broker: local_topic is the filter here, remote_topic the topic there (empty: the same).',
  }),
  subscription: setting(listOf(subscription), [], {
    description:
      'What comes from the remote broker: remote_topic is the filter there, local_topic the topic here (empty: the same).',
  }),
}

/** TLS of an outgoing connection. */
export const clientCertificates = section('TLS towards the other side.', {
  enable: setting(flag, false, { description: 'Whether TLS is used.' }),
  keyfile: setting(maybeFile, undefined, { description: 'File of our private key, PEM.' }),
  key_password: setting(maybeText, undefined, { description: 'Password of the private key.', isSecret: true }),
  certfile: setting(maybeFile, undefined, { description: 'File of our certificate, PEM.' }),
  cacertfile: setting(maybeFile, undefined, {
    description: 'File of the authorities that the other side is checked by, PEM.',
  }),
  verify_peer: setting(flag, true, { description: 'Whether the certificate of the other side is checked.' }),
  verify: setting(optional(choice(['verify_peer', 'verify_none']), 'none'), undefined, {
    description: 'The same as verify_peer, as EMQX writes it. It wins where both are written.',
  }),
  fail_if_no_peer_cert: setting(flag, false, {
    description: 'Whether a certificate of the other side is required.',
  }),
})

const connection = {
  server: setting(maybeText, undefined, {
    description: 'The remote broker, such as mqtt-tcp://broker.example:1883, tls+mqtt-tcp://... or mqtt-quic://...',
  }),
  proto_ver: setting(choice(['4', '3', '5']), '4', { description: 'MQTT version: 3 is 3.1, 4 is 3.1.1, 5 is 5.0.' }),
  clientid: setting(maybeText, undefined, { description: 'Client id of the bridge.', defaultWords: 'a random one' }),
  keepalive: setting(seconds, 60_000, { description: 'Keep alive.' }),
  clean_start: setting(flag, false, {
    description:
      'Whether the remote broker forgets the bridge between connections. Then QoS 2 messages may come twice where one breaks.',
  }),
  username: setting(maybeText, undefined, { description: 'User name of the bridge.' }),
  password: setting(maybeText, undefined, { description: 'Password of the bridge.', isSecret: true }),
  ssl: clientCertificates,
  tls: clientCertificates,
}

const tcpOptions = section('Options of the socket, by the names of the operating system.', {
  bind_interface: setting(maybeText, undefined, { description: 'Network interface.' }),
  nodelay: setting(flag, true, { description: 'TCP_NODELAY.' }),
  keepalive: setting(flag, false, { description: 'SO_KEEPALIVE.' }),
  quickack: setting(flag, false, { description: 'TCP_QUICKACK.' }),
  keepidle: setting(seconds, 7_200_000, { description: 'TCP_KEEPIDLE.' }),
  keepintvl: setting(seconds, 75_000, { description: 'TCP_KEEPINTVL.' }),
  keepcnt: setting(integer({ min: 1, max: 127 }), 9, { description: 'TCP_KEEPCNT.' }),
  sendtimeo: setting(seconds, 0, { description: 'SO_SNDTIMEO; 0: none.' }),
  recvtimeo: setting(seconds, 0, { description: 'SO_RCVTIMEO; 0: none.' }),
})

const connectProperties = section('Properties of CONNECT, for MQTT 5.0.', {
  session_expiry_interval: setting(integer({ min: 0, max: maxCount }), 0, {
    description: 'How long the session there is kept.',
    unit: 'seconds',
  }),
  receive_maximum: setting(integer({ min: 1, max: 65_535 }), 65_535, { description: 'Messages.' }),
  maximum_packet_size: setting(integer({ min: 0, max: maxCount }), 0, { description: 'Bytes; 0: no limit.' }),
  topic_alias_maximum: setting(integer({ min: 0, max: 65_535 }), 0, { description: 'Aliases.' }),
  request_problem_info: setting(flagOrDigit, '1', {
    description: 'Whether reasons are wanted in words.',
  }),
  request_response_info: setting(flagOrDigit, '0', {
    description: 'Whether response information is wanted.',
  }),
  request_problem_information: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'The same as request_problem_info.',
  }),
  request_response_information: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'The same as request_response_info.',
  }),
  // Sample files of NanoMQ have this spelling.
  request_problem_infomation: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'The same as request_problem_info.',
  }),
  request_response_infomation: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'The same as request_response_info.',
  }),
  user_property: setting(textMap, new Map(), { description: 'User properties.' }),
})

const will = section('The will that the bridge leaves with the remote broker.', {
  topic: setting(maybeText, undefined, { description: 'Topic.' }),
  payload: setting(anyText, '', { description: 'Payload.' }),
  qos: setting(qos, '0', { description: 'QoS.' }),
  retain: setting(flag, false, { description: 'Whether it is retained.' }),
  properties: section('Properties, for MQTT 5.0.', {
    payload_format_indicator: setting(choice(['0', '1']), '0', { description: '1: the payload is text.' }),
    message_expiry_interval: setting(integer({ min: 0, max: maxCount }), 0, {
      description: 'How long the message is worth delivering.',
      unit: 'seconds',
    }),
    will_delay_interval: setting(integer({ min: 0, max: maxCount }), 0, {
      description: 'How long it waits for the bridge to come back.',
      unit: 'seconds',
    }),
    content_type: setting(maybeText, undefined, { description: 'Content type.' }),
    response_topic: setting(maybeText, undefined, { description: 'Response topic.' }),
    correlation_data: setting(maybeText, undefined, { description: 'Correlation data.' }),
    user_property: setting(textMap, new Map(), { description: 'User properties.' }),
  }),
})

const quic = {
  quic_keepalive: setting(seconds, 120_000, { description: 'Time between two signs of life.' }),
  quic_idle_timeout: setting(seconds, 120_000, {
    description: 'Silence after which the connection is closed; 0: never.',
  }),
  quic_discon_timeout: setting(seconds, 20_000, {
    description: 'How long an acknowledgement of QUIC may take.',
  }),
  quic_handshake_timeout: setting(seconds, 60_000, {
    description: 'How long the handshake may take; 0: as if it were not written.',
  }),
  quic_send_idle_timeout: setting(seconds, 60_000, {
    description: 'Idle time after which the sending rate is measured again.',
  }),
  quic_initial_rtt_ms: setting(milliseconds, 800, {
    description: 'First guess of the round-trip time.',
  }),
  quic_max_ack_delay_ms: setting(duration({ minMs: 0, maxMs: 16_000, bareUnitMs: 1 }), 100, {
    description: 'How long an acknowledgement may be held back.',
  }),
  quic_multi_stream: setting(flag, false, { description: 'Whether topics have streams of their own.' }),
  multi_stream: setting(optional(flag, 'unset'), undefined, { description: 'The same as quic_multi_stream.' }),
  quic_qos_priority: setting(flag, true, { description: 'Whether QoS 1 and 2 go before QoS 0.' }),
  quic_0rtt: setting(flag, true, {
    description: 'Whether data may go with the first packet of a resumed connection.',
  }),
}

const mqttServer = setting(optional(serverUrl, 'none'), undefined, {
  description:
    'The remote broker: mqtt-tcp://host:1883, tls+mqtt-tcp://host:8883, mqtt-quic://host:14567, ws://host:8083/mqtt or wss://host:8084/mqtt.',
})

export const mqttBridge = section('A bridge to one broker.', {
  enable: setting(flag, false, { description: 'Whether the bridge runs.' }),
  ...connection,
  server: mqttServer,
  backoff_max: setting(seconds, 5_000, {
    description: 'The longest pause between two attempts to connect; 0: as if it were not written.',
  }),
  spool_max_messages: setting(optional(integer({ min: 1, max: maxCount }), 'unset'), undefined, {
    description: 'Messages that wait on disk for the remote broker.',
    defaultWords: 'as `bridges.mqtt.cache.disk_cache_size` if that is written, else as `mqtt.max_stored_messages`',
  }),
  spool_full_policy: setting(optional(choice(['refuse', 'drop_newest', 'drop_oldest']), 'unset'), undefined, {
    defaultWords: '`refuse`; `drop_oldest` where `bridges.mqtt.cache` says how many',
    description:
      'What becomes of one message more: its publisher is refused it (MQTT 5.0; else it is dropped), or for the bridge alone it, or the oldest, is dropped.',
  }),
  max_parallel_processes: setting(integer({ min: 1, max: 65_535 }), 2, {
    description:
      'Streams over which topics are dealt with multi_stream, 64 at most. Without it a bridge is one stream.',
  }),
  transparent: setting(flag, false, {
    description:
      'Whether subscriptions of clients here are made there as well: what is published there comes as it is.',
  }),
  no_local_v4: setting(flag, true, {
    description:
      'Whether the bridge says with MQTT 3.1 and 3.1.1 that it is one, so that what it sent does not come back.',
  }),
  retry_qos_0: setting(flag, false, {
    description: 'Whether QoS 0 messages wait on disk for the remote broker like others. They still go at QoS 0.',
  }),
  will,
  tcp: tcpOptions,
  conn_properties: connectProperties,
  sub_properties: section('Properties of SUBSCRIBE, for MQTT 5.0.', {
    identifier: setting(optional(integer({ min: 1, max: 268_435_455 }), 'none'), undefined, {
      description: 'Subscription identifier.',
    }),
    user_property: setting(textMap, new Map(), { description: 'User properties.' }),
  }),
  unsub_properties: section('Properties of UNSUBSCRIBE, for MQTT 5.0.', {
    identifier: setting(optional(integer({ min: 1, max: 268_435_455 }), 'none'), undefined, {
      description: 'Subscription identifier.',
    }),
    user_property: setting(textMap, new Map(), { description: 'User properties.' }),
  }),
  ...rules,
  hybrid_bridging: setting(flag, false, {
    description: 'Whether the bridge goes from server to server, and from QUIC to TCP, when one fails.',
  }),
  hybrid_servers: setting(listOf(serverUrl, 64), [], { description: 'The servers that it goes through.' }),
  max_send_queue_len: setting(optional(integer({ min: 1, max: 1_000_000 }), 'unset'), undefined, {
    description:
      'Messages on their way to the remote broker, sent and not acknowledged. What it says itself may be less.',
    defaultWords: '1024, before MQTT 5.0 20',
  }),
  max_recv_queue_len: setting(optional(integer({ min: 1, max: 1_000_000 }), 'unset'), undefined, {
    description:
      'Messages of the remote broker that this one has not stored yet: it is told so, or not read meanwhile.',
    defaultWords: 'as `mqtt.receive_maximum`',
  }),
  resend_interval: setting(optional(milliseconds, 'unset'), undefined, {
    description: 'With resend_wait: the shortest time between two connections that are renewed for that.',
    defaultWords: '5s, where resend_wait is written',
  }),
  resend_wait: setting(optional(milliseconds, 'unset'), undefined, {
    description:
      'A message waits so long for its answer while the remote broker answers nothing at all: then the connection is renewed, and what has no answer is sent again.',
    defaultWords: '3s, where resend_interval is written; else any time',
  }),
  cancel_timeout: setting(milliseconds, 10_000, {
    description:
      'How long opening a connection may take, and how long the answer to CONNECT; 0: as if it were not written.',
  }),
  ...quic,
})

/** Queues while the remote broker is unavailable, as in NanoMQ's files. */
export const diskCache = {
  enable: setting(flag, false, { description: 'Whether messages are kept on disk.' }),
  disk_cache_size: setting(integer({ min: 0, max: maxCount }), 102_400, { description: 'Messages that are kept.' }),
  mounted_file_path: setting(maybeDirectory, undefined, {
    description: 'Directory.',
    defaultWords: 'the current directory',
  }),
  flush_mem_threshold: setting(integer({ min: 1, max: maxCount }), 100, {
    description: 'Messages in memory that are written together.',
  }),
  resend_interval: setting(milliseconds, 5_000, { description: 'Time between two rounds of sending again.' }),
}

/** The queue of a bridge is always on disk, so few settings have an effect. */
const bridgeCache = {
  enable: setting(flag, false, {
    description: 'Whether queued messages are on disk.',
  }),
  disk_cache_size: setting(optional(integer({ min: 0, max: maxCount }), 'unset'), undefined, {
    description:
      'Messages that wait on disk for each bridge that says nothing of it itself, the oldest of which are dropped for new ones; 0: as if it were not written.',
    defaultWords: 'unset',
    appliesOn: 'at-once',
  }),
  mounted_file_path: setting(maybeDirectory, undefined, {
    description: 'Directory of the queues.',
  }),
  flush_mem_threshold: setting(integer({ min: 1, max: maxCount }), 100, {
    description: 'Messages in memory that are written together.',
  }),
  resend_interval: setting(milliseconds, 5_000, {
    description: 'Time between two rounds of sending again.',
  }),
}

export const awsBridge = section('A bridge to one endpoint.', {
  enable: setting(flag, true, { description: 'Whether the bridge runs.' }),
  ...connection,
  server: setting(optional(serverAddress, 'none'), undefined, {
    description: 'The endpoint: host:port, or host for port 8883.',
  }),
  max_parallel_processes: setting(integer({ min: 1, max: 65_535 }), 2, {
    description: 'Number of connections.',
  }),
  ...rules,
})

export const bridges = section('Connections to other brokers.', {
  mqtt: namedSection('Bridges over MQTT.', {
    entries: {
      cache: section('Queues of bridges, as in files of NanoMQ.', bridgeCache),
    },
    placeholder: 'name',
    named: appliedAtOnce(mqttBridge),
  }),
  aws: namedSection('Bridges to AWS IoT: over TLS, at QoS 1 at most.', {
    entries: {},
    placeholder: 'name',
    named: appliedAtOnce(awsBridge),
  }),
})

export const sqlite = section('Sessions of NanoMQ on disk.', diskCache)
