// Requirements of the contract of rules that no other test covers: names of metrics, stored results of actions, both versions of the API.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { HttpService } from './http-service.ts'

const shared = shareBrokerWithApi({ set: ['node.shards=1'] })

async function connect(t: { after(work: () => unknown): void }, port: number) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { clientId: 'p' })
  t.after(() => client.end(true))
  return client
}

describe('E5 metrics', () => {
  test('FOREACH without items counts as no result; with items it counts as passed once, and each item runs the action', async (t) => {
    const broker = await shared()
    const sql = 'FOREACH payload.l AS e DO e / payload.d AS v FROM "each"'
    const rule = { id: 'each', sql, actions: [{ function: 'console' }] }
    assert.equal((await broker.request('/api/v5/rules', { method: 'POST', body: rule })).status, 201)
    const client = await connect(t, broker.port)
    for (const payload of ['{"l":[1,2,3],"d":1}', '{"l":[],"d":1}', '{"d":1}', '{"l":[1],"d":0}'])
      await client.publishAsync('each', payload, { qos: 1 })
    const { metrics, node_metrics } = (await broker.request('/api/v5/rules/each/metrics')).json
    assert.deepEqual(
      Object.fromEntries(Object.entries(metrics as object).filter(([name]) => !name.startsWith('matched.rate'))),
      {
        matched: 4,
        passed: 1,
        failed: 3,
        'failed.exception': 1,
        'failed.no_result': 2,
        'actions.total': 3,
        'actions.success': 3,
        'actions.failed': 0,
        'actions.discarded': 0,
        last_error: metrics.last_error,
      },
    )
    assert.match(metrics.last_error, /division by zero/)
    for (const rate of ['matched.rate', 'matched.rate.max', 'matched.rate.last5m'])
      assert.equal(typeof metrics[rate], 'number', rate)
    assert.deepEqual(node_metrics[0].metrics.matched, 4)
    const old = (await broker.request('/api/v4/rules/rule:each')).json.data
    const [node] = old.metrics
    assert.deepEqual([node.matched, node.passed, node.failed, node.exception, node.no_result], [4, 1, 3, 1, 2])
    for (const speed of ['speed', 'speed_max', 'speed_last5m']) assert.equal(typeof node[speed], 'number', speed)
    const [action] = old.actions[0].metrics
    assert.deepEqual([action.success, action.failed, action.taken], [3, 0, 3])
    assert.equal((await broker.request('/api/v5/rules/each/metrics/reset', { method: 'PUT' })).status, 204)
    const after = (await broker.request('/api/v5/rules/each/metrics')).json.metrics
    assert.deepEqual([after.matched, after['actions.total'], after.last_error], [0, 0, ''])
  })
})

describe('E6 version 5', () => {
  test('a stored rule is tested on a context; no match is 412, an error 400, another rule 404', async () => {
    const broker = await shared()
    const rule = { id: 'queried', sql: 'SELECT payload.a / qos AS v FROM "t/#" WHERE payload.a > 1', actions: [] }
    assert.equal((await broker.request('/api/v5/rules', { method: 'POST', body: rule })).status, 201)
    const request = (id: string, context: object) =>
      broker.request(`/api/v5/rules/${id}/test`, { method: 'POST', body: { context } })
    const event_type = 'message_publish'
    const found = await request('queried', { event_type, topic: 't/1', qos: 1, payload: '{"a":2}' })
    assert.deepEqual([found.status, found.json], [200, { v: 2 }])
    const unmatched = await request('queried', { event_type, topic: 't/1', qos: 1, payload: '{"a":1}' })
    assert.deepEqual([unmatched.status, unmatched.json.reason], [412, 'NOT_MATCH'])
    assert.equal((await request('queried', { event_type, topic: 't/1', qos: 0, payload: '{"a":2}' })).status, 400)
    assert.equal((await request('missing', {})).status, 404)
  })

  test('actions are enabled and disabled, their metrics are reset, and a probe of an unavailable service fails', async (t) => {
    const broker = await shared()
    const service = await HttpService.start(t)
    const post = async (path: string, body: object, status = 201) => {
      const response = await broker.request(`/api/v5${path}`, { method: 'POST', body })
      assert.equal(response.status, status, response.text)
      return response.json
    }
    const url = `http://127.0.0.1:${service.port}`
    await post('/connectors_probe', { type: 'http', name: 'x', url }, 204)
    const away = await post('/connectors_probe', { type: 'http', name: 'x', url: 'http://127.0.0.1:9' }, 400)
    assert.equal(away.reason, 'TEST_FAILED')
    await post('/connectors', { type: 'http', name: 'local', url })
    await post('/actions', { type: 'http', name: 'hook', connector: 'local', parameters: { body: '${payload}' } })
    await post('/rules', { id: 'hooked', sql: 'SELECT payload FROM "hooked"', actions: ['http:hook'] })
    const used = await broker.request('/api/v5/connectors/http:local', { method: 'DELETE' })
    assert.deepEqual([used.status, used.json.reason], [400, 'BAD_REQUEST'])
    const enable = async (is: boolean) => {
      const { status } = await broker.request(`/api/v5/actions/http:hook/enable/${is}`, { method: 'PUT' })
      assert.equal(status, 204)
    }
    const client = await connect(t, broker.port)
    await enable(false)
    await client.publishAsync('hooked', 'while disabled', { qos: 1 })
    const metrics = async () => (await broker.request('/api/v5/actions/http:hook/metrics')).json.metrics
    assert.equal((await metrics()).queuing, 1)
    // Stored results keep the body that was rendered when they were stored.
    const sql = { sql: 'SELECT 0 AS payload FROM "hooked"', actions: ['http:hook'] }
    assert.equal((await broker.request('/api/v5/rules/hooked', { method: 'PUT', body: sql })).status, 200)
    assert.equal(service.received.length, 0)
    await enable(true)
    await service.until((received) => received.length > 0)
    assert.equal(service.received[0]?.body, 'while disabled')
    await eventually(async () => assert.equal((await metrics()).success, 1))
    assert.equal((await broker.request('/api/v5/actions/http:hook/metrics/reset', { method: 'PUT' })).status, 204)
    const { matched, success } = await metrics()
    assert.deepEqual([matched, success], [0, 0])
  })
})

describe('E8 a full queue', () => {
  test('drops results of QoS 0 messages and counts them, with an alarm until the queue has space', async (t) => {
    const service = await HttpService.prepare(t)
    const options = { max_buffer_messages: 2, retry_interval: '20ms', health_check_interval: '100ms' }
    const broker = await shared()
    const post = async (path: string, body: object): Promise<void> => {
      const response = await broker.request(`/api/v5/${path}`, { method: 'POST', body })
      assert.equal(response.status, 201, response.text)
    }
    await post('connectors', { type: 'http', name: 'full', url: `http://127.0.0.1:${service.port}` })
    const parameters = { body: '${payload}' }
    await post('actions', { type: 'http', name: 'full', connector: 'full', parameters, resource_opts: options })
    await post('rules', { id: 'full', sql: 'SELECT payload FROM "full"', actions: ['http:full'] })
    const alarms = async (): Promise<{ readonly name: string; readonly message: string }[]> =>
      (await broker.request('/api/v4/alarms/activated')).json.data.flatMap((node: { alarms: object[] }) => node.alarms)
    const client = await connect(t, broker.port)
    for (const payload of ['1', '2', '3', '4']) await client.publishAsync('full', payload, { qos: 0 })
    // The PUBACK follows the handling of all earlier messages of this connection.
    await client.publishAsync('elsewhere', 'x', { qos: 1 })
    const {
      'dropped.queue_full': dropped,
      queuing,
      inflight,
    } = (await broker.request('/api/v5/actions/http:full/metrics')).json.metrics
    assert.deepEqual([dropped, queuing + inflight], [2, 2])
    await eventually(async () => {
      const alarm = (await alarms()).find(({ name }) => name === 'action:http:full')
      assert.match(
        alarm?.message ?? '',
        /are dropped: queue full \(2 messages\), service not available since .*no server listens there/,
      )
    })
    await service.start()
    await service.until((received) => received.length >= 2)
    await eventually(async () =>
      assert.equal(
        (await alarms()).some(({ name }) => name === 'action:http:full'),
        false,
      ),
    )
    assert.deepEqual(service.received.map(({ body }) => body).toSorted(), ['1', '2'])
  })
})

test('SQL is tested on sample data', async () => {
  const broker = await shared()
  const run = (sql: string, context: object) =>
    broker.request('/api/v5/rule_test', { method: 'POST', body: { sql, context } })
  const sql = 'SELECT payload.t AS t FROM "a/#" WHERE t > 20'
  assert.deepEqual((await run(sql, { topic: 'a/b', payload: { t: 21 } })).json, { t: 21 })
  assert.equal((await run(sql, { topic: 'a/b', payload: { t: 1 } })).status, 412)
  assert.equal((await run('SELECT', {})).status, 400)
})

test('connectors and actions of EMQX are accepted, and settings without effect are shown only if they were sent', async () => {
  const broker = await shared()
  const post = (path: string, body: object) => broker.request(`/api/v5${path}`, { method: 'POST', body })
  const resource_opts = { health_check_interval: '15s', start_timeout: '5s', start_after_created: true }
  const connector = await post('/connectors', {
    type: 'http',
    name: 'emqx',
    url: 'http://127.0.0.1:9',
    pool_type: 'random',
    pool_size: 4,
    enable_pipelining: 100,
    tags: [],
    resource_opts,
  })
  assert.equal(connector.status, 201, connector.text)
  assert.equal(connector.json.pool_type, 'random')
  assert.ok(!('max_inactive' in connector.json))
  const action = await post('/actions', {
    type: 'http',
    name: 'emqx',
    connector: 'emqx',
    parameters: { method: 'post', path: '', headers: {} },
    resource_opts: { worker_pool_size: 4, request_ttl: '45s', query_mode: 'async', max_buffer_bytes: '256MB' },
  })
  assert.equal(action.status, 201, action.text)
  assert.equal(action.json.resource_opts.request_ttl, '45s')
  assert.ok(!('metrics_flush_interval' in action.json.resource_opts))
  const wrong = await post('/actions', {
    type: 'http',
    name: 'other',
    connector: 'emqx',
    resource_opts: { request_tll: 1 },
  })
  assert.equal(wrong.status, 400)
})

test('an action is not shown as connected if its service accepts requests without responding', async (t) => {
  let isSilent = false
  const held: (() => void)[] = []
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => (isSilent ? held.push(() => response.end()) : response.end()))
  })
  t.after(() => server.closeAllConnections())
  t.after(() => server.close())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const broker = await shared()
  const post = async (path: string, body: object): Promise<void> => {
    const response = await broker.request(`/api/v5/${path}`, { method: 'POST', body })
    assert.equal(response.status, 201, response.text)
  }
  await post('connectors', { type: 'http', name: 'silent', url: `http://127.0.0.1:${address.port}/` })
  const resource_opts = { request_timeout: '1h' }
  await post('actions', { type: 'http', name: 'silent', connector: 'silent', resource_opts })
  await post('rules', { id: 'silent', sql: 'SELECT * FROM "silent/#"', actions: ['http:silent'] })
  const untilStatus = async (status: string): Promise<{ readonly status_reason: string }> => {
    for (;;) {
      const { json } = await broker.request('/api/v5/actions/http:silent')
      if (json.status === status) return json
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  await client.publishAsync('silent/1', 'acknowledged', { qos: 1 })
  await untilStatus('connected')
  isSilent = true
  await client.publishAsync('silent/1', 'not acknowledged', { qos: 1 })
  assert.match((await untilStatus('connecting')).status_reason, /not responded/)
  isSilent = false
  for (const respond of held) respond()
  await untilStatus('connected')
})

test('version 4 of the API names the same faults of the SQL as version 5: what version 3 of EMQX wrote', async () => {
  const broker = await shared()
  const rawsql = String.raw`SELECT payload.x AS x FROM "message.publish" WHERE topic =~ 'a/#'`
  const body = { id: 'rule:old', rawsql, actions: [{ name: 'inspect' }] }
  const { data } = (await broker.request('/api/v4/rules', { method: 'POST', body })).json
  assert.match(data.warnings[0], /^line 1, column 28: 'message.publish' is a topic filter here, not an event/)
  assert.deepEqual((await broker.request('/api/v5/rules/old')).json.warnings, data.warnings)
})
