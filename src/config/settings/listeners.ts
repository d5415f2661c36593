// listeners: addresses for clients. `listeners.tcp.bind` belongs to the listener `default`, `listeners.tcp.plant.bind`
// to the one named plant.

import { accessRule, addressRange } from '../schema/access-rule.ts'
import { bind, bindWithPath, type Bind, type BindWithPath } from '../schema/bind.ts'
import { listOf } from '../schema/collections.ts'
import { namespaceName } from '../schema/namespace.ts'
import { path } from '../schema/path-type.ts'
import { duration, size } from '../schema/quantities.ts'
import { boolean, choice, integer, optional, text, type SettingType } from '../schema/setting-type.ts'
import {
  namedSection,
  section,
  setting as anySetting,
  type SettingWithField,
  type SettingWords,
} from '../schema/setting.ts'
import { maxCount } from './node.ts'

/** A listener stays open when one of its settings changes: new connections use the new value. */
function setting<T, const Field extends string | undefined = undefined>(
  type: SettingType<T>,
  value: T,
  options: SettingWords<Field>,
): SettingWithField<T, Field> {
  return anySetting(type, value, { appliesOn: 'on-next-connect', ...options })
}

const count = optional(integer({ min: 1, max: maxCount }), 'unlimited')

/** Limits of the connections of a listener. */
const connectionLimits = {
  max_connections: setting(count, undefined, {
    field: 'maxConnections',
    description:
      'Maximum number of connections of this listener at the same time. A further connection is closed at once.',
  }),
  max_connection_rate: setting(count, undefined, {
    field: 'maxConnectionRate',
    description:
      'Maximum number of new connections of this listener per second. Further connections wait; one that would wait longer than 5 seconds is closed at once.',
  }),
}

/** Rates of one client. The section `limits` has the same rates. */
export const clientRates = {
  messages_rate: setting(count, undefined, {
    field: 'messagesPerSecond',
    description:
      'Maximum number of messages per second that one client of this listener publishes. The lower of this value and limits.messages_rate applies.',
  }),
  bytes_rate: setting(count, undefined, {
    field: 'bytesPerSecond',
    description:
      'Maximum number of bytes per second that one client of this listener publishes. The lower of this value and limits.bytes_rate applies.',
  }),
  deliveries_rate: setting(count, undefined, {
    field: 'deliveriesPerSecond',
    description:
      'Maximum number of messages per second that are sent to one client of this listener. The lower of this value and limits.deliveries_rate applies.',
  }),
  subscriptions_rate: setting(count, undefined, {
    field: 'subscriptionsPerSecond',
    description:
      'Maximum number of topic filters per second that one client of this listener subscribes to. The lower of this value and limits.subscriptions_rate applies.',
  }),
}

const proxySettings = {
  proxy_protocol: setting(boolean, false, {
    description:
      'Whether each connection begins with a PROXY header, version 1 or 2, that contains the address of the client. A connection without the header is closed.',
  }),
  proxy_protocol_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 3_000, {
    description: 'Maximum time until the PROXY header of a connection is received. Then the connection is closed.',
  }),
  proxy_protocol_trusted: setting(listOf(addressRange), [], {
    description:
      'Addresses and networks of the proxies. Other connections are closed. With an empty list each client that reaches the listener can set its address.',
  }),
}

const addressSettings = {
  access_rules: setting(listOf(accessRule), [], {
    field: 'accessRules',
    description:
      'Addresses that may connect: "allow 10.0.0.0/8", "deny all". The first rule that matches decides. If none matches, the opposite of the last rule applies. With proxy_protocol, the address of the client behind the proxy is checked.',
  }),
}

/** Settings of the names of clients and of their topics. */
export const clientNames = {
  namespace: setting(optional(namespaceName, 'none'), undefined, {
    field: 'namespace',
    description: 'Namespace that the clients of this listener belong to. It requires namespaces.enable.',
  }),
  mountpoint: setting(text({ isEmptyAllowed: true }), '', {
    field: 'mountpoint',
    description:
      'Prefix of every topic of the clients of this listener. ${clientid} and ${username} are replaced by the values of the client; a client whose value contains +, # or / is refused.',
  }),
}

/** Settings of every kind of listener, except its address. */
export const sharedListenerSettings = {
  ...connectionLimits,
  ...clientRates,
  ...proxySettings,
  ...addressSettings,
  ...clientNames,
}

function createListenerSettings<B extends Bind | BindWithPath>(bindType: SettingType<B>, defaultBind: B) {
  return {
    enable: setting(boolean, true, {
      description: 'Whether the listener is opened. When a listener is disabled, its clients are disconnected.',
      appliesOn: 'at-once',
    }),
    bind: setting(bindType, defaultBind, {
      description:
        'Address and port that the listener is bound to. With a port only, node.default_listener_address and node.security_profile determine the address. When it changes, clients of the old address are disconnected.',
      appliesOn: 'at-once',
    }),
    ...sharedListenerSettings,
  }
}

const file = optional(path('working-directory'), 'none')
const certificateField = optional(choice(['cn', 'dn', 'crt', 'pem', 'md5']), 'none')

const serverName = text({
  maxBytes: 255,
  form: {
    pattern: /^(?:\*\.)?[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63}){0,126}$/,
    name: 'a host name such as mqtt.example.org',
  },
})

const headerName = text({
  maxBytes: 100,
  form: { pattern: /^[A-Za-z0-9-]+$/, name: 'the name of a header such as X-Forwarded-For' },
})

const certificateFiles = {
  keyfile: setting(file, undefined, { description: 'PEM file of the private key.' }),
  key_password: setting(optional(text(), 'none'), undefined, {
    description: 'Password of the private key.',
    isSecret: true,
  }),
  certfile: setting(file, undefined, {
    description: 'PEM file of the certificate, followed by the intermediate certificates.',
  }),
}

/** Options of TLS, without certificates of the listener. */
export const tlsOptions = {
  cacertfile: setting(file, undefined, {
    field: 'caFile',
    description: 'PEM file of the certificate authorities that client certificates are checked against.',
  }),
  crlfile: setting(file, undefined, {
    field: 'crlFile',
    description: 'PEM file of certificate revocation lists, one for each certificate authority.',
  }),
  verify_peer: setting(boolean, false, {
    field: 'verifyPeer',
    description: 'Whether the listener requests a client certificate. A certificate that clients send must be valid.',
  }),
  fail_if_no_peer_cert: setting(boolean, false, {
    field: 'failIfNoPeerCertificate',
    description: 'Whether a client without a certificate is refused.',
  }),
  tls_versions: setting(listOf(choice(['tlsv1.2', 'tlsv1.3']), 2), ['tlsv1.2', 'tlsv1.3'], {
    description: 'Versions of TLS that clients may use. Others are refused in the handshake.',
  }),
  ciphers: setting(optional(text(), 'none'), undefined, {
    field: 'ciphers',
    description:
      'Ciphers of TLS 1.2 and suites of TLS 1.3 by their OpenSSL names, in order of preference, separated by colons.',
    defaultWords: 'the default of Node.js',
  }),
  psk: setting(boolean, false, {
    description:
      'Whether clients may use the pre-shared keys that are stored over the API. Setting psk_file allows this as well.',
  }),
  psk_file: setting(file, undefined, {
    field: 'pskFile',
    description:
      'File of pre-shared keys, with one line "identity:key" for each. The key is in hexadecimal. The file may have comments only: keys that are stored over the API are used as well. An alarm reports a file without any text.',
  }),
  handshake_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    field: 'handshakeTimeoutMs',
    description: 'Maximum duration of the TLS handshake.',
  }),
}

/** Names of clients that their certificates contain. */
export const certificateNames = {
  peer_cert_as_username: setting(certificateField, undefined, {
    field: 'peerCertificateAsUsername',
    description:
      'Part of the client certificate that is the user name of the client, instead of that of CONNECT: cn, dn, crt (DER in base64), pem, md5.',
  }),
  peer_cert_as_clientid: setting(certificateField, undefined, {
    field: 'peerCertificateAsClientId',
    description: 'Part of the client certificate that is the client ID, instead of that of CONNECT.',
  }),
}

export const tlsSettings = {
  ...certificateFiles,
  ...tlsOptions,
  ...certificateNames,
  sni: namedSection(
    'Additional certificates, for clients that request another host name (SNI). The key is a label without effect.',
    {
      entries: {},
      placeholder: 'name',
      named: section('A certificate for one host name.', {
        server_name: setting(optional(serverName, 'none'), undefined, {
          description: 'Host name that the client requests. In *.example.org, the asterisk stands for one level.',
        }),
        ...certificateFiles,
      }),
    },
  ),
}

/** WebSocket, with or without TLS. */
export const webSocketSettings = {
  allow_origins: setting(listOf(text({ maxBytes: 300 })), [], {
    field: 'allowedOrigins',
    description:
      'Origins of web pages that may connect, such as "https://app.example.org"; "*" allows all. If the list is empty, all origins are allowed, except at a listener on loopback, which allows only pages of this machine. Clients other than browsers send no origin and are not restricted.',
  }),
  fail_if_no_subprotocol: setting(boolean, true, {
    field: 'failsWithoutSubprotocol',
    description: 'Whether a client that does not offer the WebSocket subprotocol mqtt is refused.',
  }),
  proxy_address_header: setting(optional(headerName, 'none'), undefined, {
    description:
      'HTTP header in which a reverse proxy sends the address of the client, such as X-Forwarded-For. Its last address is used. Every client that reaches the listener can set the header, so only the proxy must be able to reach the listener.',
  }),
  max_frame_size: setting(optional(size({ minBytes: 1_024, maxBytes: 268_435_456 }), 'unset'), undefined, {
    description:
      'Maximum size of one WebSocket message, which may consist of several frames. A larger one ends the connection.',
    defaultWords: 'mqtt.max_packet_size plus 64KB, at least 1MB',
  }),
  upgrade_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    field: 'upgradeTimeoutMs',
    description: 'Maximum time until a client has sent the HTTP request for its WebSocket.',
  }),
}

/** QUIC, without its certificates. */
export const quicOptions = {
  handshake_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    field: 'streamTimeoutMs',
    description: 'Maximum time until a client has opened its first QUIC stream.',
  }),
  idle_timeout: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 120_000, {
    field: 'idleTimeoutMs',
    description: 'Time without packets, keep-alive frames included, after which a QUIC connection is closed. 0: never.',
  }),
  keepalive_interval: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 40_000, {
    field: 'keepAliveMs',
    description:
      'Interval at which the broker sends keep-alive frames to each client, so that a client that is alive does not count as idle. 0: no keep-alive frames.',
  }),
  address_validation: setting(boolean, true, {
    field: 'checksAddresses',
    description:
      'Whether a client must prove its address (QUIC Retry) before the broker stores anything for it. It costs each client a round trip.',
  }),
  max_streams: setting(integer({ min: 0, max: 1_000 }), 16, {
    field: 'maxDataStreams',
    description: 'Maximum number of QUIC streams that a client may open in addition to its first one.',
  }),
}

const quicSettings = {
  ...certificateFiles,
  cacertfile: tlsOptions.cacertfile,
  crlfile: tlsOptions.crlfile,
  verify_peer: tlsOptions.verify_peer,
  fail_if_no_peer_cert: tlsOptions.fail_if_no_peer_cert,
  ...certificateNames,
  ...quicOptions,
}

function createListenerSection<B extends Bind | BindWithPath, More extends object>(
  description: string,
  bindType: SettingType<B>,
  defaultBind: B,
  extraSettings: More,
) {
  const entries = { ...createListenerSettings(bindType, defaultBind), ...extraSettings }
  const named = section('A further listener of this kind. The key is its name.', entries)
  return namedSection(description, { entries, placeholder: 'name', named })
}

export const listeners = section(
  'Listeners: the addresses and ports on which clients connect. Without a listener in the configuration, the broker opens tcp on port 1883; otherwise it opens the configured listeners only.',
  {
    tcp: createListenerSection('MQTT over TCP.', bind, { host: undefined, port: 1_883 }, {}),
    ssl: createListenerSection('MQTT over TLS.', bind, { host: undefined, port: 8_883 }, tlsSettings),
    ws: createListenerSection(
      'MQTT over WebSocket.',
      bindWithPath,
      { host: undefined, port: 8_083, path: '/mqtt' },
      webSocketSettings,
    ),
    wss: createListenerSection(
      'MQTT over WebSocket and TLS. A listener without a certificate uses the certificate of listeners.ssl, and also its requirements: client certificates, TLS versions and ciphers.',
      bindWithPath,
      { host: undefined, port: 8_084, path: '/mqtt' },
      { ...tlsSettings, ...webSocketSettings },
    ),
    quic: createListenerSection(
      'MQTT over QUIC, on a UDP port. It needs the package @currentspace/http3; without it, the broker logs a warning and starts without this listener. Each changed setting, and a renewed certificate, reopens the listener and so disconnects its clients; a renewed revocation list does not.',
      bind,
      { host: undefined, port: 14_567 },
      quicSettings,
    ),
  },
)
