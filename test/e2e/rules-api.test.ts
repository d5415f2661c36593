// Rules, connectors and actions over the API: they run at once, remain after a restart, and have metrics.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { HttpService } from './http-service.ts'

test('rules and actions that are created over the API run at once, have metrics, remain after a restart and can be deleted', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = ({ body }) => (body === 'poison' ? 400 : 200)
  const broker = await startBrokerWithApi(t, { set: ['node.shards=1'] })
  const post = (path: string, body: object) => broker.request(`/api/v5${path}`, { method: 'POST', body })
  const headers = { authorization: 'Bearer hidden' }
  const connector = { type: 'http', name: 'local', url: `http://127.0.0.1:${service.port}`, headers }
  const made = await post('/connectors', connector)
  assert.equal(made.status, 201, made.text)
  assert.doesNotMatch(made.text, /hidden/)
  const options = { max_retries: 0, retry_interval: '20ms' }
  // oxlint-disable-next-line no-template-curly-in-string -- a template of rules
  const parameters = { body: '${payload}' }
  const action = { type: 'http', name: 'hook', connector: 'local', parameters, resource_opts: options }
  assert.equal((await post('/actions', action)).status, 201)
  const rule = { id: 'all', sql: 'SELECT payload FROM "in/#"', actions: ['http:hook'] }
  assert.equal((await post('/rules', rule)).status, 201)
  assert.equal((await post('/rules', rule)).status, 409)
  const wrong = await post('/rules', { id: 'bad', sql: 'SELECT FROM' })
  assert.equal(wrong.status, 400)
  assert.match(wrong.text, /line 1, column/)
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'publisher' })
  t.after(() => client.end(true))
  for (const payload of ['a', 'poison', 'b']) await client.publishAsync('in/x', payload, { qos: 1 })
  await service.until((received) => received.length === 3)
  assert.equal(service.received[0].headers['authorization'], 'Bearer hidden')
  let metrics
  do metrics = (await broker.request('/api/v5/actions/http:hook/metrics')).json.metrics
  while (metrics.dead_letters !== 1 || metrics.success !== 2)
  const letters = (await broker.request('/api/v5/actions/http:hook/dead_letters')).json.data
  assert.deepEqual([letters.length, letters[0].payload, letters[0].rule], [1, 'poison', 'all'])
  const counted = (await broker.request('/api/v5/rules/all/metrics')).json.metrics
  assert.deepEqual(
    [counted.matched, counted.passed, counted['actions.success'], counted['actions.failed']],
    [3, 3, 2, 1],
  )
  let rates
  do rates = (await broker.request('/api/v5/actions/http:hook/metrics')).json.metrics
  while (rates.rate_max === 0)
  assert.ok(rates.rate_last5m > 0)
  const connectorStatus = async (): Promise<string> =>
    (await broker.request('/api/v5/connectors/http:local')).json.status_reason
  assert.equal((await post('/connectors/http:local/stop', {})).status, 204)
  assert.equal(await connectorStatus(), 'stopped by an administrator')
  await client.publishAsync('in/x', 'while stopped', { qos: 1 })
  assert.equal((await post('/connectors/http:local/start', {})).status, 204)
  await service.until((received) => received.at(-1)?.body === 'while stopped')
  assert.equal((await post('/connectors/http:local/pause', {})).status, 400)
  assert.equal((await post('/connectors/http:other/stop', {})).status, 404)
  const written = (await broker.request('/api/v5/rules/all')).json
  assert.equal(written.last_modified_at, written.created_at)
  const changed = await broker.request('/api/v5/rules/all', {
    method: 'PUT',
    body: { ...rule, description: 'changed' },
  })
  assert.equal(changed.json.created_at, written.created_at)
  assert.ok(changed.json.last_modified_at > written.last_modified_at)
  const inUse = await broker.request('/api/v5/connectors/http:local', { method: 'DELETE' })
  assert.equal(inUse.status, 400, inUse.text)
  await broker.process.stop()
  const again = await startBrokerWithApi(t, { dataDirectory: broker.dataDirectory, set: ['node.shards=1'] })
  assert.equal((await again.request('/api/v5/rules/all')).json.sql, rule.sql)
  for (const path of ['rules/all', 'actions/http:hook?force=true', 'connectors/http:local']) {
    const removed = await again.request(`/api/v5/${path}`, { method: 'DELETE' })
    assert.equal(removed.status, 204, `${path}: ${removed.text}`)
  }
  assert.deepEqual((await again.request('/api/v5/actions')).json, [])
})

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=1'] })

test('SQL is tested on sample data', async () => {
  const broker = await sharedBroker()
  const run = (sql: string, context: object) =>
    broker.request('/api/v5/rule_test', { method: 'POST', body: { sql, context } })
  const sql = 'SELECT payload.t AS t FROM "a/#" WHERE t > 20'
  assert.deepEqual((await run(sql, { topic: 'a/b', payload: { t: 21 } })).json, { t: 21 })
  assert.equal((await run(sql, { topic: 'a/b', payload: { t: 1 } })).status, 412)
  assert.equal((await run('SELECT', {})).status, 400)
})

test('connectors and actions of EMQX are accepted, and settings without effect are shown only if they were sent', async () => {
  const broker = await sharedBroker()
  const post = (path: string, body: object) => broker.request(`/api/v5${path}`, { method: 'POST', body })
  const resource_opts = { health_check_interval: '15s', start_timeout: '5s', start_after_created: true }
  const connector = await post('/connectors', {
    type: 'http',
    name: 'local',
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
    name: 'hook',
    connector: 'local',
    parameters: { method: 'post', path: '', headers: {} },
    resource_opts: { worker_pool_size: 4, request_ttl: '45s', query_mode: 'async', max_buffer_bytes: '256MB' },
  })
  assert.equal(action.status, 201, action.text)
  assert.equal(action.json.resource_opts.request_ttl, '45s')
  assert.ok(!('metrics_flush_interval' in action.json.resource_opts))
  const wrong = await post('/actions', {
    type: 'http',
    name: 'other',
    connector: 'local',
    resource_opts: { request_tll: 1 },
  })
  assert.equal(wrong.status, 400)
})
