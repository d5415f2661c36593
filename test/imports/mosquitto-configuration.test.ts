import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isPassword } from '../../src/access/index.ts'
import {
  convertConfiguration,
  convertPasswordFile,
  selectIncludedNames,
  type ConfigurationFile,
} from '../../lib/imports/index.ts'
import { loadConfig } from '../../src/config/index.ts'

const name = 'mosquitto.conf'

function convert(lines: readonly string[], included?: ReadonlyMap<string, readonly ConfigurationFile[]>) {
  const options = { aclFile: '/acl', ...(included === undefined ? {} : { included }) }
  const { value, skipped, stricter } = convertConfiguration({ name, text: lines.join('\n') }, options)
  const settings = value.text.trimEnd().split('\n').slice(1)
  const loaded = loadConfig({ text: value.text, overrides: [], readFile: () => ({ text: '' }) })
  // `auth.password.NAME` is a user, so that no setting there is what it seems to be.
  if ('config' in loaded) assert.deepEqual(loaded.config.auth.credentials, [])
  const errors = 'errors' in loaded ? loaded.errors.map(({ key, message }) => `${key}: ${message}`) : []
  return { value, settings, skipped, stricter: stricter.join('\n'), errors }
}

const network = 'listener 1883 0.0.0.0'

interface Case {
  readonly of: readonly string[]
  /** Settings that must be there; those with `!` before them must not. */
  readonly has: readonly string[]
  readonly skipped?: readonly RegExp[]
  readonly stricter?: RegExp
}

const none = /^$/
const inV2 = /^allow_anonymous is not set: it is false, as in mosquitto 2/m

const cases: readonly Case[] = [
  // Listeners, and who may connect without a name.
  { of: [], has: ['listeners.tcp.default.bind = "127.0.0.1:1883"', 'auth.allow_anonymous = true'], stricter: none },
  { of: ['allow_anonymous false'], has: ['auth.allow_anonymous = false'], stricter: none },
  {
    of: ['port 1884'],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1884"', 'auth.allow_anonymous = false'],
    stricter: inV2,
  },
  {
    of: ['bind_address 10.0.0.1'],
    has: ['listeners.tcp.default.bind = "10.0.0.1:1883"', 'auth.allow_anonymous = false'],
    stricter: inV2,
  },
  {
    of: [network],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1883"', 'auth.allow_anonymous = false'],
    stricter: inV2,
  },
  {
    of: [network, 'allow_anonymous true'],
    has: ['auth.allow_anonymous = true', 'auth.no_match = allow'],
    stricter: none,
  },
  { of: [network, 'allow_anonymous 1'], has: ['auth.allow_anonymous = true'], stricter: none },
  {
    of: ['listener 1883', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1883"'],
    stricter: /IPv4 addresses only/,
  },
  {
    of: ['listener 1883 ::', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "[::]:1883"'],
    stricter: none,
  },
  {
    of: ['listener 1883', 'socket_domain ipv4', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1883"'],
    stricter: none,
  },
  {
    of: ['listener 1883', 'socket_domain ipv6', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "[::1]:1883"'],
    stricter: /socket_domain ipv6: the listener is on loopback/,
  },
  {
    of: ['listener 1883', 'bind_interface eth1', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "127.0.0.1:1883"'],
    stricter: /bind_interface eth1: the listener is on loopback/,
  },
  {
    of: ['listener 1883 10.0.0.1', 'bind_interface eth1', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "10.0.0.1:1883"'],
    stricter: none,
  },
  {
    of: ['listener 1883 127.0.0.1', 'listener 1883 10.0.0.1', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "127.0.0.1:1883"', 'listeners.tcp.port1883.bind = "10.0.0.1:1883"'],
    stricter: none,
  },
  {
    // Options behind a listener that is not imported belong to that one.
    of: [network, 'allow_anonymous true', 'listener 0 /run/m.sock', 'mount_point site/'],
    has: ['!listeners.tcp.default.mountpoint = "site/"'],
    skipped: [/line 3: listener 0 \/run\/m\.sock: only TCP ports can be imported/],
    stricter: none,
  },
  {
    of: [network, 'protocol websockets', 'websockets_origin https://a.example', 'allow_anonymous true'],
    has: ['listeners.ws.default.allow_origins = ["https://a.example"]', 'listeners.tcp.default.enable = false'],
    stricter: none,
  },
  {
    of: [network, 'protocol mqttsn', 'allow_anonymous true'],
    has: ['listeners.tcp.default.enable = false'],
    stricter: /no listener with the protocol mqttsn/,
  },
  {
    of: [network, 'max_connections -1', 'mount_point a/', 'allow_anonymous true'],
    has: ['listeners.tcp.default.mountpoint = "a/"', '!listeners.tcp.default.max_connections = -1'],
    stricter: none,
  },
  {
    of: [network, 'mount_point ${clientid}/', 'allow_anonymous true'],
    has: ['listeners.tcp.default.enable = false'],
    stricter: /mount point contains/,
  },
  {
    // mosquitto compares `topic readwrite a/#` with `mnt/a/x`, Godwit would compare it with `a/x`.
    of: [network, 'mount_point mnt/', 'acl_file /a', 'allow_anonymous true'],
    has: ['listeners.tcp.default.enable = false'],
    stricter: /compares its rules with the topics below its mount point/,
  },
  // Users and rules.
  {
    of: [network, 'password_file /pw', 'allow_anonymous true'],
    has: ['auth.allow_anonymous = false'],
    stricter: /a client without a password could take any user name/,
  },
  {
    of: [network, 'password_file /pw', 'allow_anonymous false'],
    has: ['auth.allow_anonymous = false'],
    stricter: none,
  },
  {
    of: [network, 'acl_file /a', 'allow_anonymous true'],
    has: ['auth.acl.file = "/acl"', 'auth.no_match = deny', 'auth.allow_anonymous = true'],
    stricter: none,
  },
  {
    of: [network, 'plugin /x.so', 'plugin_opt_a b', 'allow_anonymous true'],
    has: ['auth.no_match = deny', 'auth.allow_anonymous = false'],
    skipped: [/plugin: plugins are not imported/],
    stricter: /a plugin may have denied anything/,
  },
  {
    of: [network, 'auth_plugin /x.so', 'acl_file /a', 'password_file /pw'],
    has: ['auth.no_match = deny', '!auth.acl.file = "/acl"', 'auth.allow_anonymous = false'],
    skipped: [/auth_plugin: plugins/],
    stricter: /a plugin may have denied anything/,
  },
  {
    of: [network, 'use_username_as_clientid true', 'password_file /pw', 'allow_anonymous false'],
    has: ['auth.allow_anonymous = false'],
    stricter: /%c in the ACL file stands for the user name/,
  },
  {
    of: [network, 'use_username_as_clientid true', 'allow_anonymous true'],
    has: ['auth.allow_anonymous = false'],
    stricter: /%c in the ACL file/,
  },
  // TLS.
  {
    of: [
      network,
      'certfile /c',
      'keyfile /k',
      'cafile /ca',
      'crlfile /crl',
      'require_certificate 1',
      'use_identity_as_username 1',
      'allow_anonymous false',
    ],
    has: [
      'listeners.ssl.default.certfile = "/c"',
      'listeners.ssl.default.cacertfile = "/ca"',
      'listeners.ssl.default.crlfile = "/crl"',
      'listeners.ssl.default.verify_peer = true',
      'listeners.ssl.default.fail_if_no_peer_cert = true',
      'listeners.ssl.default.peer_cert_as_username = cn',
      'auth.certificate.enable = true',
      'listeners.tcp.default.enable = false',
    ],
    stricter: none,
  },
  {
    of: [
      network,
      'certfile /c',
      'keyfile /k',
      'cafile /ca',
      'require_certificate true',
      'use_subject_as_username true',
      'allow_anonymous false',
    ],
    has: ['listeners.ssl.default.peer_cert_as_username = dn', 'auth.certificate.enable = true'],
    stricter: none,
  },
  {
    of: [
      network,
      'certfile /c',
      'keyfile /k',
      'cafile /ca',
      'require_certificate true',
      'password_file /pw',
      'allow_anonymous false',
    ],
    has: ['listeners.ssl.default.fail_if_no_peer_cert = true', '!auth.certificate.enable = true'],
    stricter: none,
  },
  {
    of: [network, 'certfile /c', 'keyfile /k', 'capath /ca', 'require_certificate true', 'allow_anonymous true'],
    has: ['listeners.ssl.default.enable = false'],
    stricter: /authorities in one file/,
  },
  {
    of: [network, 'certfile /c', 'keyfile /k', 'cafile /ca', 'use_identity_as_username true', 'allow_anonymous true'],
    has: ['listeners.ssl.default.enable = false'],
    stricter: /does not require one/,
  },
  {
    of: [network, 'cafile /ca', 'require_certificate true', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1883"', '!listeners.tcp.default.cacertfile = "/ca"'],
    stricter: none,
  },
  {
    of: [
      network,
      'certfile /c',
      'keyfile /k',
      'tls_version tlsv1.1',
      'ciphers A:B',
      'ciphers_tls1.3 C',
      'allow_anonymous true',
    ],
    has: ['listeners.ssl.default.ciphers = "A:B:C"'],
    stricter: /clients need TLS 1\.2 or 1\.3/,
  },
  {
    of: [network, 'certfile /c', 'keyfile /k', 'tls_version tlsv1.3', 'allow_anonymous true'],
    has: ['listeners.ssl.default.tls_versions = [tlsv1.3]'],
    stricter: none,
  },
  {
    of: [network, 'psk_hint h', 'psk_file /psk', 'use_identity_as_username true', 'allow_anonymous false'],
    has: ['listeners.ssl.default.psk_file = "/psk"', 'auth.psk.enable = true'],
    stricter: none,
  },
  {
    of: ['psk_file /psk', network, 'psk_hint h', 'password_file /pw', 'allow_anonymous false'],
    has: ['listeners.ssl.default.psk_file = "/psk"', '!auth.psk.enable = true'],
    stricter: none,
  },
  {
    of: [network, 'psk_file /psk', 'allow_anonymous true'],
    has: ['listeners.tcp.default.bind = "0.0.0.0:1883"'],
    stricter: none,
  },
  // Limits and the rest.
  {
    of: ['max_queued_messages 5', 'max_inflight_messages 0', 'max_packet_size x', 'retain_available 0'],
    has: ['mqtt.max_mqueue_len = 5', 'mqtt.retain_available = false'],
    skipped: [/max_inflight_messages: .* no limit/, /max_packet_size: it is not a number/],
    stricter: none,
  },
  { of: ['log_dest stdout', 'pid_file /run/m', 'auto_id_prefix x', '# comment', '  '], has: [], stricter: none },
  {
    of: ['connection north', 'address h:1', 'topic # out', 'remote_password secret', 'bridge_cafile /x'],
    has: [],
    skipped: [/line 1: connection: bridges are not imported/],
    stricter: none,
  },
  {
    of: ['something_new 1', 'max_keepalive 5', 'persistent_client_expiration 1d'],
    has: [],
    skipped: [
      /something_new: Godwit has no such setting/,
      /max_keepalive: set mqtt\.server_keepalive/,
      /persistent_client_expiration/,
    ],
    stricter: none,
  },
  // Listeners with policies of their own.
  {
    of: [
      'per_listener_settings true',
      'listener 1883 127.0.0.1',
      'allow_anonymous true',
      'listener 8883 0.0.0.0',
      'allow_anonymous false',
      'password_file /pw',
      'acl_file /a',
    ],
    has: [
      'auth.allow_anonymous = false',
      'auth.no_match = deny',
      'listeners.tcp.port8883.bind = "0.0.0.0:8883"',
      '!listeners.tcp.default.enable = false',
    ],
    stricter:
      /^mosquitto\.conf, line 2: listener 1883 127\.0\.0\.1: its clients get the users and rules of the other listeners/,
  },
  {
    of: [
      'per_listener_settings true',
      'listener 1883 0.0.0.0',
      'password_file /one',
      'listener 1884 0.0.0.0',
      'password_file /other',
      'allow_anonymous false',
    ],
    has: [
      'listeners.tcp.port1884.enable = false',
      '!listeners.tcp.default.enable = false',
      'auth.allow_anonymous = false',
    ],
    stricter:
      /line 4: listener 1884 0\.0\.0\.0: the listener is disabled: its users, rules or anonymous clients differ/,
  },
  {
    of: [
      'per_listener_settings true',
      'listener 1883 0.0.0.0',
      'acl_file /a',
      'allow_anonymous true',
      'listener 1884 0.0.0.0',
      'acl_file /a',
    ],
    has: [
      'auth.allow_anonymous = false',
      '!listeners.tcp.default.enable = false',
      '!listeners.tcp.port1884.enable = false',
    ],
    stricter: /line 2: listener 1883/,
  },
  {
    of: [
      'per_listener_settings true',
      'listener 1883 0.0.0.0',
      'plugin /x.so',
      'listener 1884 0.0.0.0',
      'allow_anonymous true',
      'acl_file /a',
    ],
    has: ['auth.no_match = deny', 'listeners.tcp.port1884.enable = false', 'auth.allow_anonymous = false'],
    skipped: [/line 3: plugin/],
    stricter: /line 4: listener 1884 .* disabled/,
  },
  {
    of: ['per_listener_settings true', 'allow_anonymous true', network],
    has: ['auth.allow_anonymous = false', '!listeners.tcp.port1883.bind = "0.0.0.0:1883"'],
    stricter: none,
  },
  {
    of: [network, 'listener_allow_anonymous false', 'listener 1884 127.0.0.1', 'listener_allow_anonymous true'],
    has: [
      'auth.allow_anonymous = false',
      '!listeners.tcp.default.enable = false',
      '!listeners.tcp.port1884.enable = false',
    ],
    stricter: /listener 1884/,
  },
  {
    of: [
      'listener 8883 0.0.0.0',
      'certfile /c',
      'keyfile /k',
      'cafile /ca',
      'require_certificate true',
      'use_identity_as_username true',
      'listener 8884 0.0.0.0',
      'certfile /c',
      'keyfile /k',
      'cafile /ca',
      'require_certificate true',
      'password_file /pw',
      'allow_anonymous false',
    ],
    has: ['auth.certificate.enable = true', 'listeners.ssl.port8884.enable = false'],
    stricter: /listener 8884 .* requires a password besides the certificate/,
  },
]

test('each option of mosquitto.conf gets its counterpart, or is left out or made stricter and named', () => {
  for (const { of, has, skipped = [], stricter = none } of cases) {
    const found = convert(of)
    const text = `${of.join(' | ')}\n${found.settings.join('\n')}\n${found.skipped.join('\n')}\n${found.stricter}`
    for (const setting of has) {
      const isWanted = !setting.startsWith('!')
      assert.equal(found.settings.includes(setting.replace(/^!/, '')), isWanted, `${setting} in\n${text}`)
    }
    assert.equal(found.skipped.length, skipped.length, text)
    for (const [index, sentence] of skipped.entries()) assert.match(found.skipped[index] ?? '', sentence, text)
    assert.match(found.stricter, stricter, text)
    assert.doesNotMatch(text.split('\n').slice(1).join('\n'), /secret/)
  }
})

test('options that Godwit cannot express, or that mosquitto refuses, stop the import', () => {
  assert.throws(() => convert(['clientid_prefixes a-']), /line 1: clientid_prefixes: Godwit cannot restrict client IDs/)
  for (const word of ['allow_anonymous', 'require_certificate', 'per_listener_settings', 'use_identity_as_username'])
    assert.throws(() => convert([`${word} yes`]), /the value is neither true nor false/)
})

test('included files are read in the order of mosquitto, and begin with the listener of port', () => {
  const names = [
    'b.conf',
    'B.conf',
    'a.conf',
    '10.conf',
    '9.conf',
    '.conf',
    'x.conf.bak',
    'README',
    '_.conf',
    'ab.conf',
  ]
  assert.deepEqual(selectIncludedNames(names), ['10.conf', '9.conf', 'a.conf', 'ab.conf', 'B.conf', 'b.conf', '_.conf'])
  const main = ['listener 1883 127.0.0.1', 'include_dir conf.d', 'mount_point main/']
  const files = [
    { name: 'a.conf', text: 'mount_point default/\nlistener 1884 127.0.0.1\nmount_point first/\ninclude_dir other' },
    { name: 'b.conf', text: 'port 1885\nallow_anonymous true\npassword_file /pw' },
  ]
  const { settings, skipped, value } = convert(main, new Map([['conf.d', files]]))
  const mountpoints = settings.filter((line) => line.includes('mountpoint') || line.includes('bind'))
  assert.deepEqual(mountpoints, [
    'listeners.tcp.default.bind = "0.0.0.0:1885"',
    'listeners.tcp.default.mountpoint = "default/"',
    'listeners.tcp.port1883.bind = "127.0.0.1:1883"',
    'listeners.tcp.port1883.mountpoint = "main/"',
    'listeners.tcp.port1884.bind = "127.0.0.1:1884"',
    'listeners.tcp.port1884.mountpoint = "first/"',
  ])
  assert.deepEqual(skipped, ['a.conf, line 4: include_dir: mosquitto reads it in the main file only'])
  assert.equal(value.passwordFile, '/pw')
  assert.equal(value.sessionSource.verifiesUsernames, true)
})

test('a converted configuration without files of certificates is valid', () => {
  for (const { of } of cases.filter(({ of: lines }) => !/certfile|psk|acl_file/.test(lines.join('\n'))))
    assert.deepEqual(convert(of).errors, [], of.join('\n'))
})

test('a user whose password cannot be imported is kept with a random password, and named without the hash', () => {
  const text =
    'anna:plain-text\nbert:$7$20000$c2FsdA==$aGFzaA==\n:$6$a$b\ncarl\ndora:\nanna:again\nemil:$6$c2FsdA==$aGFzaA==\n'
  const { value, skipped, stricter } = convertPasswordFile(text, 0)
  assert.deepEqual(
    value.map(({ id }) => id),
    ['anna', 'bert', 'carl', 'dora', 'emil'],
  )
  for (const record of value)
    for (const word of ['', 'plain-text', 'hash']) assert.ok(!isPassword(Buffer.from(word), record))
  const until = 'until then the name cannot log in'
  assert.deepEqual(stricter, [
    `password file, line 1: the hash of "anna" is neither $6$ nor $7$: set a new password; ${until}`,
    `password file, line 2: the hash of "bert" has more than 10000 iterations: set a new password; ${until}`,
    `password file, line 4: the user "carl" has no password: set one; ${until}`,
    `password file, line 5: the user "dora" has no password: set one; ${until}`,
    `password file, line 7: the hash of "emil" is damaged: set a new password; ${until}`,
  ])
  assert.deepEqual(skipped, [
    'password file, line 3: it has no user name',
    'password file, line 6: the user "anna" occurs twice: the first password is used',
  ])
})
