// The form of requests: before authentication, a request costs the main thread little, linear in its size, and ambiguous and malformed requests
// are refused.

import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, suite, test } from 'node:test'
import { findJsonFault } from '../../src/management/http/find-json-fault.ts'
import { hasTooManyParameters, maxQueryParameters, readQueryString } from '../../src/management/http/query-string.ts'
import { RequestLimiter } from '../../src/management/http/request-limiter.ts'
import { fc } from '../properties.ts'
import { testLength } from '../test-length.ts'
import { administrator, type BrokerWithApi, shareBrokerWithApi } from './api.ts'
import { requestOverSocket, sendBytes, statusIn } from './http.ts'

const sharedBroker = shareBrokerWithApi()
const authorization = `Authorization: Basic ${Buffer.from(administrator).toString('base64')}`

function written(line: string, headers: readonly string[]): string {
  return `${[`${line} HTTP/1.1`, 'Connection: close', ...headers].join('\r\n')}\r\n\r\n`
}

const url = (parameters: number): string => `/status?${'a=1&'.repeat(parameters - 1)}a=1`
const headers = (count: number): string[] => Array.from({ length: count }, (_, number) => `x${number}: 1`)

async function refusalTo(broker: BrokerWithApi, bytes: string): Promise<{ status: number; message: string }> {
  const text = await sendBytes(broker.url, bytes)
  const body = text.split('\r\n\r\n')[1] ?? '{}'
  const { code, message } = JSON.parse(body) as { code: number; message: string }
  assert.equal(code, 108, text)
  assert.match(text, /^connection: close/im)
  return { status: statusIn(text), message }
}

describe('60,000 query parameters without authentication', () => {
  test('the request is refused at once, and other requests get their responses meanwhile', async () => {
    const broker = await sharedBroker()
    const attack = `GET /status?${'a=1&'.repeat(60_000)} HTTP/1.1\r\nHost: a\r\n\r\n`
    const startedAt = performance.now()
    const attacks = Array.from({ length: 8 }, () => refusalTo(broker, attack))
    const response = await fetch(`${broker.url}/status`)
    assert.equal(response.status, 200)
    for (const { status, message } of await Promise.all(attacks)) {
      assert.equal(status, 400)
      assert.match(message, /maximum 16384 bytes/)
    }
    // One such request took 22 s before the limit existed.
    assert.ok(performance.now() - startedAt < 5_000)
  })

  test('a request within the header limit has a maximum number of parameters', async () => {
    const broker = await sharedBroker()
    const maxMs = written(`GET ${url(maxQueryParameters)}`, ['Host: a'])
    assert.equal(statusIn(await sendBytes(broker.url, maxMs)), 200)
    for (const path of [url(maxQueryParameters + 1), `/status?${'&'.repeat(4_000)}`, `/%zz?${'&'.repeat(4_000)}`]) {
      const { status, message } = await refusalTo(broker, written(`GET ${path}`, ['Host: a']))
      assert.equal(status, 400)
      assert.match(message, /too many parameters in the query; maximum 128/)
    }
  })

  test('parsing stops at the maximum and collects the values of a repeated key once', () => {
    const text = 'a=1&'.repeat(1_000_000)
    const { a } = readQueryString(text)
    assert.equal(a?.length, maxQueryParameters)
    assert.ok(hasTooManyParameters(`/?${text}`))
    assert.ok(!hasTooManyParameters(`/?${'a&'.repeat(maxQueryParameters - 1)}a`))
    assert.deepEqual({ ...readQueryString('a=1&b=2&a=3&a=4&=5&c=') }, { a: ['1', '3', '4'], b: '2' })
  })
})

describe('many or repeated headers', () => {
  test('more than 100 headers, or more than 16 KiB, are refused', async () => {
    const broker = await sharedBroker()
    assert.equal(statusIn(await sendBytes(broker.url, written('GET /status', ['Host: a', ...headers(98)]))), 200)
    const many = await refusalTo(broker, written('GET /status', ['Host: a', ...headers(99)]))
    assert.match(many.message, /^too many headers: 101; maximum 100$/)
    const long = await refusalTo(broker, written('GET /status', ['Host: a', `x: ${'1'.repeat(16_384)}`]))
    assert.match(long.message, /maximum 16384 bytes/)
  })

  test('two Host headers, none in HTTP/1.1, or an invalid one are 400 before authentication', async () => {
    const broker = await sharedBroker()
    for (const [headers, words] of [
      [['Host: a', 'Host: b'], /^the header host occurs more than once/],
      [['Host: a', 'hOST: a'], /^the header host occurs more than once/],
      [[], /^missing Host header/],
      [['Host: a, b'], /^the Host header is not one host name/],
      [['Host: a b'], /^the Host header is not one host name/],
      [['Host: user@a'], /^the Host header is not one host name/],
    ] as const) {
      const { status, message } = await refusalTo(broker, written('GET /api/v4/brokers', headers))
      assert.equal(status, 400)
      assert.match(message, words, headers.join())
    }
    const old = `GET /status HTTP/1.0\r\n\r\n`
    assert.equal(statusIn(await sendBytes(broker.url, old)), 200, 'HTTP/1.0 has no Host header')
  })

  test('a second Authorization, Content-Length, Content-Type or Origin is 400', async () => {
    const broker = await sharedBroker()
    for (const pair of [
      [authorization, 'Authorization: Basic YTpi'],
      ['Authorization: Basic YTpi', authorization],
      ['Origin: http://a', 'Origin: http://b'],
      ['Content-Type: text/plain', 'Content-Type: application/json'],
    ]) {
      const { status, message } = await refusalTo(broker, written('GET /api/v4/brokers', ['Host: a', ...pair]))
      assert.equal(status, 400)
      assert.match(message, /occurs more than once; send it once$/)
    }
    const lengths = ['Content-Length: 2', 'Content-Length: 2']
    const twice = await refusalTo(broker, `${written('POST /api/v4/apps', ['Host: a', ...lengths])}{}`)
    assert.equal(twice.status, 400)
  })
})

/** The most expensive requests before authentication, at the limits of their size. */
const expensiveRequests: Readonly<Record<string, string>> = {
  'a long path': written(`GET /${'a/'.repeat(7_500)}`, ['Host: a']),
  'a path that is escaped throughout': written(`GET /${'%61'.repeat(5_000)}`, ['Host: a']),
  'a path with wrong escapes': written(`GET /${'%zz'.repeat(5_000)}`, ['Host: a']),
  'a path like an older one': written(`GET /api/v3/${'nodes/'.repeat(2_500)}`, ['Host: a']),
  'a long query': written(`GET /status?topic=${'+/'.repeat(7_500)}`, ['Host: a']),
  'a wrong password': written('GET /api/v4/brokers', ['Host: a', `Authorization: Basic ${'YTpi'.repeat(3_900)}`]),
  'a long scheme': written('GET /api/v4/brokers', [
    'Host: a',
    `Authorization: ${'B'.repeat(7_500)}${' '.repeat(7_500)}`,
  ]),
  'an unknown token': written('GET /api/v4/brokers', ['Host: a', `Authorization: Bearer ${'a'.repeat(15_000)}`]),
  'a token with many dots': written('GET /api/v4/brokers', ['Host: a', `Authorization: Bearer ${'a.'.repeat(7_500)}`]),
  'a content type without end': written('POST /api/v5/login', [
    'Host: a',
    `Content-Type: ${'a'.repeat(7_000)}${' '.repeat(7_000)}`,
  ]),
  'a login without sense': written('POST /api/v5/login', ['Host: a', 'Content-Length: 4000']) + '['.repeat(4_000),
  'an upgrade': written('GET /status', [
    'Host: a',
    'Upgrade: websocket',
    `Sec-WebSocket-Protocol: ${'a,'.repeat(7_500)}`,
  ]),
  'the largest page': written('GET /api/docs', ['Host: a']),
  'the description of the API': written('GET /api/docs/openapi.json', ['Host: a']),
}

/** Sends `bytes` `times` times in sequence, each time on a new connection. */
async function send(url: string, bytes: string, times: number): Promise<void> {
  const { hostname, port } = new URL(url)
  for (let time = 0; time < times; time++) {
    await new Promise<void>((resolve) => {
      const socket = connect(Number(port), hostname, () => socket.write(bytes, 'latin1'))
      socket.on('data', () => {}).on('error', () => {})
      socket.on('close', () => resolve())
      // The response to a wrong password is delayed; the hash has been computed by then.
      socket.setTimeout(200, () => socket.destroy())
    })
  }
}

/** Repeats the measurement: an expensive request is slow each time, a pause of the machine affects only one attempt. */
const attempts = 5

/** The longest time that another request takes while these bytes are sent. */
async function maxDelayMs(url: string, bytes: string): Promise<number> {
  const progress = { isSending: true }
  const sending = Promise.all(
    Array.from({ length: 8 }, () => send(url, bytes, testLength({ daily: 2, long: 4 }))),
  ).then(() => {
    progress.isSending = false
  })
  let worstMs = 0
  while (progress.isSending) {
    const startedAt = performance.now()
    assert.equal((await fetch(`${url}/status`)).status, 200)
    worstMs = Math.max(worstMs, performance.now() - startedAt)
  }
  await sending
  return worstMs
}

test('no unauthenticated request delays another request by half a second', async (t) => {
  const broker = await sharedBroker()
  for (const [name, bytes] of Object.entries(expensiveRequests)) {
    let worstMs = Infinity
    for (let attempt = 0; attempt < attempts && worstMs >= 500; attempt++) {
      worstMs = await maxDelayMs(broker.url, bytes)
      t.diagnostic(`${name}: ${worstMs.toFixed(1)} ms`)
    }
    assert.ok(
      worstMs < 500,
      `${name}: another request waited ${worstMs.toFixed(0)} ms in the last of ${attempts} attempts`,
    )
  }
})

test('input that is not HTTP gets an error response like other invalid requests', async () => {
  const broker = await sharedBroker()
  for (const bytes of [
    'hello\r\n\r\n',
    '\u0010\u000c\u0000\u0004MQTT\u0004\u0002\u0000\u0000\u0000\u0000',
    'GET /api/v4/brokers HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    `GET /api/v4/brokers HTTP/1.1\r\nHost: a\r\nExpect: 200-maybe\r\n\r\n`,
    `GET /${'a'.repeat(600_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
  ]) {
    const { head, body } = await responseTo(broker, bytes)
    assert.match(head, /^HTTP\/1\.1 400 /, bytes.slice(0, 60))
    assert.match(head, /content-type: application\/json/i)
    assert.equal(JSON.parse(body).code, 108)
  }
  const { body } = await responseTo(broker, 'GET /api/v5/users HTTP/1.1\r\nHost: a\r\nExpect: 200-maybe\r\n\r\n')
  assert.equal(
    JSON.parse(body).reason,
    'BAD_REQUEST',
    'if the path is readable, the error has the format of its version',
  )
})

test('a method that HTTP or the API does not know is 405', async () => {
  const broker = await sharedBroker()
  const { head, body } = await responseTo(broker, 'METHOD /api/v4/brokers HTTP/1.1\r\nHost: a\r\n\r\n')
  assert.match(head, /^HTTP\/1\.1 405 [^]*Allow: GET, POST, PUT, DELETE/)
  assert.equal(JSON.parse(body).code, 102)
  const known = await broker.request('/api/v4/brokers', { method: 'PATCH' })
  assert.deepEqual([known.status, known.json.code], [405, 102])
})

test('percent-encoded letters in a path are equivalent to the letters, and parameters are decoded once', async () => {
  const broker = await sharedBroker()
  for (const path of ['/api/v4/%62rokers', '/%61pi/v4/acl/%24all', '/api/v4/clients?%63lientid=a']) {
    const response = await broker.request(path)
    assert.deepEqual([response.status, response.json.code], [200, 0], path)
  }
  const name = { username: 'a%62/%2F', password: 'p' }
  assert.equal((await broker.request('/api/v4/auth_username', { method: 'POST', body: name })).status, 200)
  const found = await broker.request(`/api/v4/auth_username/${encodeURIComponent(name.username)}`)
  assert.equal(found.json.data.username, name.username)
})

test('a path with an invalid escape is refused with 400 and code 108', async () => {
  const broker = await sharedBroker()
  const response = await broker.request('/api/v4/ctrl/%zz', { method: 'POST' })
  assert.deepEqual([response.status, response.json.code], [400, 108])
})

const longPath = (letters: number): string => `/api/v4/ctrl/${'%C3%A9'.repeat(letters)}`

test('over HTTP, address and headers have at most 16 KiB; at the control socket, paths may contain client IDs of maximum length', async () => {
  const broker = await sharedBroker()
  const read = await broker.request(longPath(2_500), { method: 'POST' })
  assert.deepEqual([read.status, read.json.code], [404, 101])
  const tooLong = await broker.request(longPath(2_731), { method: 'POST' })
  assert.deepEqual([tooLong.status, tooLong.json.code], [400, 108])
  assert.match(tooLong.json.message, /^address and headers are too long: maximum 16384 bytes$/)
  const local = await requestOverSocket(join(broker.dataDirectory, 'ctl.sock'), longPath(32_767), { method: 'POST' })
  assert.deepEqual([local.status, local.json.code], [404, 101])
})

async function responseTo({ url }: BrokerWithApi, bytes: string): Promise<{ head: string; body: string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.on('data', (chunk) => (text += chunk.toString()))
  // The broker may close the connection before it has read everything.
  socket.on('error', () => {})
  socket.write(bytes, 'latin1')
  await new Promise((resolve) => socket.on('close', resolve))
  const [head = '', ...body] = text.split('\r\n\r\n')
  return { head, body: body.join('') }
}

test('the first requests run, the next wait in order, and further ones are refused', async () => {
  const gate = new RequestLimiter(2, 2)
  const [first, second, third, fourth, fifth] = Array.from({ length: 5 }, () => gate.enter())
  const order: string[] = []
  void third?.admitted.then((mayGoOn) => order.push(`third ${mayGoOn}`))
  void fourth?.admitted.then((mayGoOn) => order.push(`fourth ${mayGoOn}`))
  assert.deepEqual(await Promise.all([first?.admitted, second?.admitted, fifth?.admitted]), [true, true, false])
  assert.deepEqual(order, [])
  second?.release()
  second?.release()
  assert.equal(await third?.admitted, true)
  assert.deepEqual(order, ['third true'], 'releasing a slot twice releases one slot')
  fifth?.release()
  first?.release()
  assert.equal(await fourth?.admitted, true)
})

test('a request that ends while it waits does not count', async () => {
  const gate = new RequestLimiter(1, 2)
  const [first, second, third] = Array.from({ length: 3 }, () => gate.enter())
  second?.release()
  first?.release()
  assert.equal(await third?.admitted, true)
  third?.release()
  assert.equal(await gate.enter().admitted, true)
})

test('if the limit grows, waiting requests start; if it shrinks, no running request is ended', async () => {
  const gate = new RequestLimiter(1, 4)
  const [first, second, third, fourth] = Array.from({ length: 4 }, () => gate.enter())
  gate.change(3)
  assert.deepEqual(await Promise.all([first?.admitted, second?.admitted, third?.admitted]), [true, true, true])
  gate.change(1)
  let hasStarted = false
  void fourth?.admitted.then(() => (hasStarted = true))
  first?.release()
  second?.release()
  await Promise.resolve()
  assert.equal(hasStarted, false)
  third?.release()
  assert.equal(await fourth?.admitted, true)
})

suite('the error for text that is not JSON names the field with the error', () => {
  const cases: readonly (readonly [string, string, number])[] = [
    ['', '', 1],
    ['nonsense', '', 1],
    ['{"topic":"a","qos":one}', 'qos', 1],
    ['{"topic":"a","payload":"x",,"qos":1}', 'payload', 1],
    ['{"topic":"a" "qos":1}', 'topic', 1],
    ['{"topic"}', 'topic', 1],
    ['{\n  "topic": "a",\n  "payload": "unfinished\n}', 'payload', 3],
    ['{"data":{"items":[{"qos":1},{"qos":01}]}}', 'data.items.1.qos', 1],
    ['[1,2,', '2', 1],
    ['[[],{},[3,x]]', '2.1', 1],
    ['{"a":{"b":"\\q"}}', 'a.b', 1],
    ['{"a":"\\u12"}', 'a', 1],
    ['{"a":1}}', '', 1],
    ['{"a":1}\n\n{"b":2}', '', 3],
    ["{'a':1}", '', 1],
    ['{"a":NaN}', 'a', 1],
    ['{"a":tru}', 'a', 1],
  ]
  for (const [text, path, line] of cases) {
    test(JSON.stringify(text), () => assert.deepEqual(findJsonFault(text), { path, line }))
  }
})

test('complete JSON has no error, and truncated JSON has an error in the line where it was truncated', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), fc.nat(), (text, cut) => {
      const spread = JSON.stringify(JSON.parse(text), undefined, 1)
      const lines = spread.split('\n').length
      assert.deepEqual(findJsonFault(spread), { path: '', line: lines })
      const at = cut % spread.length
      const broken = `${spread.slice(0, at)}\u0001`
      assert.ok(findJsonFault(broken).line <= broken.split('\n').length)
    }),
  )
})

test('deeply nested or long text takes linear time and does not overflow the stack', () => {
  assert.equal(findJsonFault('['.repeat(1_000_000)).path.length, 200)
  assert.deepEqual(findJsonFault(`{"a":"${'x'.repeat(1_000_000)}`), { path: 'a', line: 1 })
})
