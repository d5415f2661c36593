// Requests that become WebSocket connections, and the responses to others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkUpgrade, type UpgradeRules } from '../../src/transports/websocket/upgrade-request.ts'
import { binary, upgradeRequest } from './websocket-peer.ts'
import { openWebSocketStage, path, received } from './websocket-stage.ts'

const rules: UpgradeRules = {
  path,
  allowedOrigins: [],
  isLoopback: false,
  failsWithoutSubprotocol: true,
  addressHeader: undefined,
}

interface Request {
  readonly url?: string
  readonly origin?: string
  readonly offers?: string
  readonly headers?: Record<string, string>
}

/** 101, or the status of the refusal. */
function statusOf(request: Request, changed: Partial<UpgradeRules> = {}): number {
  const { url = path, origin, offers = 'mqtt', headers } = request
  const all = { 'sec-websocket-protocol': offers === '' ? undefined : offers, origin, ...headers }
  const decision = checkUpgrade({ url, httpVersion: '1.1', headers: all }, { ...rules, ...changed })
  return decision.allowed ? 101 : decision.status
}

test('connections are accepted under one path only; a query string is ignored', () => {
  assert.equal(statusOf({ url: '/mqtt' }), 101)
  assert.equal(statusOf({ url: '/mqtt?token=abc' }), 101)
  assert.equal(statusOf({ url: 'http://broker.example/mqtt?token=abc' }), 101)
  const others = ['/', '/mqtt/', '/MQTT', '/mqtt/../mqtt', '/%6dqtt', '//mqtt', '*', '', 'http://mqtt', 'ftp://x/mqtt']
  for (const url of others) {
    assert.equal(statusOf({ url }), 404, url)
  }
})

test('mqtt is selected, or mqttv3.1 if that is not offered, and other subprotocols are refused', async (t) => {
  const stage = await openWebSocketStage(t)
  for (const [offers, selected] of [
    ['mqtt', 'mqtt'],
    ['mqttv3.1', 'mqttv3.1'],
    ['mqttv3.1, mqtt', 'mqtt'],
    ['chat,mqtt', 'mqtt'],
  ] as const) {
    const head = await (await stage.peer()).request(upgradeRequest(path, { 'Sec-WebSocket-Protocol': offers }))
    assert.ok(head.includes(`Sec-WebSocket-Protocol: ${selected}\r\n`), head)
  }
  for (const offers of ['chat', 'MQTT', 'mqtt-v5', 'mqttx']) assert.equal(statusOf({ offers }), 400, offers)
})

test('a client without a subprotocol is refused unless the listener allows it, and then none is selected', async (t) => {
  const none = { 'Sec-WebSocket-Protocol': undefined }
  const strict = await openWebSocketStage(t)
  const refused = await (await strict.peer()).request(upgradeRequest(path, none))
  assert.match(refused, /^HTTP\/1\.1 400 Bad Request\r\n/)
  assert.equal(await strict.refusals.next(), '400: offer the WebSocket subprotocol mqtt')

  const lenient = await openWebSocketStage(t, { failsWithoutSubprotocol: false })
  const { peer, stream } = await lenient.pair(none)
  const chunks = received(stream)
  peer.send(binary('hello'))
  assert.equal(await chunks.next(), 'hello')
  assert.equal(statusOf({ offers: 'chat' }, { failsWithoutSubprotocol: false }), 400)
})

test('clients without an origin are accepted everywhere: they are not web pages', () => {
  assert.equal(statusOf({}, { isLoopback: true }), 101)
  assert.equal(statusOf({}, { allowedOrigins: ['https://app.example'] }), 101)
})

test('a page of another site does not reach a broker on loopback', () => {
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
  ]) {
    assert.equal(statusOf({ origin }, { isLoopback: true }), 403, origin)
    assert.equal(statusOf({ origin }, { isLoopback: false }), 101, origin)
    assert.equal(statusOf({ origin }, { isLoopback: true, allowedOrigins: ['*'] }), 101, origin)
  }
  for (const origin of ['http://localhost:3000', 'http://127.0.0.1', 'http://[::1]:8080', 'https://app.localhost']) {
    assert.equal(statusOf({ origin }, { isLoopback: true }), 101, origin)
  }
})

test('a list of origins accepts exactly these', () => {
  const allowedOrigins = ['https://app.example.org', 'http://Intranet:8080/']
  for (const origin of ['https://app.example.org', 'http://intranet:8080']) {
    assert.equal(statusOf({ origin }, { allowedOrigins }), 101, origin)
  }
  for (const origin of [
    'http://app.example.org',
    'https://app.example.org:444',
    'https://app.example.org.evil',
    'null',
  ]) {
    assert.equal(statusOf({ origin }, { allowedOrigins }), 403, origin)
  }
})

test('a proxy is trusted only if its header is configured, and then its own entry, which is the last', () => {
  const headers = { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' }
  const request = { url: path, httpVersion: '1.1', headers: { ...headers, 'sec-websocket-protocol': 'mqtt' } }
  assert.deepEqual(checkUpgrade(request, rules), { allowed: true, clientAddress: undefined })
  const believing = { ...rules, addressHeader: 'x-forwarded-for' }
  assert.deepEqual(checkUpgrade(request, believing), { allowed: true, clientAddress: '203.0.113.9' })
  const bracketed = { ...request, headers: { ...request.headers, 'x-forwarded-for': '[2001:db8::1]' } }
  assert.deepEqual(checkUpgrade(bracketed, believing), { allowed: true, clientAddress: '2001:db8::1' })
  const mapped = { ...request, headers: { ...request.headers, 'x-forwarded-for': '::ffff:cb00:7109' } }
  assert.deepEqual(checkUpgrade(mapped, believing), { allowed: true, clientAddress: '203.0.113.9' })
  for (const address of ['', 'unknown', '203.0.113.9,', '203.0.113.256', '203.0.113.9:1883', 'fe80::1%eth0']) {
    assert.equal(statusOf({ headers: { 'x-forwarded-for': address } }, believing), 400, address)
  }
  assert.equal(statusOf({}, believing), 101)
})

test('the stream has the address from a trusted proxy', async (t) => {
  const stage = await openWebSocketStage(t, { addressHeader: 'x-forwarded-for' })
  const { stream } = await stage.pair({ 'X-Forwarded-For': '203.0.113.9' })
  assert.equal(stream.remoteAddress, '203.0.113.9')
})

const requests: [what: string, text: string, status: number][] = [
  ['a browser under the path', 'GET /mqtt HTTP/1.1\r\nHost: x\r\n\r\n', 426],
  ['a browser elsewhere', 'GET / HTTP/1.1\r\nHost: x\r\n\r\n', 404],
  ['one with a body', 'POST /mqtt HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc', 426],
  ['an upgrade elsewhere', upgradeRequest('/chat'), 404],
  ['a page from elsewhere', upgradeRequest(path, { Origin: 'https://evil.example' }), 403],
  ['an upgrade to something else', upgradeRequest(path, { Upgrade: 'h2c' }), 400],
  ['an upgrade by HTTP/1.0', upgradeRequest(path).replace('HTTP/1.1', 'HTTP/1.0'), 400],
  ['an upgrade with a body', `${upgradeRequest(path, { 'Content-Length': '5' })}hello`, 400],
  ['an upgrade with a body in parts', `${upgradeRequest(path, { 'Transfer-Encoding': 'chunked' })}0\r\n\r\n`, 400],
  ['an upgrade by POST', upgradeRequest(path).replace('GET', 'POST'), 400],
  ['an upgrade without a key', upgradeRequest(path, { 'Sec-WebSocket-Key': undefined }), 400],
  ['an upgrade with a short key', upgradeRequest(path, { 'Sec-WebSocket-Key': 'c2hvcnQ=' }), 400],
  ['an upgrade of another version', upgradeRequest(path, { 'Sec-WebSocket-Version': '8' }), 426],
  ['an upgrade with an invalid list', upgradeRequest(path, { 'Sec-WebSocket-Protocol': 'mqtt,,' }), 400],
  ['something that is not HTTP', '\u0010\u0025\u0000\u0004MQTT\u0004\u0002\r\n\r\n', 400],
  ['headers above the maximum', upgradeRequest(path, { Cookie: 'x'.repeat(20_000) }), 431],
  ['two lengths', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n', 400],
]
for (const [what, text, status] of requests) {
  test(`${what} gets ${status}, and the connection closes`, async (t) => {
    // The timeout for an incomplete request is never reached.
    t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
    const stage = await openWebSocketStage(t)
    const peer = await stage.peer()
    assert.match(await peer.request(text), new RegExp(`^HTTP/1\\.1 ${status} `))
    assert.match(await stage.refusals.next(), new RegExp(`^${status}: `))
    peer.socket.end()
    await peer.ended
    assert.equal(stage.streams.left, 0)
  })
}

test('a second request after a refused one is not processed', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval', 'setTimeout'] })
  const stage = await openWebSocketStage(t)
  const peer = await stage.peer()
  await peer.request(`GET / HTTP/1.1\r\nHost: x\r\n\r\n${upgradeRequest(path)}`)
  await peer.ended
  assert.equal(stage.streams.left, 0)
})
