// bridges: connections to remote brokers. Settings without effect are kept, shown, and reported in a warning.

import { listOf, record, textMap } from '../schema/collections.ts'
import { path } from '../schema/path-type.ts'
import { outgoingTls } from '../schema/outgoing-tls.ts'
import { duration } from '../schema/quantities.ts'
import { namedSection, section, setting, appliedAtOnce } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'
import { serverAddress, serverUrl } from '../schema/server-url.ts'
import { maxCount } from './node.ts'

const dayMs = 86_400_000
const anyText = text({ isEmptyAllowed: true })
// Sample files contain "" for unused settings.
const maybeText = optional(anyText, 'none')
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
      'Topics that are forwarded to the remote broker: local_topic is the topic filter at this broker, remote_topic the topic at the remote broker (empty: the topic does not change).',
  }),
  subscription: setting(listOf(subscription), [], {
    description:
      'Topics that are received from the remote broker: remote_topic is the topic filter at the remote broker, local_topic the topic at this broker (empty: the topic does not change).',
  }),
}

const connection = {
  server: setting(maybeText, undefined, {
    description:
      'URL of the remote broker, such as mqtt-tcp://broker.example:1883, tls+mqtt-tcp://... or mqtt-quic://...',
  }),
  proto_ver: setting(choice(['4', '3', '5']), '4', {
    description: 'MQTT version of the connection: 3 is 3.1, 4 is 3.1.1, 5 is 5.0.',
  }),
  clientid: setting(maybeText, undefined, {
    description: 'Client ID of the bridge at the remote broker.',
    defaultWords: 'a random one',
  }),
  keepalive: setting(seconds, 60_000, {
    description: 'Keep Alive in CONNECT of the bridge: the bridge sends at least one packet in this time.',
  }),
  clean_start: setting(flag, false, {
    field: 'cleanStart',
    description:
      'Whether the bridge starts a new session with each connection. If true, QoS 2 messages may be delivered twice when a connection is lost.',
  }),
  username: setting(maybeText, undefined, { description: 'User name of the bridge at the remote broker.' }),
  password: setting(maybeText, undefined, {
    description: 'Password of the bridge at the remote broker.',
    isSecret: true,
  }),
  ssl: outgoingTls,
  tls: outgoingTls,
}

const tcpOptions = section('Options of the TCP socket to the remote broker, by their names in the operating system.', {
  bind_interface: setting(maybeText, undefined, {
    description: 'Name of the network interface from which the bridge connects, such as eth1.',
  }),
  nodelay: setting(flag, true, {
    description: 'Whether the socket option TCP_NODELAY is set: small packets are sent at once.',
  }),
  keepalive: setting(flag, false, {
    description: 'Whether the socket option SO_KEEPALIVE is set: the system probes an idle connection.',
  }),
  quickack: setting(flag, false, {
    description: 'Socket option TCP_QUICKACK: acknowledgements of TCP are sent at once.',
  }),
  keepidle: setting(seconds, 7_200_000, {
    description:
      'Socket option TCP_KEEPIDLE: idle time before the system sends the first keepalive probe, if keepalive is true.',
  }),
  keepintvl: setting(seconds, 75_000, {
    description: 'Socket option TCP_KEEPINTVL: interval between keepalive probes that are not acknowledged.',
  }),
  keepcnt: setting(integer({ min: 1, max: 127 }), 9, {
    description:
      'Socket option TCP_KEEPCNT: number of unacknowledged keepalive probes after which the connection is closed.',
  }),
  sendtimeo: setting(seconds, 0, {
    description: 'Socket option SO_SNDTIMEO: maximum time that sending waits. 0: no limit.',
  }),
  recvtimeo: setting(seconds, 0, {
    description: 'Socket option SO_RCVTIMEO: maximum time that receiving waits. 0: no limit.',
  }),
})

const connectProperties = section('MQTT 5.0 properties of CONNECT that the bridge sends.', {
  session_expiry_interval: setting(integer({ min: 0, max: maxCount }), 0, {
    description:
      'Session Expiry Interval of CONNECT: how long the remote broker keeps the session of the bridge after a disconnection. 0 with clean_start = false: it never expires.',
    unit: 'seconds',
  }),
  receive_maximum: setting(integer({ min: 1, max: 65_535 }), 65_535, {
    field: 'receiveMaximum',
    description:
      'Receive Maximum of CONNECT: maximum number of QoS 1 and 2 messages that the remote broker sends without an acknowledgement.',
  }),
  maximum_packet_size: setting(integer({ min: 0, max: maxCount }), 0, {
    description:
      'Maximum Packet Size of CONNECT: size of the largest packet that the remote broker may send, in bytes. 0: no limit.',
  }),
  topic_alias_maximum: setting(integer({ min: 0, max: 65_535 }), 0, {
    field: 'topicAliasMaximum',
    description: 'Topic Alias Maximum of CONNECT: number of topic aliases that the remote broker may use.',
  }),
  request_problem_info: setting(flagOrDigit, '1', {
    description: 'Request Problem Information of CONNECT: whether the remote broker sends reason strings.',
  }),
  request_response_info: setting(flagOrDigit, '0', {
    description: 'Request Response Information of CONNECT: whether the remote broker sends its response information.',
  }),
  request_problem_information: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'Another name of request_problem_info. If both are set, request_problem_information applies.',
  }),
  request_response_information: setting(optional(flagOrDigit, 'unset'), undefined, {
    description: 'Another name of request_response_info. If both are set, request_response_information applies.',
  }),
  // Sample files of NanoMQ have this spelling.
  request_problem_infomation: setting(optional(flagOrDigit, 'unset'), undefined, {
    description:
      'Misspelled name of request_problem_information in files of NanoMQ. It applies instead of request_problem_info, unless request_problem_information is set.',
  }),
  request_response_infomation: setting(optional(flagOrDigit, 'unset'), undefined, {
    description:
      'Misspelled name of request_response_information in files of NanoMQ. It applies instead of request_response_info, unless request_response_information is set.',
  }),
  user_property: setting(textMap, new Map(), { description: 'User properties of the packet.' }),
})

const will = section(
  'Will of the bridge: the message that the remote broker publishes when it loses the connection to the bridge.',
  {
    topic: setting(maybeText, undefined, { description: 'Topic of the will message.' }),
    payload: setting(anyText, '', { description: 'Payload of the will message.' }),
    qos: setting(qos, '0', { description: 'QoS of the will message.' }),
    retain: setting(flag, false, { description: 'Whether the will message is retained.' }),
    properties: section('MQTT 5.0 properties of the will message.', {
      payload_format_indicator: setting(choice(['0', '1']), '0', {
        description: 'Payload Format Indicator of the will message. 1: the payload is UTF-8 text.',
      }),
      message_expiry_interval: setting(integer({ min: 0, max: maxCount }), 0, {
        description: 'Message Expiry Interval of the will message: it is delivered only within this time.',
        unit: 'seconds',
      }),
      will_delay_interval: setting(integer({ min: 0, max: maxCount }), 0, {
        description:
          'Will Delay Interval: time after a disconnection before the will message is published. It is not published if the bridge reconnects before.',
        unit: 'seconds',
      }),
      content_type: setting(maybeText, undefined, { description: 'Content Type of the will message.' }),
      response_topic: setting(maybeText, undefined, { description: 'Response Topic of the will message.' }),
      correlation_data: setting(maybeText, undefined, { description: 'Correlation Data of the will message.' }),
      user_property: setting(textMap, new Map(), { description: 'User properties of the packet.' }),
    }),
  },
)

const quic = {
  quic_keepalive: setting(seconds, 120_000, {
    description: 'Interval at which the bridge sends QUIC keep-alive frames. 0: it sends none.',
  }),
  quic_idle_timeout: setting(seconds, 120_000, {
    description: 'Time without packets after which the QUIC connection is closed; 0: never.',
  }),
  quic_discon_timeout: setting(seconds, 20_000, {
    description: 'Maximum time until the remote broker has acknowledged a QUIC packet.',
  }),
  quic_handshake_timeout: setting(seconds, 60_000, {
    description: 'Maximum duration of the QUIC handshake. 0: 60s.',
  }),
  quic_send_idle_timeout: setting(seconds, 60_000, {
    description: 'Idle time after which QUIC resets its congestion window.',
  }),
  quic_initial_rtt_ms: setting(milliseconds, 800, {
    description:
      'Estimate of the QUIC round-trip time before the first measurement. A number without a unit is in milliseconds.',
  }),
  quic_max_ack_delay_ms: setting(duration({ minMs: 0, maxMs: 16_000, bareUnitMs: 1 }), 100, {
    description: 'Maximum time by which QUIC delays its acknowledgements. A number without a unit is in milliseconds.',
  }),
  quic_multi_stream: setting(flag, false, {
    description:
      'Whether messages are distributed over several QUIC streams by their topics, so that a lost packet delays only the topics of its stream.',
  }),
  multi_stream: setting(optional(flag, 'unset'), undefined, {
    description: 'Another name of quic_multi_stream. If both are set, multi_stream applies.',
  }),
  quic_qos_priority: setting(flag, true, {
    description: 'Whether QoS 1 and 2 messages are sent before QoS 0 messages.',
  }),
  quic_0rtt: setting(flag, true, {
    description: 'Whether a resumed QUIC connection sends data in its first packet (0-RTT).',
  }),
}

const mqttServer = setting(optional(serverUrl, 'none'), undefined, {
  description:
    'URL of the remote broker: mqtt-tcp://host:1883, tls+mqtt-tcp://host:8883, mqtt-quic://host:14567, ws://host:8083/mqtt or wss://host:8084/mqtt.',
})

export const mqttBridge = section('A bridge: this broker connects to the remote broker as an MQTT client.', {
  enable: setting(flag, false, {
    field: 'isEnabled',
    description: 'Whether the bridge is connected. The queue of a disabled bridge is kept.',
  }),
  ...connection,
  server: mqttServer,
  backoff_max: setting(seconds, 5_000, {
    description:
      'Maximum pause between two attempts to connect. The pause begins with 0.5s and doubles with each failure. 0: 5s.',
  }),
  spool_max_messages: setting(optional(integer({ min: 1, max: maxCount }), 'unset'), undefined, {
    description: 'Maximum number of messages that wait on disk for the remote broker. Then spool_full_policy applies.',
    defaultWords: '`bridges.mqtt.cache.disk_cache_size` if it is set and not 0, otherwise `mqtt.max_stored_messages`',
  }),
  spool_full_policy: setting(optional(choice(['refuse', 'drop_newest', 'drop_oldest']), 'unset'), undefined, {
    defaultWords: '`drop_oldest` if the maximum comes from `bridges.mqtt.cache.disk_cache_size`, otherwise `refuse`',
    description:
      'Effect of a full queue (spool_max_messages) on new messages. refuse: it is rejected with reason code 0x97 (before MQTT 5.0: dropped). drop_newest: the bridge does not get it, other subscribers do. drop_oldest: the oldest message of the queue is dropped instead.',
  }),
  max_parallel_processes: setting(integer({ min: 1, max: 65_535 }), 2, {
    description:
      'Number of QUIC streams that topics are distributed over if quic_multi_stream is true. Values above 64 count as 64.',
  }),
  transparent: setting(flag, false, {
    field: 'isTransparent',
    description:
      'Whether each subscription of a client of this broker is made at the remote broker as well. Messages are received with their topics unchanged.',
  }),
  no_local_v4: setting(flag, true, {
    field: 'noLocalBefore5',
    description:
      'Whether the bridge announces itself as a bridge in CONNECT of MQTT 3.1 and 3.1.1, so that the remote broker does not send its own messages back to it.',
  }),
  retry_qos_0: setting(flag, false, {
    field: 'retriesQoS0',
    description:
      'Whether QoS 0 messages are stored on disk while the remote broker is not connected. They are still sent at QoS 0.',
  }),
  will,
  tcp: tcpOptions,
  conn_properties: connectProperties,
  sub_properties: section('MQTT 5.0 properties of SUBSCRIBE that the bridge sends.', {
    identifier: setting(optional(integer({ min: 1, max: 268_435_455 }), 'none'), undefined, {
      description: 'Subscription Identifier of the packet.',
    }),
    user_property: setting(textMap, new Map(), { description: 'User properties of the packet.' }),
  }),
  unsub_properties: section('MQTT 5.0 properties of UNSUBSCRIBE that the bridge sends.', {
    identifier: setting(optional(integer({ min: 1, max: 268_435_455 }), 'none'), undefined, {
      description: 'Subscription Identifier of the packet.',
    }),
    user_property: setting(textMap, new Map(), { description: 'User properties of the packet.' }),
  }),
  ...rules,
  hybrid_bridging: setting(flag, false, {
    description:
      'Whether the bridge tries the addresses of hybrid_servers in turn, and TCP instead of QUIC, when a connection fails.',
  }),
  hybrid_servers: setting(listOf(serverUrl, 64), [], {
    description: 'URLs of the servers that are tried in turn if hybrid_bridging is true.',
  }),
  max_send_queue_len: setting(optional(integer({ min: 1, max: 1_000_000 }), 'unset'), undefined, {
    field: 'maxInFlight',
    description:
      'Maximum number of messages that are sent to the remote broker and not acknowledged. The Receive Maximum of the remote broker applies if it is lower.',
    defaultWords: '1024; with MQTT 3.1 and 3.1.1, 20',
  }),
  max_recv_queue_len: setting(optional(integer({ min: 1, max: 1_000_000 }), 'unset'), undefined, {
    field: 'maxUnacknowledged',
    description:
      'Maximum number of received messages that are not stored yet. It is the Receive Maximum of the bridge; with MQTT 3.1 and 3.1.1, reading pauses at this number.',
    defaultWords: '`mqtt.receive_maximum`',
  }),
  resend_interval: setting(optional(milliseconds, 'unset'), undefined, {
    description:
      'Minimum time between two reconnections that resend_wait causes. A number without a unit is in milliseconds.',
    defaultWords: '5s if resend_wait is set',
  }),
  resend_wait: setting(optional(milliseconds, 'unset'), undefined, {
    description:
      'Maximum time that a message waits for its acknowledgement while the remote broker sends nothing at all. Then the bridge reconnects and sends unacknowledged messages again. A number without a unit is in milliseconds.',
    defaultWords: '3s if resend_interval is set, otherwise unlimited',
  }),
  cancel_timeout: setting(milliseconds, 10_000, {
    description:
      'Maximum time until a connection to the remote broker is open, and again until CONNACK is received. A number without a unit is in milliseconds. 0: 10s.',
  }),
  ...quic,
})

/** Queues while the remote broker is unavailable, as in NanoMQ's files. */
export const diskCache = {
  enable: setting(flag, false, { description: 'Whether NanoMQ stores the messages of sessions on disk.' }),
  disk_cache_size: setting(integer({ min: 0, max: maxCount }), 102_400, {
    description: 'Maximum number of messages that NanoMQ stores.',
  }),
  mounted_file_path: setting(maybeDirectory, undefined, {
    description: 'Directory of the stored messages.',
    defaultWords: 'the current directory',
  }),
  flush_mem_threshold: setting(integer({ min: 1, max: maxCount }), 100, {
    description: 'Number of messages that NanoMQ collects in memory and writes to disk together.',
  }),
  resend_interval: setting(milliseconds, 5_000, {
    description: 'Interval at which NanoMQ sends stored messages again.',
  }),
}

/** The queue of a bridge is always on disk, so few settings have an effect. */
const bridgeCache = {
  enable: setting(flag, false, {
    description: 'Whether NanoMQ stores queued messages on disk.',
  }),
  disk_cache_size: setting(optional(integer({ min: 0, max: maxCount }), 'unset'), undefined, {
    description:
      'Maximum number of messages that wait on disk for each bridge that does not set spool_max_messages. At the maximum, the oldest message is dropped. 0: not set.',
    defaultWords: 'unset: `mqtt.max_stored_messages` applies',
    appliesOn: 'at-once',
  }),
  mounted_file_path: setting(maybeDirectory, undefined, {
    description: 'Directory of the queues.',
  }),
  flush_mem_threshold: setting(integer({ min: 1, max: maxCount }), 100, {
    description: 'Number of messages that NanoMQ collects in memory and writes to disk together.',
  }),
  resend_interval: setting(milliseconds, 5_000, {
    description: 'Interval at which NanoMQ sends stored messages again.',
  }),
}

export const awsBridge = section('A bridge to one endpoint of AWS IoT.', {
  enable: setting(flag, true, {
    description: 'Whether the bridge is connected. The queue of a disabled bridge is kept.',
  }),
  ...connection,
  server: setting(optional(serverAddress, 'none'), undefined, {
    description: 'Address of the AWS IoT endpoint: host:port, or host for port 8883.',
  }),
  max_parallel_processes: setting(integer({ min: 1, max: 65_535 }), 2, {
    description: 'Number of connections to the remote broker.',
  }),
  ...rules,
})

export const bridges = section(
  'Bridges: connections that forward messages to remote brokers and receive messages from them.',
  {
    mqtt: namedSection('Bridges to remote MQTT brokers. The key is the name of the bridge.', {
      entries: {
        cache: section('Queues of all bridges, as files of NanoMQ configure them.', bridgeCache),
      },
      placeholder: 'name',
      named: appliedAtOnce(mqttBridge),
    }),
    aws: namedSection('Bridges to AWS IoT, over TLS and with QoS 0 and 1. The key is the name of the bridge.', {
      entries: {},
      placeholder: 'name',
      named: appliedAtOnce(awsBridge),
    }),
  },
)

export const sqlite = section('Storage of sessions in NanoMQ.', diskCache)
