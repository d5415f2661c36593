// Requests that are unusual, from other sites, slow or too many.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import type { Scope } from '../e2e/godwit-process.ts'
import { administrator, type BrokerWithApi, shareBrokerWithApi } from './api.ts'
import { sendBytes, statusIn } from './http.ts'

const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`

/** The bytes of a request by the administrator that is the last one of its connection. */
function written(line: string, headers: readonly string[] = []): string {
  const all = [`${line} HTTP/1.1`, 'host: a', `authorization: ${authorization}`, 'connection: close', ...headers]
  return `${all.join('\r\n')}\r\n\r\n`
}

async function statusOf(broker: BrokerWithApi, bytes: string): Promise<number> {
  return statusIn(await sendBytes(broker.url, bytes))
}

const sharedBroker = shareBrokerWithApi()
const limitedBroker = shareBrokerWithApi({ set: ['http_server.max_body=2KB', 'http_server.limit_conn=2'] })
/** Resolves when a request with incomplete headers is closed. It starts before all tests, so that they run during its timeout. */
let slowIsClosed: Promise<unknown>

before(async () => {
  const slow = await openConnection({ after }, await sharedBroker())
  slowIsClosed = once(slow, 'close')
  slow.resume()
  slow.write('GET /api/v4/brokers HTTP/1.1\r\nhost: a\r\n')
})

test('unknown methods are 405, known methods that a path does not have are 404', async () => {
  const broker = await sharedBroker()
  for (const method of ['PATCH', 'HEAD', 'OPTIONS', 'PROPFIND', 'TRACE']) {
    assert.equal(await statusOf(broker, written(`${method} /api/v4/brokers`)), 405, method)
  }
  const patched = await broker.request('/api/v4/brokers', { method: 'PATCH' })
  assert.deepEqual([patched.status, patched.json.code], [405, 102])
  assert.equal(patched.headers.get('allow'), 'GET, POST, PUT, DELETE')
  for (const method of ['POST', 'PUT', 'DELETE'] as const) {
    const response = await broker.request('/api/v4/brokers', { method })
    assert.deepEqual([response.status, response.json.code], [404, 102], method)
  }
  const unauthenticated = await broker.request('/api/v4/brokers', { method: 'PATCH', as: null })
  assert.deepEqual([unauthenticated.status, unauthenticated.json.code], [401, 104], 'credentials are checked first')
})

test('paths of older brokers are 404 and name the replacement; one trailing slash is ignored, a second is not', async () => {
  const broker = await sharedBroker()
  for (const [path, successor] of [
    ['/api/v3/brokers', '/api/v4/brokers'],
    ['/api/v4/connections', '/api/v4/clients'],
    ['/api/v4/nodes/a/connections/b', '/api/v4/clients'],
    ['/api/v4/sessions', '/api/v4/clients'],
    ['/sessions/a', '/api/v4/clients'],
  ] as const) {
    const { status, json } = await broker.request(path)
    assert.deepEqual([status, json.code], [404, 102], path)
    assert.ok(json.message.endsWith(`use ${successor}`), json.message)
  }
  assert.equal((await broker.request('/api/v4/brokers/')).status, 200)
  assert.equal((await broker.request('/api/v4/?a=b')).status, 200)
  assert.equal(await statusOf(broker, written('GET /api/v4//brokers')), 404)
  assert.equal(await statusOf(broker, written('GET //api/v4/brokers')), 404)
  assert.equal(await statusOf(broker, written('GET /api/v4/../v4/brokers')), 404)
  assert.equal(await statusOf(broker, written('GET /API/v4/brokers')), 404)
})

test('a request that cannot be decoded is refused after authentication', async () => {
  const broker = await sharedBroker()
  for (const path of ['/api/v4/apps/%zz', '/api/v4/apps/%', '/api/v4/apps/%ff']) {
    assert.equal(await statusOf(broker, written(`GET ${path}`)), 400, path)
    assert.equal(await statusOf(broker, `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`), 401, path)
  }
  const twice = await broker.request('/api/v4/apps/%2541')
  assert.match(twice.json.message, /%41/, 'decoded once')
})

test('a request from a page of another site is refused, whatever headers its browser adds', async () => {
  const broker = await sharedBroker()
  const body = '{"username":"eve","password":"a long password"}'
  const plain = { 'content-type': 'text/plain' }
  const statusFrom = async (headers: Record<string, string>): Promise<number> =>
    (await broker.request('/api/v4/users', { method: 'POST', body, headers: { ...plain, ...headers } })).status
  for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1:1', 'nonsense']) {
    assert.equal(await statusFrom({ origin }), 403, origin)
  }
  assert.equal(await statusFrom({ 'sec-fetch-site': 'cross-site' }), 403)
  const stop = { method: 'POST', headers: { origin: 'https://evil.example' } } as const
  assert.equal((await broker.request('/api/v4/ctrl/stop', stop)).status, 403)
  assert.equal((await broker.request('/api/v4/users')).json.data.length, 1, 'no account was created')
  assert.equal(await statusFrom({ origin: broker.url }), 200, 'a page of the same origin is accepted')
})

test('JSON is accepted with any content type', async () => {
  const broker = await sharedBroker()
  for (const [number, type] of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'nonsense',
    ';;',
    'multipart/form-data',
  ].entries()) {
    const body = `{"app_id":"app-${number}"}`
    const made = await broker.request('/api/v4/apps', { method: 'POST', body, headers: { 'content-type': type } })
    assert.equal(made.status, 200, `${type}: ${made.text}`)
  }
})

test('response headers forbid caches, frames, content sniffing and other origins', async () => {
  const broker = await sharedBroker()
  for (const options of [{}, { as: null }] as const) {
    const { headers } = await broker.request('/api/v4/brokers', options)
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'/)
    assert.equal(headers.get('access-control-allow-origin'), null)
  }
})

test('a body above max_body is 108, and a body that is not text is 109', async () => {
  const broker = await limitedBroker()
  const body = JSON.stringify({ app_id: 'a', desc: 'x'.repeat(3_000) })
  const large = await broker.request('/api/v4/apps', { method: 'POST', body })
  assert.deepEqual([large.status, large.json.code], [400, 108])
  const chunked = written('POST /api/v4/apps', ['transfer-encoding: chunked'])
  assert.equal(await statusOf(broker, `${chunked}fff\r\n${'x'.repeat(0xfff)}\r\n0\r\n\r\n`), 400)
  const broken = written('POST /api/v4/apps', ['content-length: 2'])
  assert.match(await sendBytes(broker.url, Buffer.from(`${broken}\u00ff\u00fe`, 'latin1')), /"code":109/)
  const noHocon = written('POST /api/v4/config_update', ['content-length: 2'])
  assert.match(await sendBytes(broker.url, Buffer.from(`${noHocon}\u00ff\u00fe`, 'latin1')), /"code":117/)
})

test('a request with two lengths is refused, and its body is not read as a second request', async () => {
  const broker = await sharedBroker()
  const smuggled = written('POST /api/v4/apps', ['content-length: 16']) + '{"app_id":"eve"}'
  for (const lengths of [
    ['content-length: 4', 'transfer-encoding: chunked'],
    ['content-length: 0', `content-length: ${smuggled.length}`],
    ['transfer-encoding: chunked, identity'],
  ]) {
    const received = await sendBytes(broker.url, `${written('POST /api/v4/apps', lengths)}0\r\n\r\n${smuggled}`)
    assert.equal(statusIn(received), 400, lengths.join())
  }
  assert.equal((await broker.request('/api/v4/apps/eve')).status, 404)
})

async function openConnection(t: Scope, broker: BrokerWithApi): Promise<Socket> {
  const { hostname, port } = new URL(broker.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  t.after(() => socket.destroy())
  await once(socket, 'connect')
  return socket
}

test('idle connections do not block new ones: the oldest is closed', async (t) => {
  const broker = await limitedBroker()
  const first = await openConnection(t, broker)
  const firstIsClosed = once(first, 'close')
  for (let number = 0; number < 300; number++) await openConnection(t, broker)
  await firstIsClosed
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

test('a client that sends requests without reading responses is closed', async () => {
  const broker = await sharedBroker()
  const wrong = Buffer.from('admin:wrong').toString('base64')
  const one = `GET /api/v4/brokers HTTP/1.1\r\nhost: a\r\nauthorization: Basic ${wrong}\r\n\r\n`
  const received = await sendBytes(broker.url, one.repeat(1_000))
  assert.ok((received.match(/HTTP\/1\.1/g) ?? []).length < 100)
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

test('a request whose body does not arrive occupies one of the permitted requests, and others are served', async (t) => {
  const broker = await limitedBroker()
  const slow = await openConnection(t, broker)
  slow.write(written('POST /api/v4/apps', ['content-length: 100']))
  const many = await Promise.all(Array.from({ length: 40 }, () => broker.request('/api/v4/brokers')))
  assert.ok(many.every(({ status }) => status === 200))
})

test('a request with incomplete headers is closed after a timeout', async () => {
  const broker = await sharedBroker()
  await slowIsClosed
  assert.equal((await broker.request('/api/v4/brokers')).status, 200)
})

test('the error for a body that is not JSON has no part of the body, which may contain a password', async () => {
  const broker = await sharedBroker()
  for (const body of ['{"username":"ann","password":"hunter2" x}', 'hunter2', '{"password":"hunter2']) {
    const response = await broker.request('/api/v4/auth_username', { method: 'POST', body })
    assert.deepEqual([response.status, response.json.code], [400, 109])
    assert.doesNotMatch(response.text, /hunter/)
  }
})

/** Unread requests without authentication: as many connections as possible, each with pipelined requests for the largest document. */
async function requestWithoutReading(t: Scope, broker: BrokerWithApi, path: string): Promise<Socket[]> {
  const sockets: Socket[] = []
  for (let number = 0; number < 100; number++) {
    const socket = await openConnection(t, broker)
    socket.on('error', () => {})
    socket.pause()
    socket.write(`GET ${path} HTTP/1.1\r\nhost: a\r\n\r\n`.repeat(16))
    sockets.push(socket)
  }
  return sockets
}

for (const path of ['/api/docs/openapi.json', '/api/docs', '/'])
  test(`unread pipelined requests for ${path} without login are limited, and do not delay an administrator`, async (t) => {
    const broker = await sharedBroker()
    const sockets = await requestWithoutReading(t, broker, path)
    for (let count = 0; count < 3; count++) assert.equal((await broker.request('/api/v4/brokers')).status, 200)
    // A page is still served to others of the same address.
    assert.equal((await broker.request('/api/docs/openapi.json', { as: null })).status, 200)
    await Promise.all(
      sockets.map(async (socket) => {
        socket.resume()
        if (!socket.closed && path !== '/') await once(socket, 'close')
        else socket.destroy()
      }),
    )
  })
