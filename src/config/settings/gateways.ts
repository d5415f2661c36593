// gateway: protocols of constrained devices. A gateway runs if it has a listener.

import { createAuthenticationSection } from './gateway-authentication.ts'
import { accessRule } from '../schema/access-rule.ts'
import { tlsSettings } from './listeners.ts'
import { bind, type Bind } from '../schema/bind.ts'
import { listOf, record } from '../schema/collections.ts'
import { namespaceName } from '../schema/namespace.ts'
import { path } from '../schema/path-type.ts'
import { duration, size } from '../schema/quantities.ts'
import { appliedAtOnce, namedSection, openSection, section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const anyText = text({ isEmptyAllowed: true })
const maybeText = optional(anyText, 'none')
const dayMs = 86_400_000
const maxPredefinedTopics = 10_000

function createListenerSection<More extends object>(protocol: string, port: number, extraSettings: More = {} as More) {
  const defaultBind: Bind = { host: undefined, port }
  return namedSection(`${protocol} listeners of the gateway. The key is the name of the listener.`, {
    entries: {},
    placeholder: 'name',
    named: section(`A ${protocol} listener.`, {
      enable: setting(boolean, true, { description: 'Whether this listener of the gateway is opened.' }),
      bind: setting(bind, defaultBind, {
        description:
          'Address and port that the listener is bound to. With a port only, node.default_listener_address and node.security_profile determine the address.',
      }),
      max_connections: setting(integer({ min: 1, max: 1_000_000 }), 1_024, {
        description: 'Maximum number of clients of this listener at the same time. A further client is refused.',
      }),
      access_rules: setting(listOf(accessRule), [], {
        description:
          'Addresses from which clients may send packets: "allow 10.0.0.0/8", "deny all". The first rule that matches decides. If none matches, the opposite of the last rule applies.',
      }),
      max_conn_rate: setting(
        text({ form: { pattern: /^[1-9]\d{0,5}\/s$/, name: 'a rate such as 1000/s' } }),
        '1000/s',
        {
          description: 'Maximum number of new clients of this listener per second. A further client is refused.',
        },
      ),
      mountpoint: setting(optional(anyText, 'none'), undefined, {
        description: 'Prefix of every topic of the clients of this listener.',
        defaultWords: 'the mountpoint of the gateway',
      }),
      recbuf: setting(optional(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 'none'), undefined, {
        description: 'Size of the receive buffer of the socket (SO_RCVBUF).',
        defaultWords: '4MB, or as much as the system allows',
      }),
      sndbuf: setting(optional(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 'none'), undefined, {
        description: 'Size of the send buffer of the socket (SO_SNDBUF).',
        defaultWords: 'the default of the operating system',
      }),
      namespace: setting(optional(namespaceName, 'none'), undefined, {
        description: 'Namespace that the clients of this listener belong to.',
      }),
      authentication: createAuthenticationSection('this listener', 'the authentication of the gateway'),
      ...extraSettings,
    }),
  })
}

const certificateIdentity = {
  peer_cert_as_username: tlsSettings.peer_cert_as_username,
  peer_cert_as_clientid: tlsSettings.peer_cert_as_clientid,
}

const dtlsOptions = section('Certificates, keys and options of DTLS 1.2 for this listener.', {
  certfile: tlsSettings.certfile,
  keyfile: setting(tlsSettings.keyfile.type, undefined, {
    description: 'PEM file of the private key: P-256, or RSA with 2048 bits or more.',
  }),
  key_password: tlsSettings.key_password,
  cacertfile: tlsSettings.cacertfile,
  verify: setting(choice(['verify_none', 'verify_peer']), 'verify_none', {
    description:
      'verify_peer: the listener requests a client certificate, and a certificate that clients send must be valid.',
  }),
  fail_if_no_peer_cert: setting(boolean, false, {
    description: 'Whether a client with neither a certificate nor a pre-shared key is refused.',
  }),
  versions: setting(listOf(choice(['dtlsv1.2']), 1), ['dtlsv1.2'], {
    description: 'Versions of DTLS that clients may use.',
  }),
  ciphers: setting(maybeText, undefined, {
    description:
      'Cipher suites in order of preference, separated by colons: ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-ECDSA-AES128-CCM8, ECDHE-RSA-AES128-GCM-SHA256, ECDHE-PSK-AES128-CCM8-SHA256, PSK-AES128-CCM8, PSK-AES128-CCM, PSK-AES128-GCM-SHA256.',
    defaultWords: 'all of them, in this order',
  }),
  psk: setting(listOf(text(), 10_000), [], {
    description:
      'Pre-shared keys, each "identity:key" with the key in hexadecimal. Keys that are stored over the API are used as well, and replace those with the same identity.',
    isSecret: true,
  }),
  psk_file: setting(tlsSettings.psk_file.type, undefined, {
    description: 'File of pre-shared keys, with one line "identity:key" for each. The key is in hexadecimal.',
  }),
  handshake_timeout: setting(duration({ minMs: 1_000, maxMs: 300_000 }), 15_000, {
    description: 'Maximum duration of the DTLS handshake.',
  }),
  connection_id: setting(boolean, false, {
    description:
      'Whether clients that request a connection ID (RFC 9146) get one, so that they are recognized when their address changes.',
  }),
})

function createUdpListeners(port: number, dtlsPort: number) {
  return section('UDP and DTLS listeners of the gateway.', {
    udp: createListenerSection('UDP', port),
    dtls: createListenerSection('DTLS', dtlsPort, { dtls_options: dtlsOptions, ...certificateIdentity }),
  })
}

const commonSettings = {
  authentication: createAuthenticationSection('the gateway', 'the chain of the broker (auth)'),
  enable: setting(boolean, true, { description: 'Whether the gateway runs. It needs at least one listener.' }),
  idle_timeout: setting(duration({ minMs: 1_000, maxMs: dayMs }), 30_000, {
    field: 'idleTimeoutMs',
    description:
      'MQTT-SN and STOMP: maximum time that a client may take to connect. CoAP: time after its last request after which a client without a connection is removed. LwM2M does not use it.',
  }),
  mountpoint: setting(anyText, '', {
    description:
      'Prefix of every topic of the clients of the gateway. ${clientid} and ${username} are replaced by the values of the client.',
  }),
}

const override = section(
  'User name, password and client ID that the gateway uses in place of those that clients send.',
  {
    username: setting(maybeText, undefined, {
      field: 'username',
      description:
        'User name of the clients, for authentication and access rules. ${ConnInfo.clientid} is the client ID.',
    }),
    password: setting(maybeText, undefined, {
      field: 'password',
      description: 'Password of the clients, for authentication.',
      isSecret: true,
    }),
    clientid: setting(maybeText, undefined, {
      field: 'clientId',
      description: 'Client ID of the MQTT session. ${ConnInfo.clientid} is the client ID of the packet.',
    }),
  },
)

const predefinedTopic = record(
  'a predefined topic such as {id = 1, topic = "a/b"}',
  { id: integer({ min: 1, max: 65_535 }), topic: text() },
  ['id', 'topic'],
)

const mqttsn = section('The MQTT-SN 1.2 gateway: MQTT for sensor networks, over UDP.', {
  ...commonSettings,
  gateway_id: setting(integer({ min: 1, max: 255 }), 1, {
    field: 'gatewayId',
    description: 'Gateway ID that GWINFO and ADVERTISE packets contain. Gateways in one network need different IDs.',
  }),
  broadcast: setting(boolean, false, {
    description: 'Whether the gateway broadcasts ADVERTISE packets, so that clients find it.',
  }),
  advertise_interval: setting(duration({ minMs: 1_000, maxMs: dayMs }), 900_000, {
    description: 'Interval at which ADVERTISE is broadcast, if broadcast is true.',
  }),
  multicast: setting(
    optional(
      text({ form: { pattern: /^(22[4-9]|23\d)(\.\d{1,3}){3}$/, name: 'a multicast address such as 239.255.0.1' } }),
      'none',
    ),
    undefined,
    {
      description:
        'Address of a multicast group that the gateway joins on the port of each listener, to respond to SEARCHGW there as well.',
    },
  ),
  enable_qos3: setting(boolean, true, {
    field: 'allowsQosMinusOne',
    description: 'Whether messages with QoS -1 are accepted, also from clients that are not connected.',
  }),
  protocol_2: setting(boolean, false, {
    field: 'speaksVersion2',
    description:
      'Whether clients may use MQTT-SN 2.0 (Committee Specification Draft 01) at the same listeners. The draft may still change.',
  }),
  subs_resume: setting(boolean, false, {
    field: 'resumesTopics',
    description:
      'Whether the gateway registers all topic IDs again as soon as a client resumes its session. If false, it registers a topic ID before the next message of that topic.',
  }),
  predefined: setting(listOf(predefinedTopic, maxPredefinedTopics), [], {
    description: 'Topics with IDs that clients may use without registering them: [{id = 1, topic = "a/b"}].',
  }),
  retry_interval: setting(duration({ minMs: 100, maxMs: 3_600_000 }), 10_000, {
    field: 'retryIntervalMs',
    description: 'Time after which the gateway sends a packet again that the client has not acknowledged.',
  }),
  max_retries: setting(integer({ min: 0, max: 100 }), 3, {
    field: 'maxRetries',
    description:
      'Maximum number of times that a packet is sent again. If the last one is not acknowledged either, the client is disconnected.',
  }),
  clientinfo_override: override,
  listeners: createUdpListeners(1_884, 1_885),
})

const coap = section('The CoAP gateway (RFC 7252): clients publish and subscribe with CoAP requests, over UDP.', {
  ...commonSettings,
  heartbeat: setting(duration({ minMs: 1_000, maxMs: dayMs }), 30_000, {
    field: 'heartbeatMs',
    description:
      'Heartbeat interval of clients with a connection. A client that sends nothing for 1.5 times this interval is disconnected.',
  }),
  connection_required: setting(boolean, false, {
    field: 'requiresConnection',
    description: 'Whether requests without a connection (client ID and token) are refused.',
  }),
  notify_type: setting(choice(['qos', 'non', 'con']), 'qos', {
    field: 'notifyType',
    description: 'Whether notifications are confirmable. qos: only the notifications of QoS 1 and 2 messages are.',
  }),
  subscribe_qos: setting(choice(['coap', 'qos0', 'qos1', 'qos2']), 'coap', {
    description: 'QoS of subscriptions. coap: QoS 1 for a confirmable request, QoS 0 for any other.',
  }),
  publish_qos: setting(choice(['coap', 'qos0', 'qos1', 'qos2']), 'coap', {
    description: 'QoS of published messages. coap: QoS 1 for a confirmable request, QoS 0 for any other.',
  }),
  max_block_size: setting(choice(['16', '32', '64', '128', '256', '512', '1024']), '1024', {
    description: 'Size of a block of a block-wise transfer (RFC 7959).',
    unit: 'bytes',
  }),
  max_body: setting(size({ minBytes: 1_024, maxBytes: 268_435_456 }), 1_048_576, {
    field: 'maxBodyBytes',
    description: 'Maximum size of a request body that is sent in blocks. A larger one is refused with 4.13.',
  }),
  clientinfo_override: override,
  listeners: createUdpListeners(5_683, 5_684),
})

const qos = integer({ min: 0, max: 2 })

function createTranslatorSection(summary: string, topic: string) {
  return section(summary, {
    topic: setting(text(), topic, { description: 'Topic, without the mount point.' }),
    qos: setting(qos, 0, {
      description: 'QoS of these messages. For commands, it is the QoS of the subscription of the device.',
    }),
  })
}

const lwm2m = section(
  'The LwM2M 1.0 and 1.1 gateway: devices register, and MQTT messages in JSON read and write their resources.',
  {
    ...commonSettings,
    mountpoint: setting(anyText, 'lwm2m/${endpoint_name}/', {
      field: 'mountpoint',
      description: 'Prefix of the topics of a device. ${endpoint_name} is the endpoint name of the device.',
    }),
    xml_dir: setting(optional(path('working-directory', { isEmptyAllowed: true }), 'none'), undefined, {
      description:
        'Directory with object definitions (.xml) of the OMA registry, in addition to the built-in objects 0 to 7. It is read again at each change and reload of the configuration.',
    }),
    lifetime_min: setting(duration({ minMs: 1_000, maxMs: dayMs * 365 }), 15_000, {
      description: 'Minimum lifetime of a registration. A shorter one is raised to this value.',
    }),
    lifetime_max: setting(duration({ minMs: 1_000, maxMs: dayMs * 365 }), dayMs, {
      description: 'Maximum lifetime of a registration. A longer one is reduced to this value.',
    }),
    qmode_time_window: setting(duration({ minMs: 1_000, maxMs: dayMs }), 22_000, {
      field: 'queueModeWindowMs',
      description:
        'Time after the last packet of a device in queue mode during which commands are sent to it. Later commands wait until the device sends a packet again.',
    }),
    auto_observe: setting(boolean, false, {
      field: 'observesAll',
      description: 'Whether all objects of a device are observed when it registers.',
    }),
    update_msg_publish_condition: setting(choice(['contains_object_list', 'always']), 'contains_object_list', {
      description:
        'Which registration updates are published to MQTT. contains_object_list: only those with a list of objects. always: all.',
    }),
    translators: section('Topics and QoS of the messages to and from devices.', {
      command: createTranslatorSection(
        'Commands for a device. They wait until the device can receive them, also over a restart of the broker; so the QoS of the subscription is at least 1.',
        'dn/#',
      ),
      response: createTranslatorSection('Responses of devices to commands.', 'up/resp'),
      notify: createTranslatorSection('Notifications: values of observed resources.', 'up/notify'),
      register: createTranslatorSection('Registrations of devices.', 'up/resp'),
      update: createTranslatorSection('Updates of registrations of devices.', 'up/update'),
    }),
    clientinfo_override: override,
    listeners: createUdpListeners(5_783, 5_784),
  },
)

const stomp = section('The STOMP 1.0, 1.1 and 1.2 gateway: text frames over TCP.', {
  ...commonSettings,
  frame: section('Limits of one frame. A client that exceeds them gets ERROR and is disconnected.', {
    max_headers: setting(integer({ min: 2, max: 1_000 }), 10, {
      field: 'maxHeaders',
      description: 'Maximum number of headers of a frame.',
    }),
    max_headers_length: setting(integer({ min: 64, max: 65_536 }), 1_024, {
      field: 'maxHeaderBytes',
      description: 'Maximum length of a header line.',
      unit: 'bytes',
    }),
    max_body_length: setting(size({ minBytes: 0, maxBytes: 268_435_456 }), 65_536, {
      field: 'maxBodyBytes',
      description: 'Maximum length of the body of a frame.',
    }),
  }),
  clientinfo_override: section(
    'User name, password and client ID that the gateway uses in place of those that clients send.',
    {
      username: setting(maybeText, undefined, {
        field: 'username',
        description: 'User name of the clients. ${Packet.headers.login} is the header login of CONNECT.',
      }),
      password: setting(maybeText, undefined, {
        field: 'password',
        description: 'Password of the clients. ${Packet.headers.passcode} is the header passcode of CONNECT.',
        isSecret: true,
      }),
      clientid: setting(maybeText, undefined, {
        field: 'clientId',
        description:
          'Client ID of the MQTT session. ${ConnInfo.clientid} is the header client-id of CONNECT, or a random client ID.',
      }),
    },
  ),
  listeners: section('TCP and TLS listeners of the gateway.', {
    tcp: createListenerSection('TCP', 61_613),
    ssl: createListenerSection('TLS', 61_614, tlsSettings),
  }),
})

export const gateway = appliedAtOnce(
  section('Gateways: listeners for clients of other protocols. A gateway runs if it has a listener.', {
    mqttsn,
    coap,
    lwm2m,
    stomp,
    mqtt: openSection('Settings of the MQTT gateway of NanoMQ.'),
    zmq: openSection('Settings of the ZeroMQ gateway of NanoMQ.'),
  }),
)

/** Tables of the settings of each gateway. */
export const { entries: gatewayEntries } = gateway
