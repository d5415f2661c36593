// Requests with small mistakes: the error suggests the correct path, method or key, and each client can read it.

import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, test } from 'node:test'
import { testLength } from '../test-length.ts'
import { administrator, shareConfigurableBroker, type BrokerWithApi } from './api.ts'

const configuredBroker = shareConfigurableBroker()

async function messageOf(
  path: string,
  method: 'GET' | 'POST' | 'DELETE',
  body?: unknown,
): Promise<[status: number, message: string]> {
  const broker = await configuredBroker()
  const response = await broker.request(path, { method, body })
  return [response.status, response.json?.message ?? '']
}

describe('the error for an unknown path or method suggests the correct one:', () => {
  const cases = [
    ['GET', '/api/v4/mqtt/publish', /; use POST$/],
    ['POST', '/api/v4/brokers', /; use GET$/],
    ['POST', '/api/v4/bridges/br1', /; use GET or PUT or DELETE$/],
    ['GET', '/api/v4/client', /did you mean \/api\/v4\/clients\?/],
    ['GET', '/api/v4/cleints/some-id', /did you mean \/api\/v4\/clients\/some-id\?/],
    ['GET', '/api/v5/usres', /did you mean \/api\/v5\/users\?/],
    ['GET', '/nothing/like/this/at/all', /^there is no GET \/nothing\/like\/this\/at\/all$/],
  ] as const
  for (const [method, path, expected] of cases) {
    test(`${method} ${path}`, async () => {
      const [status, message] = await messageOf(path, method, method === 'GET' ? undefined : {})
      assert.equal(status, 404)
      assert.match(message, expected)
    })
  }
})

test('GET / names the broker to authenticated programs, and to browsers if the dashboard is disabled', async () => {
  const broker = await configuredBroker()
  const unknown = await broker.request('/', { as: null })
  assert.deepEqual([unknown.status, unknown.json.code], [401, 104])
  assert.match((await broker.request('/')).text, /Godwit MQTT broker[^]*\/api\/docs/)
  const bare = await configuredBroker(['dashboard.enable=false'])
  const response = await fetch(new URL('/', bare.url), { headers: { accept: 'text/html' } })
  assert.equal(response.status, 200)
  assert.match(await response.text(), /Godwit MQTT broker[^]*\/api\/docs/)
})

test('a key that differs from a known key only by case or by one letter is refused, also in a batch', async () => {
  const message = { topic: 'a', payload: 'x', Qos: 1 }
  assert.deepEqual(await messageOf('/api/v4/mqtt/publish', 'POST', message), [
    400,
    '"Qos" in the body is not known; did you mean qos?',
  ])
  const broker = await configuredBroker()
  const batch = await broker.request('/api/v4/mqtt/publish_batch', {
    method: 'POST',
    body: [message, { topic: 'a', payload: 'x' }],
  })
  assert.deepEqual(
    batch.json.data.map(({ code }: { code: number }) => code),
    [108, 0],
  )
  const nested = { topic: 'a', payload: 'x', properties: { Content_Type: 'text' } }
  assert.match((await messageOf('/api/v4/mqtt/publish', 'POST', nested))[1], /did you mean content_type\?/)
  for (const key of ['qoss', 'qs', 'retian', 'retan', 'Payloadd']) {
    const [status, text] = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', [key]: 1 })
    assert.equal(status, 400, key)
    assert.equal(/did you mean (\w+)\?/.test(text), key !== 'qs', `${key}: ${text}`)
  }
  for (const key of ['more', 'topicality', 'qoz', 'ratain']) {
    const message = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', payload: 'x', [key]: 1 })
    assert.deepEqual(message, [200, ''], key)
  }
})

test('a lone surrogate is refused in payloads and in topics', async () => {
  assert.match(
    (await messageOf('/api/v4/mqtt/publish', 'POST', { topic: 'a', payload: '\ud800' }))[1],
    /lone surrogate/,
  )
  assert.equal((await messageOf('/api/v4/mqtt/publish', 'POST', { topic: '\ud800', payload: 'x' }))[0], 400)
})

test('error messages shorten long values', async () => {
  const [status, message] = await messageOf('/api/v4/mqtt/publish', 'POST', { topic: '#'.repeat(60_000), payload: 'x' })
  assert.equal(status, 400)
  assert.ok(message.length < 200)
})

test('creating an existing user has code 113 in version 5, as in version 4', async () => {
  const broker = await configuredBroker()
  const body = { username: 'twice', password: 'a-password-1', role: 'viewer' }
  await broker.request('/api/v5/users', { method: 'POST', body })
  const again = await broker.request('/api/v5/users', { method: 'POST', body })
  assert.deepEqual([again.status, again.json.code, again.json.reason], [400, 113, 'BAD_REQUEST'])
})

/** Like most HTTP libraries, reads nothing before everything is sent. */
function sendAllFirst(broker: BrokerWithApi, bytes: number): Promise<number | string | undefined> {
  return new Promise((resolve) => {
    const headers = { authorization: `Basic ${btoa(administrator)}`, 'content-length': bytes }
    const sending = request(new URL('/api/v4/mqtt/publish', broker.url), { method: 'POST', headers })
    sending.once('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    sending.once('error', (error: NodeJS.ErrnoException) => resolve(error.code))
    const piece = Buffer.alloc(65_536, 97)
    let left = bytes
    const write = (): void => {
      while (left > 0) {
        const part = piece.subarray(0, Math.min(left, piece.length))
        left -= part.length
        if (!sending.write(part)) return void sending.once('drain', write)
      }
      sending.end()
    }
    write()
  })
}

test('a client that sends a whole oversized body before it reads gets 400', async () => {
  const broker = await configuredBroker()
  for (let time = 0; time < testLength({ daily: 2, long: 5 }); time++)
    assert.equal(await sendAllFirst(broker, 20_000_000), 400)
})
