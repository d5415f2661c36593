// gateway: protocols of constrained devices. A gateway runs if it has a listener.

import { authenticationOf } from './gateway-authentication.ts'
import { accessRule } from '../schema/access-rule.ts'
import { tlsSettings } from './listeners.ts'
import { bind, type Bind } from '../schema/bind.ts'
import { listOf, record } from '../schema/collections.ts'
import { namespaceName } from '../schema/namespace.ts'
import { path } from '../schema/path.ts'
import { duration, size } from '../schema/quantities.ts'
import { appliedAtOnce, namedSection, openSection, section, setting } from '../schema/setting.ts'
import { boolean, choice, integer, optional, text } from '../schema/setting-type.ts'

const anyText = text({ isEmptyAllowed: true })
const maybeText = optional(anyText, 'none')
const dayMs = 86_400_000
const maxPredefinedTopics = 10_000

function socketsOf<More extends object>(what: string, port: number, more: More = {} as More) {
  const defaultBind: Bind = { host: undefined, port }
  return namedSection(`${what} sockets, by their names.`, {
    entries: {},
    placeholder: 'name',
    named: section(`One ${what} socket.`, {
      enable: setting(boolean, true, { description: 'Whether the socket is opened.' }),
      bind: setting(bind, defaultBind, {
        description:
          'Address and port. With a port only, node.default_listener_address and node.security_profile say who can reach it.',
      }),
      max_connections: setting(integer({ min: 1, max: 1_000_000 }), 1_024, {
        description: 'Clients of this socket at one time.',
      }),
      access_rules: setting(listOf(accessRule), [], {
        description: 'Addresses that may send: "allow 10.0.0.0/8", "deny all". The first rule that fits decides.',
      }),
      max_conn_rate: setting(
        text({ form: { pattern: /^[1-9]\d{0,5}\/s$/, name: 'a rate such as 1000/s' } }),
        '1000/s',
        {
          description: 'New clients of this socket per second; one more is refused.',
        },
      ),
      mountpoint: setting(optional(anyText, 'none'), undefined, {
        description: 'Put before every topic of clients of this socket.',
        defaultWords: 'as of the gateway',
      }),
      recbuf: setting(optional(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 'none'), undefined, {
        description: 'What the system holds of what has come to the socket.',
        defaultWords: '4MB, or as much as the system allows',
      }),
      sndbuf: setting(optional(size({ minBytes: 1_024, maxBytes: 1_073_741_824 }), 'none'), undefined, {
        description: 'What the system holds of what leaves the socket.',
        defaultWords: 'as of the system',
      }),
      namespace: setting(optional(namespaceName, 'none'), undefined, {
        description: 'The namespace that clients of this socket belong to.',
      }),
      authentication: authenticationOf('this socket', 'the authentication of the gateway'),
      ...more,
    }),
  })
}

const certificateIdentity = {
  peer_cert_as_username: tlsSettings.peer_cert_as_username,
  peer_cert_as_clientid: tlsSettings.peer_cert_as_clientid,
}

const dtlsOptions = section('DTLS 1.2 of this socket.', {
  certfile: tlsSettings.certfile,
  keyfile: setting(tlsSettings.keyfile.type, undefined, {
    description: 'File of the private key, PEM: of P-256, or of RSA with 2048 bits or more.',
  }),
  key_password: tlsSettings.key_password,
  cacertfile: tlsSettings.cacertfile,
  verify: setting(choice(['verify_none', 'verify_peer']), 'verify_none', {
    description: 'verify_peer: clients are asked for a certificate. One that is shown must be good.',
  }),
  fail_if_no_peer_cert: setting(boolean, false, {
    description: 'Whether a client that shows neither a certificate nor a pre-shared key is refused.',
  }),
  versions: setting(listOf(choice(['dtlsv1.2']), 1), ['dtlsv1.2'], { description: 'Versions of DTLS.' }),
  ciphers: setting(maybeText, undefined, {
    description:
      'Cipher suites, the preferred first, with colons between them: ECDHE-ECDSA-AES128-GCM-SHA256, ECDHE-ECDSA-AES128-CCM8, ECDHE-RSA-AES128-GCM-SHA256, ECDHE-PSK-AES128-CCM8-SHA256, PSK-AES128-CCM8, PSK-AES128-CCM, PSK-AES128-GCM-SHA256.',
    defaultWords: 'all of them, in this order',
  }),
  psk: setting(listOf(text(), 10_000), [], {
    description:
      'Pre-shared keys, each "identity:key" with the key in hexadecimal. Keys that are stored over the API count beside them, and instead of those with the same identity.',
    isSecret: true,
  }),
  psk_file: setting(tlsSettings.psk_file.type, undefined, {
    description: 'File of pre-shared keys, a line "identity:key" for each, the key in hexadecimal.',
  }),
  handshake_timeout: setting(duration({ minMs: 1_000, maxMs: 300_000 }), 15_000, {
    description: 'How long the DTLS handshake may take.',
  }),
  connection_id: setting(boolean, false, {
    description:
      'Whether clients that ask for it get a connection ID (RFC 9146), by which they are known when their address changes.',
  }),
})

function udpListeners(port: number, dtlsPort: number) {
  return section('Where datagrams come in.', {
    udp: socketsOf('UDP', port),
    dtls: socketsOf('DTLS', dtlsPort, { dtls_options: dtlsOptions, ...certificateIdentity }),
  })
}

const commonSettings = {
  authentication: authenticationOf('the gateway', 'the chain of the broker (auth)'),
  enable: setting(boolean, true, { description: 'Whether the gateway runs, where it has a listener.' }),
  idle_timeout: setting(duration({ minMs: 1_000, maxMs: dayMs }), 30_000, {
    description: 'How long a client may take to finish connecting.',
  }),
  mountpoint: setting(anyText, '', {
    description: 'Put before every topic of its clients. ${clientid} and ${username} stand for those of the client.',
  }),
}

const override = section('What clients are known by in place of what their protocol says.', {
  username: setting(maybeText, undefined, { description: 'User name; ${ConnInfo.clientid} is the client ID.' }),
  password: setting(maybeText, undefined, { description: 'Password.', isSecret: true }),
  clientid: setting(maybeText, undefined, { description: 'Client ID; ${ConnInfo.clientid} is the one of the packet.' }),
})

const predefinedTopic = record(
  'a predefined topic such as {id = 1, topic = "a/b"}',
  { id: integer({ min: 1, max: 65_535 }), topic: text() },
  ['id', 'topic'],
)

const mqttsn = section('MQTT-SN 1.2: MQTT for sensors, over UDP.', {
  ...commonSettings,
  gateway_id: setting(integer({ min: 1, max: 255 }), 1, { description: 'The ID that GWINFO and ADVERTISE give.' }),
  broadcast: setting(boolean, false, { description: 'Whether ADVERTISE is broadcast.' }),
  advertise_interval: setting(duration({ minMs: 1_000, maxMs: dayMs }), 900_000, {
    description: 'How often ADVERTISE is broadcast.',
  }),
  multicast: setting(
    optional(
      text({ form: { pattern: /^(22[4-9]|23\d)(\.\d{1,3}){3}$/, name: 'a multicast address such as 239.255.0.1' } }),
      'none',
    ),
    undefined,
    {
      description:
        'A multicast group where SEARCHGW is answered, on the port of each socket, besides the socket itself.',
    },
  ),
  enable_qos3: setting(boolean, true, {
    description: 'Whether messages with QoS -1 are taken, from clients that are not connected too.',
  }),
  protocol_2: setting(boolean, false, {
    description:
      'Whether clients may speak MQTT-SN 2.0 (Committee Specification Draft 01) on the same sockets. The draft may still change.',
  }),
  subs_resume: setting(boolean, false, {
    description:
      'Whether a client that comes back to its session is told all its topic IDs at once. If false, with the next message of each topic.',
  }),
  predefined: setting(listOf(predefinedTopic, maxPredefinedTopics), [], {
    description: 'Topics with an ID that all clients know: [{id = 1, topic = "a/b"}].',
  }),
  retry_interval: setting(duration({ minMs: 100, maxMs: 3_600_000 }), 10_000, {
    description: 'After this time without an answer a packet is sent again.',
  }),
  max_retries: setting(integer({ min: 0, max: 100 }), 3, {
    description: 'How often a packet is sent again before the client counts as lost.',
  }),
  clientinfo_override: override,
  listeners: udpListeners(1_884, 1_885),
})

const coap = section('CoAP (RFC 7252): publish and subscribe with requests, over UDP.', {
  ...commonSettings,
  heartbeat: setting(duration({ minMs: 1_000, maxMs: dayMs }), 30_000, {
    description: 'How often a client in connection mode has to be heard. After 1.5 times as long it is lost.',
  }),
  connection_required: setting(boolean, false, {
    description: 'Whether requests without a connection (client ID and token) are refused.',
  }),
  notify_type: setting(choice(['qos', 'non', 'con']), 'qos', {
    description: 'Whether notifications ask for a confirmation. qos: those of messages with QoS 1 and 2 do.',
  }),
  subscribe_qos: setting(choice(['coap', 'qos0', 'qos1', 'qos2']), 'coap', {
    description: 'QoS of subscriptions. coap: a confirmable request asks for QoS 1, else 0.',
  }),
  publish_qos: setting(choice(['coap', 'qos0', 'qos1', 'qos2']), 'coap', {
    description: 'QoS of messages. coap: a confirmable request publishes with QoS 1, else 0.',
  }),
  max_block_size: setting(choice(['16', '32', '64', '128', '256', '512', '1024']), '1024', {
    description: 'Size of a block of a block-wise transfer (RFC 7959).',
    unit: 'bytes',
  }),
  max_body: setting(size({ minBytes: 1_024, maxBytes: 268_435_456 }), 1_048_576, {
    description: 'Maximum size of a body that comes in blocks.',
  }),
  clientinfo_override: override,
  listeners: udpListeners(5_683, 5_684),
})

const qos = integer({ min: 0, max: 2 })

function translator(what: string, topic: string) {
  return section(what, {
    topic: setting(text(), topic, { description: 'Topic below the mount point.' }),
    qos: setting(qos, 0, { description: 'QoS of the subscription or of the messages.' }),
  })
}

const lwm2m = section('LwM2M 1.0 and 1.1: devices register, and are read and written by JSON messages.', {
  ...commonSettings,
  mountpoint: setting(anyText, 'lwm2m/${endpoint_name}/', {
    description: 'Put before the topics of a device. ${endpoint_name} stands for its name.',
  }),
  xml_dir: setting(optional(path('working-directory', { isEmptyAllowed: true }), 'none'), undefined, {
    description:
      'Directory with object definitions (.xml) of the registry of OMA, beside objects 0 to 7. It is read when the gateway changes.',
  }),
  lifetime_min: setting(duration({ minMs: 1_000, maxMs: dayMs * 365 }), 15_000, {
    description: 'A shorter lifetime of a registration is made this long.',
  }),
  lifetime_max: setting(duration({ minMs: 1_000, maxMs: dayMs * 365 }), dayMs, {
    description: 'A longer lifetime of a registration is made this long.',
  }),
  qmode_time_window: setting(duration({ minMs: 1_000, maxMs: dayMs }), 22_000, {
    description:
      'A device in queue mode is sent commands so long after it was heard; later ones wait until it is heard again.',
  }),
  auto_observe: setting(boolean, false, {
    description: 'Whether all objects of a device are observed when it registers.',
  }),
  update_msg_publish_condition: setting(choice(['contains_object_list', 'always']), 'contains_object_list', {
    description: 'Which registration updates are published.',
  }),
  translators: section('Topics and QoS of what devices are told and what they say.', {
    command: translator(
      'Commands for a device. They wait for it, also over a restart; for that they are subscribed to with QoS 1 at least.',
      'dn/#',
    ),
    response: translator('Answers to commands.', 'up/resp'),
    notify: translator('Values that are observed.', 'up/notify'),
    register: translator('Registrations.', 'up/resp'),
    update: translator('Updates of registrations.', 'up/update'),
  }),
  clientinfo_override: override,
  listeners: udpListeners(5_783, 5_784),
})

const stomp = section('STOMP 1.0, 1.1 and 1.2: text frames over TCP.', {
  ...commonSettings,
  frame: section('Limits of one frame. A client that exceeds them gets ERROR and is disconnected.', {
    max_headers: setting(integer({ min: 2, max: 1_000 }), 10, { description: 'Headers of a frame.' }),
    max_headers_length: setting(integer({ min: 64, max: 65_536 }), 1_024, {
      description: 'Length of a header line.',
      unit: 'bytes',
    }),
    max_body_length: setting(size({ minBytes: 0, maxBytes: 268_435_456 }), 65_536, {
      description: 'Length of a body.',
    }),
  }),
  clientinfo_override: section('What clients are known by in place of what their protocol says.', {
    username: setting(maybeText, undefined, {
      description: 'User name; ${Packet.headers.login} is the one of CONNECT.',
    }),
    password: setting(maybeText, undefined, {
      description: 'Password; ${Packet.headers.passcode} is the one of CONNECT.',
      isSecret: true,
    }),
    clientid: setting(maybeText, undefined, {
      description: 'Client ID; ${ConnInfo.clientid} is the one of the header client-id, or a random one.',
    }),
  }),
  listeners: section('Where connections come in.', {
    tcp: socketsOf('TCP', 61_613),
    ssl: socketsOf('TLS', 61_614, tlsSettings),
  }),
})

export const gateway = appliedAtOnce(
  section('Gateways to other protocols. Each runs where it has a listener.', {
    mqttsn,
    coap,
    lwm2m,
    stomp,
    mqtt: openSection('The MQTT gateway of NanoMQ.'),
    zmq: openSection('The ZeroMQ gateway of NanoMQ.'),
  }),
)
