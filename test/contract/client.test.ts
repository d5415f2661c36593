import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { formatBasicAuthorization, createClient } from '../../src/contract/index.ts'
import { administrator, shareBrokerWithApi } from '../management/api.ts'
import { endpoints } from '../../src/api/endpoints.ts'

const [name = '', password = ''] = administrator.split(':')
const runningBroker = shareBrokerWithApi()

test('a call returns the typed reply, over HTTP with a name and a password', async () => {
  const { url } = await runningBroker()
  const client = createClient(endpoints, { at: { url }, authorization: formatBasicAuthorization(name, password) })
  const brokers = await client.list_brokers()
  assert.ok('reply' in brokers)
  assert.equal(brokers.reply.data[0]?.node_status, 'Running')
  const listed = await client.list_endpoints()
  assert.ok('reply' in listed)
  assert.ok(listed.reply.data.some((entry) => entry.name === 'list_brokers' && entry.path === '/brokers'))
  const page = await client.get_api_page()
  assert.ok('reply' in page)
  assert.match(page.reply, /^<!doctype html>/)
})

test('a refused request returns a value with code, status and message', async () => {
  const { url } = await runningBroker()
  const unauthenticated = await createClient(endpoints, { at: { url } }).list_brokers()
  assert.ok('failure' in unauthenticated)
  const { kind, code, status } = unauthenticated.failure
  assert.deepEqual({ kind, code, status }, { kind: 'refused', code: 104, status: 401 })
  assert.notEqual(unauthenticated.failure.message, '')
})

test('the failure shows that nothing listens, or that another program listens', async (t) => {
  const url = await serve(t, (_request, response) => response.end('<html>hello'))
  const other = await createClient(endpoints, { at: { url } }).list_brokers()
  assert.ok('failure' in other)
  assert.equal(other.failure.kind, 'not-understood')
  const nowhere = await createClient(endpoints, { at: { socketPath: '/nowhere/ctl.sock' } }).list_brokers()
  assert.ok('failure' in nowhere)
  assert.equal(nowhere.failure.kind, 'unreachable')
  const wrong = await createClient(endpoints, { at: { url: 'not a url' } }).list_brokers()
  assert.ok('failure' in wrong)
  assert.equal(wrong.failure.kind, 'unreachable')
})

test('a late response and an incomplete response are different failures', async (t) => {
  const silent = await serve(t, () => {})
  const late = await createClient(endpoints, { at: { url: silent }, timeoutMs: 50 }).list_brokers()
  assert.ok('failure' in late)
  assert.match(late.failure.message, /no response within 0.05 s/)
  const broken = await serve(t, (_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('{', () => response.destroy())
  })
  const half = await createClient(endpoints, { at: { url: broken } }).list_brokers()
  assert.ok('failure' in half)
  assert.match(half.failure.message, /the response was interrupted/)
})

async function serve(
  t: TestContext,
  respond: (request: IncomingMessage, response: ServerResponse) => unknown,
): Promise<string> {
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
