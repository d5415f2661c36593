// Requests of actions to an HTTP service: connections, timeouts, denied addresses, and TLS.

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net'
import { test, type TestContext } from 'node:test'
import type { HttpRequest } from '../../src/sinks/http/http-exchange.ts'
import { HttpRequests, type HttpRequestsSettings } from '../../src/sinks/http/http-requests.ts'
import { denyAddresses } from '../../src/transports/index.ts'
import { Authority } from '../transports/certificates.ts'

const post: HttpRequest = { path: '/in?a=1', method: 'POST', headers: { 'x-one': 'two' }, body: Buffer.from('body') }

async function portOf(t: TestContext, server: Server | TcpServer): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    if ('closeAllConnections' in server) server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

function requestsTo(t: TestContext, url: string, settings: Partial<HttpRequestsSettings> = {}): HttpRequests {
  const usual = { poolSize: 2, pipelining: 1, connectTimeoutMs: 20_000, requestTimeoutMs: 20_000, tls: undefined }
  const requests = new HttpRequests({ origin: new URL(url), ...usual, ...settings })
  t.after(() => requests.close())
  return requests
}

/** Delays the responses until there are `count` requests. */
class LateResponses {
  readonly #count: number
  readonly #kept: ServerResponse[] = []
  readonly connections = new Set<Socket>()
  most = 0

  constructor(count: number) {
    this.#count = count
  }

  readonly listener: RequestListener = (request, response) => {
    this.connections.add(request.socket)
    request.resume().on('end', () => {
      this.#kept.push(response)
      this.most = Math.max(this.most, this.#kept.length)
      if (this.#kept.length === this.#count) for (const each of this.#kept.splice(0)) each.end()
    })
  }
}

async function failureOf(t: TestContext, url: string, settings: Partial<HttpRequestsSettings> = {}): Promise<string> {
  const result = await requestsTo(t, url, settings).send(post)
  assert.ok('failure' in result, JSON.stringify(result))
  return result.failure
}

test('a request has its method, path, headers and body; the result has the start of the response', async (t) => {
  const seen: unknown[] = []
  const server = createServer((request, response) => {
    const { method, url, headers } = request
    request.on('data', (chunk: Buffer) =>
      seen.push([method, url, headers['x-one'], headers['content-length'], chunk.toString()]),
    )
    request.on('end', () => response.writeHead(503, { 'retry-after': '7' }).end('€'.repeat(300)))
  })
  const requests = requestsTo(t, `http://127.0.0.1:${await portOf(t, server)}`)
  assert.deepEqual(await requests.send(post), { status: 503, text: '€'.repeat(256), retryAfterMs: 7_000 })
  assert.deepEqual(seen, [['POST', '/in?a=1', 'two', '4', 'body']])
})

test('the number of connections is the pool size; each has one request at a time and is reused', async (t) => {
  const late = new LateResponses(2)
  const requests = requestsTo(t, `http://127.0.0.1:${await portOf(t, createServer(late.listener))}`)
  const results = await Promise.all(Array.from({ length: 10 }, () => requests.send(post)))
  assert.ok(results.every((result) => 'status' in result && result.status === 200))
  assert.equal(late.most, 2)
  assert.equal(late.connections.size, 2)
})

test('with enable_pipelining, a connection has several requests at a time', async (t) => {
  const received: number[] = []
  const server = createTcpServer((socket) => {
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      const count = text.split('body').length - 1
      received.push(count)
      // The first response is sent when the third request has arrived.
      if (count === 3) socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'.repeat(3))
    })
  })
  const url = `http://127.0.0.1:${await portOf(t, server)}`
  const requests = requestsTo(t, url, { poolSize: 1, pipelining: 3 })
  const results = await Promise.all([post, post, post].map((request) => requests.send(request)))
  assert.deepEqual(
    results.map((result) => 'status' in result && result.status),
    [200, 200, 200],
  )
  assert.equal(received.at(-1), 3)
})

test('a request without a response fails after the timeout, also while it waits for a connection', async (t) => {
  const held = createServer(() => {})
  const url = `http://127.0.0.1:${await portOf(t, held)}`
  const requests = requestsTo(t, url, { poolSize: 1, requestTimeoutMs: 50 })
  const results = await Promise.all([requests.send(post), requests.send(post)])
  for (const result of results)
    assert.match('failure' in result ? result.failure : '', /^no response within 50 ms: check the service/)
  // The connection of the failed request is not used for another one.
  held.removeAllListeners('request').on('request', (_, response: ServerResponse) => response.end('late'))
  let next = await requests.send(post)
  while ('failure' in next) next = await requests.send(post)
  assert.equal(next.text, 'late')
})

test('opening a connection has its own timeout', async (t) => {
  // The server accepts connections, and does not respond to TLS.
  const server = createTcpServer((socket) => socket.on('error', () => {}))
  const url = `https://127.0.0.1:${await portOf(t, server)}`
  const why = await failureOf(t, url, { connectTimeoutMs: 50, tls: { rejectUnauthorized: true } })
  assert.match(why, /^no connection within 50 ms: check the service, its address.* connect_timeout/)
})

test('denied addresses get no request, whether the address is configured or resolved from a name', async (t) => {
  let count = 0
  const port = await portOf(
    t,
    createServer((_, response) => {
      count++
      response.end()
    }),
  )
  denyAddresses(['loopback'])
  t.after(() => denyAddresses([]))
  const written = `http://127.0.0.1:${port}`
  assert.match(await failureOf(t, written), /127\.0\.0\.1:\d+ is denied by node\.denied_addresses/)
  assert.match(await failureOf(t, `http://localhost:${port}`), /localhost has only denied addresses/)
  assert.equal(count, 0)
  denyAddresses([])
  assert.deepEqual(await requestsTo(t, written).send(post), { status: 200, text: '', retryAfterMs: undefined })
})

test('a redirect is a result: the other address gets no request', async (t) => {
  const paths: unknown[] = []
  const server = createServer(({ url }, response) => {
    paths.push(url)
    response.writeHead(302, { location: '/other' }).end()
  })
  const result = await requestsTo(t, `http://127.0.0.1:${await portOf(t, server)}`).send(post)
  assert.ok('status' in result && result.status === 302)
  assert.deepEqual(paths, ['/in?a=1'])
})

test('an incomplete response and an unavailable service are failures', async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(200, { 'content-length': '10' }).write('half', () => request.socket.destroy())
  })
  const port = await portOf(t, server)
  assert.match(await failureOf(t, `http://127.0.0.1:${port}`), /^the response was interrupted: /)
  server.close()
  await once(server, 'close')
  const refused = `the connection is refused: no server listens there (127.0.0.1:${port})`
  assert.equal(await failureOf(t, `http://127.0.0.1:${port}`), refused)
})

test('the credentials of the URL are sent as HTTP Basic, unless a header is configured', async (t) => {
  const seen: unknown[] = []
  const server = createServer(({ headers }, response) => {
    seen.push(headers.authorization)
    response.end()
  })
  const requests = requestsTo(t, `http://user:p%40ss@127.0.0.1:${await portOf(t, server)}`)
  await requests.send(post)
  await requests.send({ ...post, headers: { authorization: 'Bearer own' } })
  assert.deepEqual(seen, [`Basic ${Buffer.from('user:p@ss').toString('base64')}`, 'Bearer own'])
})

test('the certificate of the service is verified with the name of the host', async (t) => {
  const authority = new Authority('authority')
  const named = authority.issue('service', { hostNames: ['localhost'] })
  const server = createSecureServer({ cert: named.certificate, key: named.key }, (_, response) => response.end('safe'))
  const port = await portOf(t, server)
  const ca = authority.certificate
  const known = { rejectUnauthorized: true, ca }
  const done = { status: 200, text: 'safe', retryAfterMs: undefined }
  assert.deepEqual(await requestsTo(t, `https://localhost:${port}`, { tls: known }).send(post), done)
  assert.match(await failureOf(t, `https://127.0.0.1:${port}`, { tls: known }), /^the cert.* for other names/)
  const strict = { tls: { rejectUnauthorized: true } }
  assert.match(await failureOf(t, `https://localhost:${port}`, strict), /authority in ssl\.cacertfile$/)
  const open = { tls: { rejectUnauthorized: false } }
  assert.deepEqual(await requestsTo(t, `https://127.0.0.1:${port}`, open).send(post), done)
})

test('close() fails requests in flight, waiting requests and later requests', async (t) => {
  const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
  const server = createServer(() => arrive())
  const requests = requestsTo(t, `http://127.0.0.1:${await portOf(t, server)}`, { poolSize: 1 })
  const sent = [requests.send(post), requests.send(post)]
  await arrived
  requests.close()
  const failure = { failure: 'the action is being stopped' }
  assert.deepEqual(await Promise.all([...sent, requests.send(post)]), [failure, failure, failure])
})
