// WebSocket and QUIC listeners: settings that they inherit, and settings that contradict each other.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatConfigError, type ListenerConfig, loadConfig } from '../../src/config/index.ts'

function loaded(text: string): ReturnType<typeof loadConfig> {
  return loadConfig({ text, file: 'test.conf', overrides: [] })
}

function listenersOf(text: string): readonly ListenerConfig[] {
  const result = loaded(text)
  if ('errors' in result) assert.fail(result.errors.map(formatConfigError).join('\n'))
  return result.config.listeners
}

function listenerOf<Kind extends ListenerConfig['kind']>(kind: Kind, text: string) {
  const found = listenersOf(text).find((listener) => listener.kind === kind)
  assert.ok(found !== undefined)
  return found as Extract<ListenerConfig, { kind: Kind }>
}

function errorsOf(text: string): readonly string[] {
  const result = loaded(text)
  return 'errors' in result ? result.errors.map(formatConfigError) : []
}

test('a WebSocket listener has the path of its bind, by default /mqtt', () => {
  assert.equal(listenerOf('ws', 'listeners.ws.bind = "1.2.3.4:8083/chat/mqtt"').webSocket.path, '/chat/mqtt')
  const { host, port, webSocket } = listenerOf('ws', 'listeners.ws.bind = 8083')
  assert.deepEqual([host, port, webSocket.path], [undefined, 8_083, '/mqtt'])
})

test('a WebSocket listener is strict by default', () => {
  assert.deepEqual(listenerOf('ws', 'listeners.ws {}').webSocket, {
    path: '/mqtt',
    allowedOrigins: [],
    failsWithoutSubprotocol: true,
    addressHeader: undefined,
    maxMessageBytes: 10 * 1_048_576 + 65_536,
    upgradeTimeoutMs: 15_000,
  })
})

test('by default, the maximum WebSocket message is somewhat larger than the maximum packet', () => {
  assert.equal(bytesOf('listeners.ws {}\nmqtt.max_packet_size = 20MB'), 20 * 1_048_576 + 65_536)
  assert.equal(bytesOf('listeners.ws {}\nmqtt.max_packet_size = 1KB'), 1_048_576)
  assert.equal(bytesOf('listeners.ws.max_frame_size = 64KB'), 65_536)
})

test('the name of the proxy header is case-insensitive', () => {
  const { webSocket } = listenerOf('ws', 'listeners.ws.proxy_address_header = X-Forwarded-For')
  assert.equal(webSocket.addressHeader, 'x-forwarded-for')
  assert.equal(errorsOf('listeners.ws.proxy_address_header = "a: b"').length, 1)
})

const bytesOf = (text: string): number => listenerOf('ws', text).webSocket.maxMessageBytes

const ssl = 'listeners.ssl { certfile = c, keyfile = k, key_password = p'

test('a wss listener without a certificate has that of ssl', () => {
  const { tls } = listenerOf('wss', `${ssl} }\nlisteners.wss.bind = 8084`)
  assert.deepEqual(tls.certificate, { certFile: 'c', keyFile: 'k', keyPassword: 'p' })
  const own = listenerOf('wss', `${ssl} }\nlisteners.wss { certfile = c2, keyfile = k2 }`)
  assert.deepEqual(own.tls.certificate, { certFile: 'c2', keyFile: 'k2', keyPassword: undefined })
})

test('a named wss listener has the certificate of the ssl listener of the same name', () => {
  const text = `${ssl}, plant { bind = 8885, certfile = c3, keyfile = k3 } }\nlisteners.wss { plant { bind = 1 }, office { bind = 2 } }`
  const files = listenersOf(text).map((each) => ('tls' in each ? `${each.name} ${each.tls.certificate?.certFile}` : ''))
  assert.deepEqual(files.slice(2), ['plant c3', 'office c'])
})

test('if ssl requires client certificates, so does a wss listener with the same certificate', () => {
  const verifying = `${ssl}, verify_peer = true, fail_if_no_peer_cert = true, cacertfile = a, crlfile = r }`
  const { tls } = listenerOf('wss', `${verifying}\nlisteners.wss { bind = 8084, verify_peer = false }`)
  assert.deepEqual([tls.verifyPeer, tls.failIfNoPeerCertificate, tls.caFile, tls.crlFile], [true, true, 'a', 'r'])
  const stricter = listenerOf('wss', `${ssl} }\nlisteners.wss { verify_peer = true, cacertfile = b }`)
  assert.deepEqual([stricter.tls.verifyPeer, stricter.tls.caFile], [true, 'b'])
})

test('wss and quic listeners without any certificate are errors', () => {
  assert.match(
    errorsOf('listeners.wss.bind = 8084')[0] ?? '',
    /listeners\.wss\.certfile: the listener has no certificate/,
  )
  assert.match(
    errorsOf('listeners.quic.bind = 1')[0] ?? '',
    /listeners\.quic\.certfile: the listener has no certificate/,
  )
})

test('a QUIC listener can have the number of a TCP port, because it uses UDP', () => {
  const quic = 'listeners.quic { certfile = c, keyfile = k'
  assert.deepEqual(errorsOf(`${quic}, bind = "h:1" }\nlisteners.tcp.bind = "h:1"`), [])
  assert.equal(errorsOf(`${quic}, bind = "h:1", other { bind = "h:1", certfile = c, keyfile = k } }`).length, 1)
})

test('a PROXY header for a QUIC listener is an error', () => {
  const [error] = errorsOf('listeners.quic { certfile = c, keyfile = k, proxy_protocol = true }')
  assert.match(error ?? '', /test\.conf:1:\d+: listeners\.quic\.proxy_protocol: there is no PROXY header over QUIC/)
})

test('a QUIC listener has one TLS version and its own settings', () => {
  const text =
    'listeners.quic { certfile = c, keyfile = k, idle_timeout = 0, max_streams = 3, address_validation = false }'
  const { tls, quic } = listenerOf('quic', text)
  assert.deepEqual(
    [tls.minVersion, tls.maxVersion, tls.crlFile, tls.pskFile],
    ['TLSv1.3', 'TLSv1.3', undefined, undefined],
  )
  assert.deepEqual(quic, {
    idleTimeoutMs: 0,
    keepAliveMs: 40_000,
    checksAddresses: false,
    maxDataStreams: 3,
    streamTimeoutMs: 15_000,
    maxPacketBytes: 10 * 1_048_576,
  })
})

const namespacesOf = (text: string) => {
  const result = loaded(`namespaces { enable = true, ${text} }`)
  if ('errors' in result) assert.fail(result.errors.map(formatConfigError).join('\n'))
  return result.config.namespaces
}

const patternOf = (text: string) => namespacesOf(`username = "${text}"`)?.usernamePattern

test('clients belong to namespaces only if namespaces.enable is set, and the sources have the configured order', () => {
  const off = loaded('namespaces.username = "${namespace}/*"')
  assert.ok('config' in off && off.config.namespaces === undefined)
  const limits = { clients: undefined, messagesPerSecond: undefined, retainedMessages: undefined }
  const ofRules = { maxRules: 100, maxActions: 20 }
  const nothing = { usernamePattern: undefined, certificateField: undefined, isRequired: false, limits, ...ofRules }
  assert.deepEqual(namespacesOf(''), { sources: ['listener', 'username', 'certificate'], ...nothing })
  const all = namespacesOf('from = [certificate], certificate = ou, required = true')
  assert.deepEqual(all, { sources: ['certificate'], ...nothing, certificateField: 'ou', isRequired: true })
  assert.equal(listenersOf('namespaces.enable = true\nlisteners.tcp.namespace = plant-7')[0]?.namespace, 'plant-7')
})

test('only a pattern with one unambiguous position of the namespace in the user name is accepted', () => {
  const closed = { isOpenBefore: false, isOpenAfter: false }
  assert.deepEqual(patternOf('${namespace}/*'), { before: '', after: '/', ...closed, isOpenAfter: true })
  assert.deepEqual(patternOf('*@${namespace}'), { before: '@', after: '', ...closed, isOpenBefore: true })
  assert.deepEqual(patternOf('ns-${namespace}-x'), { before: 'ns-', after: '-x', ...closed })
  for (const wrong of [
    'plant',
    '${namespace}*',
    '*${namespace}',
    '*/${namespace}/*',
    '${namespace}/${namespace}',
    'a*b${namespace}',
  ])
    assert.match(
      errorsOf(`namespaces.username = "${wrong}"`)[0] ?? '',
      /is not a text with \$\{namespace\} once/,
      wrong,
    )
})

test('a namespace that is unused, malformed, or that a mount point would enter is an error', () => {
  assert.match(
    errorsOf('listeners.tcp.namespace = plant')[0] ?? '',
    /1:\d+: listeners\.tcp\.namespace: .*namespaces\.enable/,
  )
  for (const wrong of ['a/b', '$SYS', '..', '+', 'ä'])
    assert.equal(errorsOf(`namespaces.enable = true\nlisteners.tcp.namespace = "${wrong}"`).length, 1, wrong)
  assert.match(
    errorsOf('listeners.tcp.mountpoint = "$ns/plant/"')[0] ?? '',
    /topics that begin with \$ belong to the broker/,
  )
})
