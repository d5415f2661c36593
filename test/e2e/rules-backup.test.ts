// Rules, connectors and actions in an archive: what the API has made comes back on another broker, with its secrets, and runs.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { type BrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { HttpService } from './http-service.ts'

const rule = { id: 'all', sql: 'SELECT payload FROM "in/#"', actions: ['http:hook'], description: 'kept' }

async function post(
  broker: BrokerWithApi,
  path: string,
  body: object,
): Promise<{ status: number; text: string; json: { filename: string } }> {
  return broker.ask(`/api/v5/${path}`, { method: 'POST', body })
}

test('rules, connectors, actions and settings of topics are in archives: export, preview, import', async (t) => {
  const service = await HttpService.start(t)
  const from = await startBrokerWithApi(t, { set: ['node.shards=1'] })
  const url = `http://127.0.0.1:${service.port}`
  const headers = { authorization: 'Bearer hidden' }
  assert.equal((await post(from, 'connectors', { type: 'http', name: 'local', url, headers })).status, 201)
  const parameters = { body: '${payload}' }
  assert.equal(
    (await post(from, 'actions', { type: 'http', name: 'hook', connector: 'local', parameters })).status,
    201,
  )
  assert.equal((await post(from, 'rules', rule)).status, 201)
  const rewrite = [{ action: 'publish', source_topic: 'old/#', re: '^old/(.+)$', dest_topic: 'in/$1' }]
  assert.equal((await from.ask('/api/v5/mqtt/topic_rewrite', { method: 'PUT', body: rewrite })).status, 200)
  assert.equal((await post(from, 'mqtt/topic_metrics', { topic: 'in/x' })).status, 200)
  const { filename } = (await post(from, 'data/export', {})).json
  await from.process.stop()

  const to = await startBrokerWithApi(t, { set: ['node.shards=1'] })
  const folder = join(to.dataDirectory, 'backup')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from.dataDirectory, 'backup', filename), join(folder, filename))
  const preview = await post(to, 'data/import', { filename, dry_run: true })
  assert.equal(preview.status, 200, preview.text)
  assert.match(preview.text, /rule_engine\.rules\.all/)
  assert.doesNotMatch(preview.text, /hidden/)
  assert.deepEqual((await to.ask('/api/v5/rules')).json.data, [])
  const imported = await post(to, 'data/import', { filename })
  assert.equal(imported.status, 200, imported.text)

  assert.equal((await to.ask('/api/v5/rules/all')).json.sql, rule.sql)
  assert.equal((await to.ask('/api/v4/rules/rule:all')).json.data.description, 'kept')
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${to.port}`, { clientId: 'publisher' })
  t.after(() => client.end(true))
  await client.publishAsync('old/x', 'restored', { qos: 1 })
  await service.until((received) => received.length === 1)
  const [counted] = (await to.ask('/api/v5/mqtt/topic_metrics')).json
  assert.deepEqual([counted.topic, counted.metrics['messages.qos1.in.count']], ['in/x', 1])
  assert.deepEqual([service.received[0].body, service.received[0].headers.authorization], ['restored', 'Bearer hidden'])
})
