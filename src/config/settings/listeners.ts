// listeners: addresses for clients. `listeners.tcp.bind` belongs to the listener `default`, `listeners.tcp.plant.bind`
// to the one named plant.

import { accessRule, addressRange } from '../schema/access-rule.ts'
import { bind, bindWithPath, type Bind, type BindWithPath } from '../schema/bind.ts'
import { listOf } from '../schema/collections.ts'
import { namespaceName } from '../schema/namespace.ts'
import { path } from '../schema/path.ts'
import { duration, size } from '../schema/quantities.ts'
import { boolean, choice, integer, optional, text, type SettingType } from '../schema/setting-type.ts'
import { namedSection, section, setting as anySetting, type Setting } from '../schema/setting.ts'
import { maxCount } from './node.ts'

/** A listener stays open when one of its settings changes: new connections use the new value. */
function setting<T>(type: SettingType<T>, value: T, words: Parameters<typeof anySetting<T>>[2]): Setting<T> {
  return anySetting(type, value, { appliesOn: 'on-next-connect', ...words })
}

const count = optional(integer({ min: 1, max: maxCount }), 'unlimited')

/** Settings of every kind of listener. */
function listenerSettings<B extends Bind | BindWithPath>(bindType: SettingType<B>, defaultBind: B) {
  return {
    enable: setting(boolean, true, {
      description: 'Whether the listener is opened. Clients of one that is closed are disconnected.',
      appliesOn: 'at-once',
    }),
    bind: setting(bindType, defaultBind, {
      description:
        'Address and port. With a port only, node.default_listener_address and node.security_profile say who can reach it. When it changes, clients of the old address are disconnected.',
      appliesOn: 'at-once',
    }),
    max_connections: setting(count, undefined, {
      description: 'Connections of this listener at one time. One more is closed at once.',
    }),
    max_connection_rate: setting(count, undefined, {
      description:
        'New connections of this listener per second. Who comes too fast waits its turn; if that would take longer than 5 seconds it is closed at once.',
    }),
    messages_rate: setting(count, undefined, {
      description:
        'Messages per second that one client of this listener may publish. The lower of this and limits.messages_rate holds.',
    }),
    bytes_rate: setting(count, undefined, {
      description:
        'Bytes per second that one client of this listener may publish. The lower of this and limits.bytes_rate holds.',
    }),
    deliveries_rate: setting(count, undefined, {
      description:
        'Messages per second that one client of this listener is sent. The lower of this and limits.deliveries_rate holds.',
    }),
    subscriptions_rate: setting(count, undefined, {
      description:
        'Filters per second that one client of this listener may subscribe to. The lower of this and limits.subscriptions_rate holds.',
    }),
    proxy_protocol: setting(boolean, false, {
      description:
        'Whether each connection begins with a PROXY header, version 1 or 2, that names the real client. One that does not is closed.',
    }),
    proxy_protocol_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 3_000, {
      description: 'How long the PROXY header may take to arrive.',
    }),
    proxy_protocol_trusted: setting(listOf(addressRange), [], {
      description:
        'Addresses and networks of the proxies. Other connections are closed. With an empty list each client that reaches the listener can set its address.',
    }),
    access_rules: setting(listOf(accessRule), [], {
      description:
        'Addresses that may connect: "allow 10.0.0.0/8", "deny all". The first rule that fits decides; where none fits, the opposite of the last one. Behind a proxy the real client counts.',
    }),
    namespace: setting(optional(namespaceName, 'none'), undefined, {
      description: 'The namespace that clients of this listener belong to; namespaces.enable has to be true.',
    }),
    mountpoint: setting(text({ isEmptyAllowed: true }), '', {
      description:
        'Put before every topic of the clients of this listener. ${clientid} and ${username} stand for those of the client; one whose value holds + # or / is not let in.',
    }),
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
  keyfile: setting(file, undefined, { description: 'File of the private key, PEM.' }),
  key_password: setting(optional(text(), 'none'), undefined, {
    description: 'Password of the private key.',
    isSecret: true,
  }),
  certfile: setting(file, undefined, { description: 'File of the certificate and what it is signed by, PEM.' }),
}

export const tlsSettings = {
  ...certificateFiles,
  cacertfile: setting(file, undefined, {
    description: 'File of the authorities whose client certificates are believed, PEM.',
  }),
  crlfile: setting(file, undefined, {
    description: 'File of the lists of revoked certificates, PEM; one for each authority.',
  }),
  verify_peer: setting(boolean, false, {
    description: 'Whether clients are asked for a certificate. One that is shown must be good.',
  }),
  fail_if_no_peer_cert: setting(boolean, false, { description: 'Whether a client without a certificate is refused.' }),
  tls_versions: setting(listOf(choice(['tlsv1.2', 'tlsv1.3']), 2), ['tlsv1.2', 'tlsv1.3'], {
    description: 'Versions of TLS that clients may use.',
  }),
  ciphers: setting(optional(text(), 'none'), undefined, {
    description:
      'Ciphers of TLS 1.2 and suites of TLS 1.3 by their OpenSSL names, the preferred first, with colons between them.',
    defaultWords: 'those that Node.js finds safe',
  }),
  psk: setting(boolean, false, {
    description:
      'Whether clients may come in by the pre-shared keys that are stored over the API. A psk_file says so as well.',
  }),
  psk_file: setting(file, undefined, {
    description:
      'File of pre-shared keys, a line "identity:key" for each, the key in hexadecimal. It may be empty: keys that are stored over the API count beside it.',
  }),
  handshake_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    description: 'How long the TLS handshake may take.',
  }),
  peer_cert_as_username: setting(certificateField, undefined, {
    description:
      'Part of the client certificate that counts as username, whatever CONNECT says: cn, dn, crt (DER in base64), pem, md5.',
  }),
  peer_cert_as_clientid: setting(certificateField, undefined, {
    description: 'Part of the client certificate that counts as client id, whatever CONNECT says.',
  }),
  sni: namedSection('More certificates, for clients that ask for another host name. Each has a name of its own here.', {
    entries: {},
    placeholder: 'name',
    named: section('One more certificate.', {
      server_name: setting(optional(serverName, 'none'), undefined, {
        description: 'Host name that the client asks for; *.example.org stands for one level.',
      }),
      ...certificateFiles,
    }),
  }),
}

/** WebSocket, with or without TLS. */
const webSocketSettings = {
  allow_origins: setting(listOf(text({ maxBytes: 300 })), [], {
    description:
      'Origins whose web pages may connect: "https://app.example.org"; "*" stands for all. With an empty list all may, but where only this machine reaches the listener only pages of this machine. Clients that are no web page name no origin and are not asked for one.',
  }),
  fail_if_no_subprotocol: setting(boolean, true, {
    description: 'Whether a client that does not offer the WebSocket subprotocol mqtt is refused.',
  }),
  proxy_address_header: setting(optional(headerName, 'none'), undefined, {
    description:
      'Header in which a reverse proxy names the client, such as X-Forwarded-For; its last address counts. Each client that reaches the listener can set it, so only the proxy must reach it.',
  }),
  max_frame_size: setting(optional(size({ minBytes: 1_024, maxBytes: 268_435_456 }), 'unset'), undefined, {
    description: 'Bytes of one WebSocket message, in all of its frames together. A longer one ends the connection.',
    defaultWords: 'mqtt.max_packet_size and 64KB more, at least 1MB',
  }),
  upgrade_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    description: 'How long a client may take to ask for its WebSocket.',
  }),
}

const quicSettings = {
  ...certificateFiles,
  cacertfile: tlsSettings.cacertfile,
  crlfile: tlsSettings.crlfile,
  verify_peer: tlsSettings.verify_peer,
  fail_if_no_peer_cert: tlsSettings.fail_if_no_peer_cert,
  peer_cert_as_username: tlsSettings.peer_cert_as_username,
  peer_cert_as_clientid: tlsSettings.peer_cert_as_clientid,
  handshake_timeout: setting(duration({ minMs: 100, maxMs: 300_000 }), 15_000, {
    description: 'How long a client may take to open its first stream.',
  }),
  idle_timeout: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 120_000, {
    description: 'A connection on which nothing is heard for so long, not even a sign of life, is over. 0: never.',
  }),
  keepalive_interval: setting(duration({ minMs: 0, maxMs: 86_400_000 }), 40_000, {
    description:
      'Time between two signs of life that every client is asked for, so that those who live are not taken for idle. 0: none is asked for.',
  }),
  address_validation: setting(boolean, true, {
    description:
      'Whether clients prove that they are where they say they are, before anything is kept for them. It costs them a round trip.',
  }),
  max_streams: setting(integer({ min: 0, max: 1_000 }), 16, {
    description: 'Streams that a client may have open at one time beside its first one, for more of its packets.',
  }),
}

function listenersOf<B extends Bind | BindWithPath, More extends object>(
  description: string,
  bindType: SettingType<B>,
  defaultBind: B,
  more: More,
) {
  const entries = { ...listenerSettings(bindType, defaultBind), ...more }
  const named = section('A listener under a name of its own.', entries)
  return namedSection(description, { entries, placeholder: 'name', named })
}

export const listeners = section(
  'Where clients come in. Without any listener here there is one: tcp on port 1883. Once one is described, those described are all there are.',
  {
    tcp: listenersOf('MQTT over TCP.', bind, { host: undefined, port: 1_883 }, {}),
    ssl: listenersOf('MQTT over TLS.', bind, { host: undefined, port: 8_883 }, tlsSettings),
    ws: listenersOf(
      'MQTT over WebSocket.',
      bindWithPath,
      { host: undefined, port: 8_083, path: '/mqtt' },
      webSocketSettings,
    ),
    wss: listenersOf(
      'MQTT over WebSocket and TLS. A listener without a certificate has that of listeners.ssl, and is as strict as that one: it asks for client certificates where that one does, and takes the same versions and ciphers.',
      bindWithPath,
      { host: undefined, port: 8_084, path: '/mqtt' },
      { ...tlsSettings, ...webSocketSettings },
    ),
    quic: listenersOf(
      'MQTT over QUIC, on a UDP port. It needs the package @currentspace/http3; without it the broker starts and says so. A new certificate takes a restart of the listener; a new list of revoked ones does not. Any change of its settings is one: its clients are disconnected.',
      bind,
      { host: undefined, port: 14_567 },
      quicSettings,
    ),
  },
)
