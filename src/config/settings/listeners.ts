// listeners: where clients come in. `listeners.tcp.bind` describes the listener named default,
// `listeners.tcp.plant.bind` the one named plant.

import { bind, bindWithPath, type Bind, type BindWithPath } from '../schema/bind.ts'
import { listOf } from '../schema/collections.ts'
import { boolean, integer, optional, text, type SettingType } from '../schema/setting-type.ts'
import { namedSection, section, setting, type Engine } from '../schema/setting.ts'
import { maxCount } from './node.ts'

const count = optional(integer({ min: 1, max: maxCount }), 'unlimited')

/** Settings that a listener of every kind has. */
function listenerSettings<B extends Bind | BindWithPath>(bindType: SettingType<B>, defaultBind: B) {
  return {
    enable: setting(boolean, true, { description: 'Whether the listener is opened.' }),
    bind: setting(bindType, defaultBind, {
      description:
        'Address and port. With a port only, node.default_listener_address and node.security_profile say who can reach it.',
    }),
    max_connections: setting(count, undefined, {
      description: 'Connections of this listener at one time. One more is closed at once.',
      takes: 'on-next-connect',
    }),
    max_connection_rate: setting(count, undefined, {
      description: 'New connections of this listener per second.',
      takes: 'at-once',
      engine: 'none yet',
    }),
    messages_rate: setting(count, undefined, {
      description: 'Messages per second that one client of this listener may publish.',
      takes: 'at-once',
      engine: 'none yet',
    }),
    bytes_rate: setting(count, undefined, {
      description: 'Bytes per second that one client of this listener may send.',
      takes: 'at-once',
      engine: 'none yet',
    }),
    proxy_protocol: setting(boolean, false, {
      description: 'Whether each connection begins with a PROXY header that names the real client.',
      engine: 'none yet',
    }),
    access_rules: setting(listOf(text()), [], {
      description: 'Addresses that may connect, in order: "allow 10.0.0.0/8", "deny all".',
      takes: 'on-next-connect',
      engine: 'none yet',
    }),
    mountpoint: setting(text({ isEmptyAllowed: true }), '', {
      description: 'Put before every topic of the clients of this listener.',
      takes: 'on-next-connect',
      engine: 'none yet',
    }),
  }
}

const certificateSettings = {
  keyfile: setting(optional(text(), 'none'), undefined, { description: 'File of the private key, PEM.' }),
  key_password: setting(optional(text(), 'none'), undefined, {
    description: 'Password of the private key.',
    isSecret: true,
  }),
  certfile: setting(optional(text(), 'none'), undefined, {
    description: 'File of the certificate and what it is signed by, PEM.',
  }),
  cacertfile: setting(optional(text(), 'none'), undefined, {
    description: 'File of the authorities whose client certificates are believed, PEM.',
  }),
  verify_peer: setting(boolean, false, { description: 'Whether clients are asked for a certificate.' }),
  fail_if_no_peer_cert: setting(boolean, false, { description: 'Whether a client without a certificate is refused.' }),
}

function listenersOf<B extends Bind | BindWithPath, More extends object>(
  description: string,
  bindType: SettingType<B>,
  defaultBind: B,
  more: More,
  engine: Engine,
) {
  const entries = { ...listenerSettings(bindType, defaultBind), ...more }
  const named = section('A listener under a name of its own.', entries)
  return namedSection(description, { entries, placeholder: 'name', named, engine })
}

export const listeners = section(
  'Where clients come in. Without any listener here there is one: tcp on port 1883. Once one is described, those described are all there are.',
  {
    tcp: listenersOf('MQTT over TCP.', bind, { host: undefined, port: 1_883 }, {}, 'present'),
    ssl: listenersOf('MQTT over TLS.', bind, { host: undefined, port: 8_883 }, certificateSettings, 'none yet'),
    ws: listenersOf(
      'MQTT over WebSocket.',
      bindWithPath,
      { host: undefined, port: 8_083, path: '/mqtt' },
      {},
      'none yet',
    ),
    wss: listenersOf(
      'MQTT over WebSocket and TLS. Certificates that are not given are those of listeners.ssl.',
      bindWithPath,
      { host: undefined, port: 8_084, path: '/mqtt' },
      certificateSettings,
      'none yet',
    ),
    quic: listenersOf('MQTT over QUIC.', bind, { host: undefined, port: 14_567 }, certificateSettings, 'none yet'),
  },
)
