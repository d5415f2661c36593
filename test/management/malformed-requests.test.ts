import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { join } from 'node:path'
import { type BrokerWithApi, shareBrokerWithApi } from './api.ts'
import { requestOverSocket } from './http.ts'

const sharedBroker = shareBrokerWithApi()

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

const path = (letters: number): string => `/api/v4/ctrl/${'%C3%A9'.repeat(letters)}`

test('over HTTP, address and headers have at most 16 KiB; at the control socket, paths may contain client IDs of maximum length', async () => {
  const broker = await sharedBroker()
  const read = await broker.request(path(2_500), { method: 'POST' })
  assert.deepEqual([read.status, read.json.code], [404, 101])
  const tooLong = await broker.request(path(2_731), { method: 'POST' })
  assert.deepEqual([tooLong.status, tooLong.json.code], [400, 108])
  assert.match(tooLong.json.message, /^address and headers are too long: maximum 16384 bytes$/)
  const local = await requestOverSocket(join(broker.dataDirectory, 'ctl.sock'), path(32_767), { method: 'POST' })
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
