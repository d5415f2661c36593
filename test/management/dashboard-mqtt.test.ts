import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { administrator, type BrokerWithApi, shareConfigurableBroker } from './api.ts'

const path = '/dashboard/mqtt'

interface Upgrade {
  readonly origin?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly path?: string
}

/** The status of the response to an upgrade. */
function statusOf(broker: BrokerWithApi, upgrade: Upgrade): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const clientRequest = request(`${broker.url}${upgrade.path ?? path}`, {
      headers: {
        connection: 'upgrade',
        upgrade: 'websocket',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-version': '13',
        'sec-websocket-protocol': 'mqtt',
        ...(upgrade.origin === undefined ? {} : { origin: upgrade.origin }),
        ...upgrade.headers,
      },
    })
    clientRequest.on('upgrade', (response, socket) => {
      socket.destroy()
      resolve(response.statusCode)
    })
    clientRequest.on('response', (response) => {
      response.resume()
      resolve(response.statusCode)
    })
    clientRequest.on('error', reject)
    clientRequest.end()
  })
}

function connectAs(broker: BrokerWithApi, clientId: string, options: object = {}): Promise<MqttClient> {
  return connectAsync({
    protocol: 'ws',
    hostname: '127.0.0.1',
    port: Number(new URL(broker.url).port),
    path,
    clientId,
    reconnectPeriod: 0,
    wsOptions: { headers: { origin: broker.url } },
    ...options,
  })
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

describe('MQTT clients of the dashboard', () => {
  test('have sessions on any shard, with the address of the browser', async (t) => {
    const clients = await Promise.all(
      Array.from({ length: 6 }, async (_, number) => connectAs(await configuredBroker(), `page-${number}`)),
    )
    t.after(() => Promise.all(clients.map((client) => client.endAsync(true))))
    const [first, ...others] = clients
    const received = others.map(
      (client) => new Promise<string>((resolve) => client.on('message', (_topic, payload) => resolve(String(payload)))),
    )
    await Promise.all(others.map((client) => client.subscribeAsync('page/#', { qos: 1 })))
    const long = 'x'.repeat(500_000)
    await first?.publishAsync('page/a', long, { qos: 1 })
    assert.deepEqual(
      await Promise.all(received),
      others.map(() => long),
    )
    const { json } = await (await configuredBroker()).request('/api/v4/clients/page-1')
    assert.equal(json.data[0].ip_address, '127.0.0.1')
    assert.equal(json.data[0].listener ?? 'mqtt:ws:dashboard', 'mqtt:ws:dashboard')
  })

  test('are accepted only from pages of the same origin', async () => {
    const { url } = await configuredBroker()
    const { port } = new URL(url)
    const cases: readonly (readonly [Upgrade, number])[] = [
      [{ origin: url }, 101],
      [{ origin: undefined }, 403],
      [{ origin: 'https://evil.example' }, 403],
      [{ origin: 'null' }, 403],
      // DNS rebinding: the page and the request name the same foreign host.
      [{ origin: `http://evil.example:${port}`, headers: { host: `evil.example:${port}` } }, 403],
      // A reverse proxy on this machine that is not configured.
      [{ origin: url, headers: { 'x-forwarded-for': '198.51.100.7' } }, 403],
      [{ origin: url, path: '/dashboard/other' }, 401],
    ]
    for (const [upgrade, status] of cases) {
      assert.equal(await statusOf(await configuredBroker(), upgrade), status, JSON.stringify(upgrade))
    }
  })

  test('do not affect requests with an Upgrade header for another protocol', async () => {
    const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`
    const headers = { upgrade: 'h2c', authorization }
    assert.equal(await statusOf(await configuredBroker(), { path: '/api/v4/nodes', headers }), 200)
  })

  test('connect through a socket that only the system user of the broker can open', async () => {
    const { mode } = statSync(join((await configuredBroker()).dataDirectory, 'dashboard.sock'))
    assert.equal(mode & 0o077, 0)
  })

  test('are refused while their listener is stopped', async () => {
    const started = await configuredBroker()
    const listed = await started.request('/api/v4/listeners')
    const { listeners } = listed.json.data[0]
    const own = listeners.find(({ identifier }: { identifier: string }) => identifier === 'mqtt:ws:dashboard')
    assert.equal(own.listen_on, '/dashboard/mqtt')
    const control = (action: string): ReturnType<BrokerWithApi['request']> =>
      started.request(`/api/v5/listeners/mqtt:ws:dashboard/${action}`, { method: 'POST' })
    assert.equal((await control('stop')).status, 200)
    assert.equal(await statusOf(started, { origin: started.url }), 503)
    assert.equal((await control('start')).status, 200)
    assert.equal(await statusOf(started, { origin: started.url }), 101)
    assert.equal((await control('restart')).status, 200)
    assert.equal(await statusOf(started, { origin: started.url }), 101)
  })
})

test('clients of the dashboard need credentials if anonymous clients are not allowed', async () => {
  const broker = await configuredBroker(['auth.allow_anonymous=false'])
  await broker.request('/api/v4/auth_username', {
    method: 'POST',
    body: { username: 'anna', password: 'a-secret-word' },
  })
  await assert.rejects(connectAs(broker, 'page'), /Not authorized|Bad/i)
  await assert.rejects(connectAs(broker, 'page', { username: 'anna', password: 'wrong' }), /Not authorized|Bad/i)
  const client = await connectAs(broker, 'page', { username: 'anna', password: 'a-secret-word' })
  await client.endAsync()
})

test('clients of the dashboard do not count as local with `dashboard.allow_origins`, and are refused if the dashboard is disabled', async () => {
  const broker = await configuredBroker(['dashboard.allow_origins=["https://broker.example"]'])
  assert.equal(await statusOf(broker, { origin: 'https://broker.example', headers: { 'x-forwarded-for': '::1' } }), 101)
  await assert.rejects(connectAs(broker, 'page'), /Not authorized/i, 'anonymous clients are accepted only on loopback')
  const change = (enable: boolean): ReturnType<BrokerWithApi['request']> =>
    broker.request('/api/v4/configuration/', { method: 'POST', body: { data: { dashboard: { enable } } } })
  assert.equal((await change(false)).status, 200)
  assert.equal(await statusOf(broker, { origin: 'https://broker.example' }), 404)
  const { text } = await broker.request('/api/v4/listeners')
  assert.doesNotMatch(text, /dashboard/)
  assert.equal((await change(true)).status, 200)
  assert.equal(await statusOf(broker, { origin: 'https://broker.example' }), 101)
})
