import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { request as openRequest } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { administrator, type ApiResponse, type RequestOptions, startBrokerWithApi } from '../management/api.ts'
import { changeSettings, emptyBroker } from './brokers.ts'

const request = async (path: string, options: RequestOptions = {}): Promise<ApiResponse> =>
  (await emptyBroker()).request(path, { as: null, ...options })

describe('the dashboard over HTTP', () => {
  test('needs no login, and its policy allows its own scripts only', async () => {
    const page = await request('/dashboard/')
    assert.equal(page.status, 200)
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.equal(
      page.headers.get('content-security-policy'),
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'",
    )
    assert.equal(page.headers.get('x-frame-options'), 'DENY')
    assert.equal(page.headers.get('x-content-type-options'), 'nosniff')
    assert.equal(page.headers.get('referrer-policy'), 'no-referrer')
    assert.equal(page.headers.get('cross-origin-opener-policy'), 'same-origin')
    assert.equal(page.headers.get('cache-control'), 'no-cache')
    assert.doesNotMatch(page.text, /<style|style=|onload=|<script(?![^>]*src=)/)
  })

  test('assets can be cached permanently, and are compressed', async () => {
    const { text } = await request('/dashboard/')
    const assets = [...text.matchAll(/(?:src|href)="(assets\/[^"]+)"/g)].map(([, path]) => path)
    assert.ok(assets.length >= 2)
    for (const path of assets) {
      const asset = await request(`/dashboard/${path}`)
      assert.equal(asset.status, 200, path)
      assert.match(asset.headers.get('cache-control') ?? '', /immutable/)
      assert.match(asset.headers.get('content-encoding') ?? '', /^(br|gzip)$/)
      const plain = await request(`/dashboard/${path}`, { headers: { 'accept-encoding': 'identity' } })
      assert.equal(plain.headers.get('content-encoding'), null)
      assert.equal(plain.text, asset.text)
    }
  })

  test('the page with the MQTT client has at most 16 KiB compressed: the client brings nothing of the broker along', () => {
    const assets = join(import.meta.dirname, '../../dist/dashboard/assets')
    const [page] = readdirSync(assets).filter((name) => /^websocket-.*\.js\.br$/.test(name))
    assert.ok(page !== undefined)
    const { size } = statSync(join(assets, page))
    assert.ok(size <= 16_384, `${size} bytes`)
  })

  test('other requests are refused: unknown names, paths out of the folder, other methods', async () => {
    for (const path of ['/dashboard/assets/nothing.js', '/dashboard/assets/..%2f..%2fpackage.json', '/dashboard/x']) {
      const response = await request(path, { as: 'admin:a-password-for-tests' })
      assert.equal(response.status, 404, path)
      assert.equal(response.json.code, 102, path)
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'PATCH'] as const) {
      const { status } = await request('/dashboard/', { method })
      assert.ok(status >= 400 && status < 500, `${method} ${status}`)
    }
  })

  test('a browser at the root is redirected to it, and other programs are not', async () => {
    const { url } = await emptyBroker()
    assert.deepEqual(await redirectOf(`${url}/`, 'text/html,*/*'), { status: 302, location: 'dashboard/' })
    assert.deepEqual(await redirectOf(`${url}/dashboard`, '*/*'), { status: 302, location: 'dashboard/' })
    assert.deepEqual(await redirectOf(`${url}/`, 'application/json'), { status: 401, location: undefined })
  })

  test('a request from a page of another site is refused, even with the token of a login', async () => {
    const login = await request('/api/v5/login', {
      method: 'POST',
      body: { username: 'admin', password: 'a-password-for-tests' },
    })
    const headers = { authorization: `Bearer ${login.json.token}`, origin: 'https://evil.example' }
    const foreign = await request('/api/v4/mqtt/publish', {
      method: 'POST',
      body: { topic: 'a', payload: '' },
      headers,
    })
    assert.equal(foreign.status, 403)
  })
})

test('with `dashboard.enable = false` no file of the dashboard is served', async (t) => {
  const broker = await emptyBroker()
  await changeSettings(t, broker, { dashboard: { enable: false } }, { dashboard: { enable: true, allow_origins: [] } })
  for (const path of ['/dashboard/', '/dashboard', '/dashboard/assets/a.js']) {
    const { status, json } = await broker.request(path, { as: null })
    assert.deepEqual([status, json.code], [404, 102])
  }
  assert.deepEqual(await redirectOf(`${broker.url}/`, 'text/html'), { status: 200, location: undefined })
  const changed = await broker.request('/api/v4/configuration/', {
    method: 'POST',
    body: { data: { dashboard: { enable: true, allow_origins: ['https://broker.example'] } } },
  })
  assert.equal(changed.status, 200, changed.text)
  const proxied = await broker.request('/api/v4/mqtt/publish', {
    method: 'POST',
    body: { topic: 'a', payload: '' },
    headers: { origin: 'https://broker.example' },
  })
  assert.equal(proxied.status, 200, 'an allowed origin')
})

function redirectOf(
  url: string,
  accept: string,
): Promise<{ status: number | undefined; location: string | undefined }> {
  return new Promise((resolve, reject) => {
    openRequest(url, { headers: { accept } }, (response) => {
      response.resume()
      resolve({ status: response.statusCode, location: response.headers.location })
    })
      .on('error', reject)
      .end()
  })
}

test('with `dashboard.bind` page and API have a separate address, which can be changed at runtime', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['dashboard.bind="127.0.0.1:0"'] })
  const [, url = ''] = await broker.process.until(/dashboard +(http:\/\/127\.0\.0\.1:\d+)\/dashboard\//)
  assert.notEqual(url, broker.url)
  const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`
  const statusOf = async (path: string): Promise<number> =>
    (await fetch(`${url}${path}`, { headers: { authorization } })).status
  assert.equal(await statusOf('/dashboard/'), 200)
  assert.equal(await statusOf('/api/v4/nodes'), 200)
  assert.equal((await fetch(`${url}/api/v4/nodes`)).status, 401)
  const change = (bind: string): Promise<ApiResponse> =>
    broker.request('/api/v4/configuration/', { method: 'POST', body: { data: { dashboard: { bind } } } })
  const taken = await change(new URL(broker.url).host)
  assert.equal(taken.status, 400, taken.text)
  assert.equal(await statusOf('/dashboard/'), 200, 'as before')
})

test('an API without login is served on loopback only, also at the address of the page', async (t) => {
  const set = ['http_server.auth_type=no_auth', 'dashboard.bind="0.0.0.0:0"']
  await assert.rejects(startBrokerWithApi(t, { set }), /no_auth is for loopback only/)
})
