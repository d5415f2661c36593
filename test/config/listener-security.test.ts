import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  formatConfigError,
  type GodwitConfig,
  loadConfig,
  type ListenerConfig,
  type TlsConfig,
} from '../../src/config/index.ts'

function load(text: string): GodwitConfig {
  const loaded = loadConfig({ text, overrides: [] })
  if ('errors' in loaded) assert.fail(loaded.errors.map(formatConfigError).join('\n'))
  return loaded.config
}

function errorsOf(text: string): readonly string[] {
  const loaded = loadConfig({ text, overrides: [] })
  return 'errors' in loaded ? loaded.errors.map((error) => formatConfigError(error).replace(/^configuration:/, '')) : []
}

function warningsOf(text: string): readonly string[] {
  const loaded = loadConfig({ text, overrides: [] })
  return 'warnings' in loaded ? loaded.warnings.map(formatConfigError) : ['it is not taken']
}

function tlsOf(text: string): TlsConfig {
  const [listener] = load(`listeners.ssl { certfile = c, keyfile = k, ${text} }`).listeners
  assert.ok(listener?.kind === 'ssl')
  return listener.tls
}

const onlyListener = (text: string): ListenerConfig => {
  const [listener, ...others] = load(text).listeners
  assert.ok(listener !== undefined && others.length === 0)
  return listener
}

const versionsOf = ({ minVersion, maxVersion }: TlsConfig): unknown => [minVersion, maxVersion]

const rates = ({ maxConnectionRate, messagesPerSecond, bytesPerSecond }: ListenerConfig): unknown => [
  maxConnectionRate,
  messagesPerSecond,
  bytesPerSecond,
]

describe('a TLS listener', () => {
  test('passes the configured values to Node.js', () => {
    const tls = tlsOf(`key_password = p, cacertfile = a, crlfile = r, verify_peer = true, fail_if_no_peer_cert = true
      tls_versions = ["tlsv1.3"], ciphers = "A:B", psk_file = s, handshake_timeout = 4s
      sni { shop { server_name = "*.example.org", certfile = sc, keyfile = sk } }`)
    assert.deepEqual(tls, {
      certificate: { certFile: 'c', keyFile: 'k', keyPassword: 'p' },
      byServerName: [
        { name: 'shop', serverName: '*.example.org', certFile: 'sc', keyFile: 'sk', keyPassword: undefined },
      ],
      caFile: 'a',
      crlFile: 'r',
      verifyPeer: true,
      failIfNoPeerCertificate: true,
      minVersion: 'TLSv1.3',
      maxVersion: 'TLSv1.3',
      ciphers: 'A:B',
      acceptsPsk: true,
      pskFile: 's',
      handshakeTimeoutMs: 4_000,
    })
  })

  test('accepts TLS 1.2 and 1.3 unless one of them is configured', () => {
    assert.deepEqual(versionsOf(tlsOf('')), ['TLSv1.2', 'TLSv1.3'])
    assert.deepEqual(versionsOf(tlsOf('tls_versions = ["tlsv1.2"]')), ['TLSv1.2', 'TLSv1.2'])
    assert.match(errorsOf('listeners.ssl { psk_file = k, tls_versions = ["tlsv1.1"] }')[0] ?? '', /tlsv1\.1/)
    assert.match(errorsOf('listeners.ssl { psk_file = k, tls_versions = [] }')[0] ?? '', /tls_versions/)
  })

  const faulty: readonly (readonly [string, string])[] = [
    ['listeners.ssl.bind = 8883', '1:22: listeners.ssl.bind: '],
    ['listeners.ssl.plant.certfile = c', '1:32: listeners.ssl.plant.certfile: there is a certificate without its key'],
    ['listeners.ssl.keyfile = c', 'listeners.ssl.certfile: there is a key without a certificate; set certfile'],
    [
      'listeners.ssl { certfile = c, keyfile = k, sni.shop { certfile = c, keyfile = k } }',
      'listeners.ssl.sni.shop.server_name: no client can request an empty name; set server_name',
    ],
    [
      'listeners.ssl { certfile = c, keyfile = k, sni.shop { server_name = a, certfile = c } }',
      'listeners.ssl.sni.shop.keyfile: there is a certificate without its key; set keyfile',
    ],
    [
      'listeners.ssl { certfile = c, keyfile = k, fail_if_no_peer_cert = true }',
      'listeners.ssl.fail_if_no_peer_cert: the listener requests no client certificate; set verify_peer = true',
    ],
    [
      'listeners.ssl { certfile = c, keyfile = k, verify_peer = true }',
      'listeners.ssl.verify_peer: no client certificate can be accepted; set cacertfile to the authorities that sign for your clients',
    ],
  ]
  for (const [text, message] of faulty) {
    test(`[bad-input 28] that would be less secure than intended is an error: ${text}`, () => {
      const errors = errorsOf(text)
      const part = message.replace(/^\S*: listeners\.ssl\.(?:bind|plant\.certfile): /, '')
      assert.ok(
        errors.some((error) => error.includes(part)),
        errors.join('\n'),
      )
    })
  }

  test('can have a pre-shared key instead of a certificate', () => {
    const listener = onlyListener('listeners.ssl.psk_file = s')
    assert.ok(listener.kind === 'ssl')
    assert.equal(listener.tls.certificate, undefined)
  })

  test('without a certificate is an error at the line of the listener, with the settings that can be added', () => {
    const hint = 'the listener has no certificate; set certfile and keyfile'
    assert.deepEqual(errorsOf('listeners.quic.bind = 14567'), [`1:23: listeners.quic.certfile: ${hint}`])
    assert.deepEqual(errorsOf('\nlisteners.ssl.a.bind = 1'), [
      `2:24: listeners.ssl.a.certfile: ${hint}, psk_file, or psk`,
    ])
  })

  test('can have the name of a listener of another type, but not its port', () => {
    assert.equal(load('listeners { tcp.a.bind = 1, ssl.a { bind = 2, psk_file = s } }').listeners.length, 2)
    assert.match(
      errorsOf('listeners { tcp.a.bind = 1, ssl.a { bind = 1, psk_file = s } }')[0] ?? '',
      /same address and port/,
    )
    assert.match(
      errorsOf('listeners.ssl { psk_file = s, default { bind = 2, psk_file = s } }')[0] ?? '',
      /configured twice: in listeners\.ssl/,
    )
  })
})

const tlsOfWss = (ssl: string, wss: string): unknown => {
  const text = `listeners { ssl { certfile = c, keyfile = k, ${ssl} }, wss { bind = 1, ${wss} } }`
  const found = load(text).listeners.find(({ kind }) => kind === 'wss')
  assert.ok(found?.kind === 'wss')
  return [found.tls.minVersion, found.tls.maxVersion, found.tls.ciphers]
}

describe('a wss listener without a certificate', () => {
  const ssl = `certfile = c, keyfile = k, cacertfile = a, verify_peer = true
    peer_cert_as_username = cn, peer_cert_as_clientid = dn`

  const namesOf = (wss: string): unknown => {
    const found = load(`listeners { ssl { ${ssl} }, wss { ${wss} } }`).listeners.find(({ kind }) => kind === 'wss')
    assert.ok(found?.kind === 'wss')
    return [found.tls.verifyPeer, found.peerCertificateAsUsername, found.peerCertificateAsClientId]
  }

  test('[bad-input 28] verifies clients like ssl, and reads their names from the same field of the certificate', () => {
    assert.deepEqual(namesOf('bind = 1'), [true, 'cn', 'dn'])
    assert.deepEqual(namesOf('peer_cert_as_username = md5'), [true, 'md5', 'dn'])
    assert.deepEqual(namesOf('certfile = d, keyfile = l'), [false, undefined, undefined])
  })

  test('accepts the TLS versions and ciphers of ssl, unless it has its own settings', () => {
    const strict = 'tls_versions = ["tlsv1.3"], ciphers = A'
    assert.deepEqual(tlsOfWss(strict, ''), ['TLSv1.3', 'TLSv1.3', 'A'])
    assert.deepEqual(tlsOfWss('', strict), ['TLSv1.3', 'TLSv1.3', 'A'])
    assert.deepEqual(tlsOfWss(strict, 'tls_versions = ["tlsv1.2"], ciphers = B'), ['TLSv1.2', 'TLSv1.2', 'B'])
    assert.deepEqual(tlsOfWss(strict, 'certfile = d, keyfile = l'), ['TLSv1.2', 'TLSv1.3', undefined])
  })
})

describe('the access control of a listener', () => {
  for (const [what, text] of [
    ['by a header of the PROXY protocol', 'listeners.tcp { bind = "127.0.0.1:1", proxy_protocol = true }'],
    ['by a header of HTTP', 'listeners.ws { bind = 1, proxy_address_header = X-Real-IP }'],
  ] as const) {
    test(`[bad-input 31] behind a proxy on this machine that reports addresses ${what}: anonymous access is reported`, () => {
      const [warning, ...others] = warningsOf(text)
      assert.match(
        warning ?? '',
        /: unauthenticated clients are accepted from this machine, .*; set auth\.allow_anonymous/,
      )
      assert.deepEqual(others, [])
      for (const more of [
        'auth.allow_anonymous = true',
        'auth.allow_anonymous = false',
        'node.security_profile = legacy',
        'listeners { tcp.bind = "10.0.0.1:1", ws.bind = "10.0.0.1:2/mqtt" }',
      ]) {
        assert.deepEqual(warningsOf(`${text}\n${more}`), [], more)
      }
    })
  }

  test('has address rules in the configured order', () => {
    const { accessRules } = onlyListener(
      'listeners.tcp.access_rules = ["allow 10.0.0.0/8", "DENY fd00::1", "deny all"]',
    )
    assert.deepEqual(accessRules, [
      { isAllowed: true, range: '10.0.0.0/8' },
      { isAllowed: false, range: 'fd00::1' },
      { isAllowed: false, range: undefined },
    ])
  })

  for (const text of [
    '10.0.0.0/8',
    'allow',
    'permit all',
    'allow 10.0.0.0/33',
    'allow 256.0.0.1',
    'deny ::1/129',
    'deny host',
  ]) {
    test(`refuses the rule ${JSON.stringify(text)}`, () => {
      assert.match(errorsOf(`listeners.tcp.access_rules = ["${text}"]`)[0] ?? '', /is not a rule such as/)
    })
  }

  test('expects PROXY headers if they are configured', () => {
    assert.equal(onlyListener('').proxyProtocol, undefined)
    const text =
      'listeners.tcp { proxy_protocol = true, proxy_protocol_timeout = 1s, proxy_protocol_trusted = "10.0.0.0/8" }'
    assert.deepEqual(onlyListener(text).proxyProtocol, { timeoutMs: 1_000, trusted: ['10.0.0.0/8'] })
  })

  test('has a mount point only if a topic can begin with it', () => {
    assert.equal(onlyListener('listeners.tcp.mountpoint = "a/${clientid}/${username}/"').mountpoint.length, 26)
    for (const mountpoint of ['a/#/', '+/', '#'] as const) {
      assert.deepEqual(errorsOf(`listeners.tcp.mountpoint = "${mountpoint}"`), [
        '1:28: listeners.tcp.mountpoint: a mount point must not contain + or #; write a part of a topic, such as "plant-7/"',
      ])
    }
    assert.match(
      errorsOf('listeners.tcp.plant.mountpoint = "${client}/"')[0] ?? '',
      /listeners\.tcp\.plant\.mountpoint: a placeholder is unknown; use \$\{clientid\}/,
    )
  })

  test('has its own rates, and the rate of a client is the lower one of the listener and the node', () => {
    assert.deepEqual(rates(onlyListener('')), [undefined, undefined, undefined])
    const node = 'limits { max_connection_rate = 9, messages_rate = 5, bytes_rate = 100 }'
    assert.deepEqual(rates(onlyListener(node)), [undefined, 5, 100])
    assert.deepEqual(
      rates(onlyListener(`${node}\nlisteners.tcp { max_connection_rate = 3, messages_rate = 4, bytes_rate = 200 }`)),
      [3, 4, 100],
    )
    assert.equal(load(node).limits.maxConnectionRate, 9)
  })
})
