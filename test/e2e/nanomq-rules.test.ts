// The section `rules` of NanoMQ, and actions of its API, in the whole program.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, temporaryFolder } from './godwit-process.ts'

const configuredBroker = shareConfigurableBroker()
const remoteBroker = shareBrokerWithApi({ set: ['node.shards=1'] })

async function connect(t: Scope, port: number): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, clientId: 'kiln' })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

/** Resolves with the rows of a table as soon as there are `count`. */
async function rowsOf(file: string, table: string, count: number): Promise<readonly Record<string, unknown>[]> {
  for (;;) {
    try {
      using database = new DatabaseSync(file, { readOnly: true })
      const rows = database.prepare(`SELECT * FROM ${table}`).all()
      if (rows.length >= count) return rows
    } catch (error) {
      // The file or the table does not exist yet, or is being created.
      if (!(error instanceof Error && /unable to open|no such table|database is locked/.test(error.message)))
        throw error
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

test('rules.sqlite creates its tables and writes the selected fields, also from two rules to one table', async (t) => {
  const file = join(await temporaryFolder(t), 'rules.db')
  const rules = [
    '{sql="SELECT payload.x.y as y, payload.z as z FROM \\"in/#\\" WHERE y > 10 and z != \'str\'",table=broker}',
    '{sql="SELECT topic, payload FROM \\"abc\\"",table=broker1}',
    '{sql="SELECT * FROM \\"all\\"",table=everything}',
  ]
  const broker = await configuredBroker([`rules.sqlite={path="${file}",rules=[${rules.join(',')}]}`])
  const client = await connect(t, broker.port)
  await client.publishAsync('in/1', '{"x":{"y":11},"z":"a"}', { qos: 1 })
  await client.publishAsync('in/1', '{"x":{"y":9},"z":"a"}', { qos: 1 })
  await client.publishAsync('abc', 'aaa', { qos: 1 })
  await client.publishAsync('all', 'it is', { qos: 1 })
  assert.deepEqual({ ...(await rowsOf(file, 'broker', 1))[0] }, { y: 11, z: 'a' })
  assert.deepEqual({ ...(await rowsOf(file, 'broker1', 1))[0] }, { topic: 'abc', payload: 'aaa' })
  const [everything] = await rowsOf(file, 'everything', 1)
  assert.deepEqual(
    [everything?.['qos'], everything?.['topic'], everything?.['clientid'], everything?.['payload']],
    [1, 'all', 'kiln', 'it is'],
  )
  const { json: actions } = await broker.request('/api/v5/actions')
  const names = (actions as readonly { readonly name: string }[]).map(({ name }) => name)
  assert.deepEqual(names, ['$rules_0', '$rules_1', '$rules_2'])
  // A row is written before it is counted.
  await eventually(async () => {
    const { json: one } = await broker.request('/api/v5/actions/sqlite:$rules_0')
    assert.equal(one.status, 'connected')
    assert.match(one.description, /Made by rules\.sqlite\.rules\.0 of the configuration/)
    const { json: metrics } = await broker.request('/api/v5/actions/sqlite:$rules_0/metrics')
    assert.equal(metrics.metrics.success, 1)
  })
  const removed = await broker.request('/api/v5/actions/sqlite:$rules_0', { method: 'DELETE' })
  assert.equal(removed.status, 400)
  assert.match(removed.text, /is made by rules\.sqlite\.rules\.0: change that/)
})

test('rules.repub sends all columns to the topic of another broker', async (t) => {
  const remote = await remoteBroker()
  const reader = await connect(t, remote.port)
  const received = new Promise<string>((resolve) =>
    reader.once('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
  )
  await reader.subscribeAsync('topic/repub1', { qos: 1 })
  const rule = `{server="mqtt-tcp://127.0.0.1:${remote.port}",topic="topic/repub1",proto_ver=4,clientid=repub_client1,keepalive=60s,clean_start=true,username=username,password=passwd,sql="SELECT topic, payload FROM \\"abc\\""}`
  const broker = await configuredBroker([`rules.repub.rules=[${rule}]`])
  const client = await connect(t, broker.port)
  await client.publishAsync('abc', 'aaa', { qos: 0 })
  assert.equal(await received, 'topic/repub1 {"topic":"abc","payload":"aaa"}')
  const { json } = await broker.request('/api/v5/connectors/mqtt:$repub_0')
  assert.equal(json.server, `127.0.0.1:${remote.port}`)
  assert.equal(JSON.stringify(json).includes('passwd'), false)
})

test('errors in the section name the key', async () => {
  const wrong: readonly (readonly [setting: string, message: RegExp])[] = [
    ['rules.sqlite.rules=[{sql="SELECT nothing",table=a}]', /rules\.sqlite\.rules\.0\.sql/],
    ['rules.sqlite.rules=[{sql="SELECT * FROM a",table="a b"}]', /rules\.sqlite\.rules\.0\.table: write the name/],
    ['rules.mysql.m.rules=[{sql="SELECT * FROM a"}]', /rules\.mysql\.m\.rules\.0\.table: write the name/],
    ['rules.repub.rules=[{sql="SELECT * FROM a",topic=t}]', /rules\.repub\.rules\.0\.server: write the address/],
    [
      'rules.repub.rules=[{sql="SELECT * FROM a",topic=t,server="ws://h/mqtt"}]',
      /rules\.repub\.rules\.0\.server: "ws:\/\/h\/mqtt" is not an address/,
    ],
  ]
  const broker = await configuredBroker()
  for (const [setting, message] of wrong) {
    const refused = await broker.request('/api/v4/config_update', { method: 'POST', body: setting })
    assert.equal(refused.status, 400)
    assert.match(refused.json.message, message)
  }
})

test('the API of NanoMQ creates rules that write to SQLite, and that republish', async (t) => {
  const remote = await remoteBroker()
  const reader = await connect(t, remote.port)
  const received = new Promise<string>((resolve) => reader.once('message', (topic) => resolve(topic)))
  await reader.subscribeAsync('there', { qos: 1 })
  const broker = await configuredBroker()
  const address = `mqtt-tcp://127.0.0.1:${remote.port}`
  const actions = [
    { name: 'sqlite', params: { table: 'made' } },
    { name: 'repub', params: { topic: 'there', address, proto_ver: 4, keepalive: 60, clean_start: true } },
  ]
  const created = await broker.request('/api/v4/rules', {
    method: 'POST',
    body: { rawsql: 'SELECT topic, payload FROM "made"', actions, enabled: true, description: '' },
  })
  assert.equal(created.json.code, 0, created.text)
  const client = await connect(t, broker.port)
  await client.publishAsync('made', 'aaa', { qos: 1 })
  assert.deepEqual(
    { ...(await rowsOf(join(broker.dataDirectory, 'rule_engine.db'), 'made', 1))[0] },
    { topic: 'made', payload: 'aaa' },
  )
  assert.equal(await received, 'there')
})
