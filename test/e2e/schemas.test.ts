// The schema registry of a running broker: over the API, in rules, in archives. A restart is tested in stops.test.ts.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { type BrokerWithApi, shareBrokerWithApi, startBrokerWithApi } from '../management/api.ts'
import { shared } from './godwit-process.ts'

const proto = 'syntax = "proto3";\nmessage Reading { string id = 1; int64 value = 2; }'
const longer = 'syntax = "proto3";\nmessage Reading { string id = 1; int64 value = 2; string unit = 3; }'
/** `{id: "a", value: 9007199254740993, unit: "C"}` */
const payload = Buffer.from('0a01611081808080808080101a0143', 'hex')
const path = '/api/v5/schema_registry'

type Method = 'POST' | 'PUT' | 'DELETE'

function requesterOf(broker: BrokerWithApi) {
  return (method: Method, to: string, body?: unknown) => broker.request(`/api/v5/${to}`, { method, body })
}

/** Publishes a message and returns the result of a rule. */
async function publishThrough(t: TestContext, broker: BrokerWithApi, from: string, to: string): Promise<string> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  const received = Promise.withResolvers<string>()
  client.on('message', (_topic, message) => received.resolve(message.toString()))
  await client.subscribeAsync(to)
  await client.publishAsync(from, payload, { qos: 1 })
  return received.promise
}

function republish(topic: string): object {
  return { function: 'republish', args: { topic, payload: '${.}', qos: 0 } }
}

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=2'] })

suite('the schema registry over the API', () => {
  test('adds, shows, changes and deletes schemas, with the statuses of EMQX', async () => {
    const broker = await sharedBroker()
    const request = requesterOf(broker)
    const body = { name: 'crud', type: 'avro', source: '"long"', description: 'a number' }
    const added = await request('POST', 'schema_registry', body)
    assert.deepEqual([added.status, added.json], [201, body])
    const again = await request('POST', 'schema_registry', body)
    assert.deepEqual([again.status, again.json.reason], [400, 'ALREADY_EXISTS'])
    assert.deepEqual((await broker.request(path)).json, [body])
    assert.deepEqual((await broker.request(`${path}/crud`)).json, body)
    const changed = await request('PUT', 'schema_registry/crud', { type: 'avro', source: '"int"' })
    assert.deepEqual([changed.status, changed.json], [200, { ...body, source: '"int"', description: '' }])
    assert.equal((await request('DELETE', 'schema_registry/crud')).status, 204)
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      const sent = method === 'PUT' ? { body: { type: 'avro', source: '"int"' } } : {}
      const absent = await broker.request(`${path}/crud`, { method, ...sent })
      assert.deepEqual([absent.status, absent.json.reason], [404, 'NOT_FOUND'])
    }
    const audited = (await broker.request('/api/v5/audit')).text
    for (const operation of ['add_schema', 'change_schema', 'remove_schema'])
      assert.match(audited, new RegExp(operation))
  })

  test('refuses an invalid schema with the position of the error, and keeps the old schema', async () => {
    const broker = await sharedBroker()
    const request = requesterOf(broker)
    const faults: readonly (readonly [type: string, source: string, fault: RegExp])[] = [
      ['protobuf', 'syntax = "proto3";\nmessage A { int32 a 1; }', /source: line 2, column 21: expected \\?"=/],
      [
        'avro',
        '{"type":"record","name":"A","fields":[{"name":"a","type":"none"}]}',
        /at \/fields\/0\/type: there is no type/,
      ],
      ['json', '{"type":"object"', /line 1, column 17: not JSON/],
      ['json', '{"pattern":"(?<=a)b"}', /at \/pattern: the regular expression cannot be used/],
      ['xml', '<a/>', /type/],
      ['json', '', /source/],
    ]
    for (const [type, source, fault] of faults) {
      const refused = await request('POST', 'schema_registry', { name: 'faulty', type, source })
      assert.equal(refused.status, 400, refused.text)
      assert.match(refused.text, fault)
    }
    for (const name of ['__sparkplug_b', 'a b', 'a.b', '']) {
      assert.equal((await request('POST', 'schema_registry', { name, type: 'json', source: '{}' })).status, 400, name)
    }
    assert.equal(
      (await request('POST', 'schema_registry', { name: 'kept', type: 'avro', source: '"long"' })).status,
      201,
    )
    assert.equal((await request('PUT', 'schema_registry/kept', { type: 'avro', source: '"lng"' })).status, 400)
    assert.equal((await broker.request(`${path}/kept`)).json.source, '"long"')
    assert.equal((await request('DELETE', 'schema_registry/kept')).status, 204)
  })

  test('a rule warns about a missing schema, and uses the schema after it is added and after each change', async (t) => {
    const broker = await sharedBroker()
    const request = requesterOf(broker)
    const sql = `SELECT schema_decode('device', payload, 'Reading') AS r FROM "in/device"`
    const made = await request('POST', 'rules', { id: 'device', sql, actions: [republish('out/device')] })
    assert.deepEqual(made.json.warnings, ['there is no schema "device": add it to the schema registry'])
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
    t.after(() => client.end(true))
    await client.publishAsync('in/device', payload, { qos: 1 })
    const failed = (await broker.request('/api/v5/rules/device/metrics')).json.metrics
    assert.deepEqual(
      [failed['failed.exception'], failed.last_error],
      [1, 'there is no schema "device": add it to the schema registry'],
    )

    assert.equal(
      (await request('POST', 'schema_registry', { name: 'device', type: 'protobuf', source: proto })).status,
      201,
    )
    assert.deepEqual((await broker.request('/api/v5/rules/device')).json.warnings, [])
    assert.equal(
      await publishThrough(t, broker, 'in/device', 'out/device'),
      '{"r":{"id":"a","value":9007199254740993}}',
    )
    assert.equal((await request('PUT', 'schema_registry/device', { type: 'protobuf', source: longer })).status, 200)
    assert.equal(
      await publishThrough(t, broker, 'in/device', 'out/device'),
      '{"r":{"id":"a","value":9007199254740993,"unit":"C"}}',
    )

    const tested = await request('POST', 'rule_test', {
      sql: `SELECT schema_check('device', map_put('id', payload, map_new()), 'Reading') AS ok FROM "t/#"`,
      context: { topic: 't/a', payload: 'x' },
    })
    assert.deepEqual([tested.status, tested.json], [200, { ok: true }])
    const explained = await request('POST', 'rules/device/explain', {
      context: { topic: 'in/device', payload: 'not Protobuf' },
    })
    assert.match(explained.text, /The rule failed: schema device: /)

    const used = await request('DELETE', 'schema_registry/device')
    assert.equal(used.status, 400)
    assert.match(used.text, /the schema device is used by the rules device: change those first/)
    assert.equal((await request('DELETE', 'rules/device')).status, 204)
    assert.equal((await request('DELETE', 'schema_registry/device')).status, 204)
  })
})

/** Options of the command line. */
function pinnedSchema(type: string, source: string): string[] {
  return [`schema_registry.schemas.good.type=${type}`, `schema_registry.schemas.good.source=${JSON.stringify(source)}`]
}

const brokerWithPinnedSchema = shared((scope) =>
  startBrokerWithApi(scope, { set: ['node.shards=1', ...pinnedSchema('json', '{}')] }),
)

test('schemas are restored from an archive on another broker', async (t) => {
  const from = await brokerWithPinnedSchema()
  const request = requesterOf(from)
  const body = { name: 'archived', type: 'protobuf', source: longer, description: '' }
  assert.equal((await request('POST', 'schema_registry', body)).status, 201)
  const sql = `SELECT schema_decode('archived', payload, 'Reading') AS r FROM "archived/#"`
  assert.equal((await request('POST', 'rules', { id: 'archived', sql, actions: [republish('unpacked')] })).status, 201)
  const { filename } = (await request('POST', 'data/export', {})).json
  const to = await sharedBroker()
  const folder = join(to.dataDirectory, 'backup')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(from.dataDirectory, 'backup', filename), join(folder, filename))
  const imported = await requesterOf(to)('POST', 'data/import', { filename })
  assert.equal(imported.status, 200, imported.text)
  assert.deepEqual((await to.request(`${path}/archived`)).json, body)
  assert.match(await publishThrough(t, to, 'archived/a', 'unpacked'), /"unit":"C"/)
})

test('a configuration with an invalid schema is refused with the key and the position', async (t) => {
  const broker = await brokerWithPinnedSchema()
  assert.equal((await broker.request(`${path}/good`)).json.type, 'json')
  // A schema of the command line cannot be changed over the API.
  const pinned = await requesterOf(broker)('PUT', 'schema_registry/good', { type: 'json', source: 'true' })
  assert.equal(pinned.status, 400)
  const faulty = startBrokerWithApi(t, { set: ['node.shards=1', ...pinnedSchema('avro', '"lng"')] })
  await assert.rejects(
    faulty,
    /schema_registry\.schemas\.good\.source: at the top of the schema: there is no type 'lng'/,
  )
})
