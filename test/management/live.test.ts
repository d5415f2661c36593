// Traces, GET /live, which streams messages as they arrive, and MQTT clients of the dashboard.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { compileShape } from '../../src/contract/index.ts'
import { traceEndpoints } from '../../src/api/traces/endpoints.ts'
import { eventually } from '../e2e/eventually.ts'
import { administrator, type BrokerWithApi, shareConfigurableBroker } from './api.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

const tracePath = '/api/v4/trace'

type TraceLine = Record<string, string | number>

async function post(broker: BrokerWithApi, body: unknown): Promise<[number, number]> {
  const { status, json } = await broker.request(tracePath, { method: 'POST', body })
  return [status, json.code]
}

/** Waits for a line that meets the condition, and returns all lines except the first, which is the header. */
function linesUntil(
  broker: BrokerWithApi,
  name: string,
  condition: (line: TraceLine) => boolean,
): Promise<TraceLine[]> {
  return eventually(async () => {
    const { text } = await broker.request(`${tracePath}/${name}/download`)
    const lines = text
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line))
    assert.ok(lines.some(condition), text)
    return lines
  })
}

test('a trace by client ID contains packets and events of the client from all shards, without payloads and passwords', async (t) => {
  const broker = await configuredBroker()
  const odd = 'odd\nclient \u001b[31m'
  assert.deepEqual(await post(broker, { name: 'by-client', type: 'clientid', clientid: odd }), [200, 0])
  const url = `mqtt://127.0.0.1:${broker.port}`
  const traced = await connectAsync(url, { clientId: odd, username: 'u', password: 'secret-password' })
  const other = await connectAsync(url, { clientId: 'other' })
  t.after(() => other.end(true))
  await traced.subscribeAsync('plant/#', { qos: 1 })
  await other.publishAsync('plant/heat', 'secret-payload', { qos: 1 })
  await traced.publishAsync('elsewhere', 'secret-payload', { qos: 1 })
  await traced.endAsync()
  const lines = await linesUntil(broker, 'by-client', ({ what }) => what === 'client-disconnected')
  assert.ok(
    lines.every(({ clientid }) => clientid === odd),
    'only lines of the traced client',
  )
  const steps = lines.map(({ what, packet, topic }) => [what, packet, topic].filter(Boolean).join(' '))
  for (const step of [
    'received connect',
    'client-connected',
    'sent connack',
    'subscribed plant/#',
    'sent publish plant/heat',
    'received publish elsewhere',
    'received disconnect',
  ])
    assert.ok(steps.includes(step), `${step} in ${steps.join(', ')}`)
  const { text } = await broker.request(`${tracePath}/by-client/download`)
  for (const absent of ['secret', '\u001b']) assert.ok(!text.includes(absent))
  assert.equal((await broker.request(`${tracePath}/by-client`, { method: 'DELETE' })).status, 200)
})

test('traces by topic and by address are listed while they run, and deleted with their files', async (t) => {
  const broker = await configuredBroker()
  assert.deepEqual(await post(broker, { name: 'heat', type: 'topic', topic: 'plant/+/heat', duration: 60 }), [200, 0])
  assert.deepEqual(await post(broker, { name: 'here', type: 'ip_address', ip_address: '127.0.0.1' }), [200, 0])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'sensor' })
  t.after(() => client.end(true))
  await client.publishAsync('plant/1/cold', 'x', { qos: 1 })
  await client.publishAsync('plant/1/heat', 'x', { qos: 1 })
  const heat = await linesUntil(broker, 'heat', ({ topic }) => topic === 'plant/1/heat')
  assert.equal(heat.length, 1)
  await linesUntil(broker, 'here', ({ topic }) => topic === 'plant/1/cold')
  const { json } = await broker.request(tracePath)
  assert.equal(compileShape(traceEndpoints.list_traces.reply).findFault(json), undefined)
  assert.deepEqual(
    json.data.map((trace: TraceLine) => [
      trace['name'],
      trace['type'],
      trace['topic'] ?? trace['ip_address'],
      trace['status'],
    ]),
    [
      ['heat', 'topic', 'plant/+/heat', 'running'],
      ['here', 'ip_address', '127.0.0.1', 'running'],
    ],
  )
  assert.deepEqual((await broker.request(`${tracePath}/heat`, { method: 'DELETE' })).json, { code: 0 })
  assert.deepEqual(await readdir(join(broker.dataDirectory, 'trace')), ['here.jsonl'])
  assert.deepEqual((await broker.request(tracePath, { method: 'DELETE' })).json, { code: 0 })
  assert.deepEqual(await readdir(join(broker.dataDirectory, 'trace')), [])
})

test('a trace stops after its duration, and its file remains', async () => {
  const broker = await configuredBroker()
  await post(broker, { name: 'short', type: 'clientid', clientid: 'nobody', duration: 1 })
  await eventually(async () => assert.equal((await broker.request(tracePath)).json.data[0].status, 'stopped'))
  assert.equal((await broker.request(`${tracePath}/short/download`)).status, 200)
})

test('a trace is stopped by a request, and its file remains; the end may be given as a time', async () => {
  const broker = await configuredBroker()
  const endsAt = new Date(Date.now() + 3_600_000).toISOString()
  assert.deepEqual(await post(broker, { name: 'timed', type: 'topic', topic: 'a', end_at: endsAt }), [200, 0])
  const stop = async (name: string): Promise<[number, number]> => {
    const { status, json } = await broker.request(`${tracePath}/${name}/stop`, { method: 'PUT' })
    return [status, json.code]
  }
  assert.deepEqual(await stop('timed'), [200, 0])
  const { json } = await broker.request(tracePath)
  assert.equal(json.data.find((trace: TraceLine) => trace['name'] === 'timed').status, 'stopped')
  assert.equal((await broker.request(`${tracePath}/timed/download`)).status, 200)
  assert.deepEqual(await stop('nothing'), [404, 108])
  const past = new Date(Date.now() - 1_000).toISOString()
  for (const when of [{ end_at: past }, { end_at: 'soon' }, { end_at: endsAt, duration: 5 }])
    assert.deepEqual(await post(broker, { name: 'never', type: 'topic', topic: 'a', ...when }), [400, 108])
})

test('invalid traces are refused: names that could be paths, missing values, invalid filters, existing names', async () => {
  const broker = await configuredBroker()
  for (const name of ['', '../secrets', 'a/b', 'a.b', '%2e%2e', 'a\u0000', 'x'.repeat(65)])
    assert.deepEqual(await post(broker, { name, type: 'clientid', clientid: 'a' }), [400, 108], JSON.stringify(name))
  assert.deepEqual(await post(broker, { name: 'a', type: 'clientid', topic: 'b' }), [400, 107])
  assert.deepEqual(await post(broker, { type: 'clientid', clientid: 'b' }), [400, 107])
  assert.deepEqual(await post(broker, { name: 'a', type: 'colour', clientid: 'b' }), [400, 108])
  assert.deepEqual(await post(broker, { name: 'a', type: 'topic', topic: 'a/#/b' }), [400, 115])
  assert.deepEqual(await post(broker, 'no json'), [400, 109])
  assert.deepEqual(await post(broker, { name: 'a', type: 'topic', topic: 'a/#' }), [200, 0])
  assert.deepEqual(await post(broker, { name: 'a', type: 'topic', topic: 'a/#' }), [400, 108])
  for (const request of [
    { method: 'DELETE', at: `${tracePath}/none` } as const,
    { method: 'GET', at: `${tracePath}/none/download` } as const,
  ]) {
    const { status, json } = await broker.request(request.at, { method: request.method })
    assert.deepEqual([status, json.code], [404, 108])
  }
  const outside = await broker.request(`${tracePath}/..%2fnode/download`)
  assert.deepEqual([outside.status, outside.json.code], [400, 108])
})

interface Line {
  readonly topic?: string
  readonly payload_base64?: string
  readonly retain?: boolean
  readonly truncated?: boolean
  readonly size?: number
  readonly clientid?: string
  readonly left_out?: number
}

interface Live {
  readonly status: number
  next(): Promise<Line>
  end(): void
}

async function watch(broker: BrokerWithApi, query: string): Promise<Live> {
  const ending = new AbortController()
  const authorization = `Basic ${Buffer.from(administrator).toString('base64')}`
  const response = await fetch(`${broker.url}/api/v5/live?${query}`, {
    headers: { authorization },
    signal: ending.signal,
  })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  const next = async (): Promise<Line> => {
    for (;;) {
      const [line = '', ...more] = rest.split('\n')
      if (more.length > 0) {
        rest = more.join('\n')
        const read = JSON.parse(line) as Line & { readonly heartbeat?: number }
        if (read.heartbeat === undefined) return read
        continue
      }
      const piece = await reader?.read()
      assert.equal(piece?.done, false, 'the stream ended')
      rest += piece?.value ?? ''
    }
  }
  return { status: response.status, next, end: () => ending.abort() }
}

describe('live messages', () => {
  test('contain retained messages first, then messages of clients on all shards, with truncated payloads', async (t) => {
    const broker = await configuredBroker()
    const clients = await Promise.all(
      ['a', 'b', 'c', 'd'].map((clientId) => connectAsync({ port: broker.port, clientId: `live-${clientId}` })),
    )
    t.after(() => Promise.all(clients.map((client) => client.endAsync(true))))
    await clients[0]?.publishAsync('plant/kept', 'old', { retain: true, qos: 1 })
    const live = await watch(broker, 'topic=plant/%23&max_bytes=4')
    t.after(() => live.end())
    assert.equal(live.status, 200)
    const retained = await live.next()
    assert.deepEqual([retained.topic, retained.retain], ['plant/kept', true])
    for (const [at, client] of clients.entries()) await client.publishAsync(`plant/${at}`, 'longer', { qos: 1 })
    await clients[0]?.publishAsync('other/1', 'not watched', { qos: 1 })
    const seen = [await live.next(), await live.next(), await live.next(), await live.next()]
    assert.deepEqual(
      seen.map(({ topic = '' }) => topic).toSorted((a, b) => a.localeCompare(b)),
      ['plant/0', 'plant/1', 'plant/2', 'plant/3'],
    )
    assert.deepEqual(
      seen.map(({ clientid = '' }) => clientid).toSorted((a, b) => a.localeCompare(b)),
      ['live-a', 'live-b', 'live-c', 'live-d'],
    )
    for (const { payload_base64: payload = '', size, truncated } of seen) {
      assert.deepEqual([Buffer.from(payload, 'base64').toString(), size, truncated], ['long', 6, true])
    }
  })

  test('above `max_rate` are omitted and counted, and the publisher does not wait', async (t) => {
    const broker = await configuredBroker()
    const client = await connectAsync({ port: broker.port })
    t.after(() => client.endAsync(true))
    const live = await watch(broker, 'topic=flood/%23&max_rate=10')
    t.after(() => live.end())
    const begunMs = performance.now()
    await Promise.all(Array.from({ length: 500 }, () => client.publishAsync('flood/1', 'x', { qos: 1 })))
    let shown = 0
    let omitted = 0
    while (shown + omitted < 500) {
      const line = await live.next()
      if (line.left_out === undefined) shown += 1
      else omitted += line.left_out
    }
    assert.equal(shown + omitted, 500)
    // The rate applies to whole seconds, so the first and the last second count in full.
    const max = 10 * ((performance.now() - begunMs) / 1_000 + 2)
    assert.ok(shown >= 10 && shown <= max, `${shown} of at most ${max} shown, ${omitted} left out`)
  })

  test('are limited to eight simultaneous streams; the end of a stream frees a slot', async (t) => {
    const broker = await configuredBroker()
    const open: Live[] = []
    t.after(() => open.forEach((live) => live.end()))
    // The broker may notice the end of a stream of another test later.
    while (open.length < 8) {
      const live = await watch(broker, 'topic=x')
      if (live.status === 200) open.push(live)
      else live.end()
    }
    const refused = await broker.request('/api/v5/live?topic=x')
    assert.deepEqual([refused.status, refused.json.reason], [409, 'CONFLICT'])
    open[0]?.end()
    for (;;) {
      const again = await watch(broker, 'topic=x')
      t.after(() => again.end())
      if (again.status === 200) break
    }
  })

  test('are refused to viewers, and with an invalid filter', async () => {
    const broker = await configuredBroker()
    await broker.request('/api/v5/users', {
      method: 'POST',
      body: { username: 'looker', password: 'a-lookers-password', role: 'viewer' },
    })
    assert.equal((await broker.request('/api/v5/live?topic=a', { as: 'looker:a-lookers-password' })).status, 403)
    for (const topic of ['', 'a%23', '$share/g/a']) {
      assert.equal((await broker.request(`/api/v5/live?topic=${topic}`)).status, 400, topic)
    }
  })
})

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
