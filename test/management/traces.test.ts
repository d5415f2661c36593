import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shapeOf, traceEndpoints } from '../../src/contract/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { type BrokerWithApi, shareBrokerWithApi } from './api.ts'

const path = '/api/v4/trace'

type Line = Record<string, string | number>

async function post(broker: BrokerWithApi, body: unknown): Promise<[number, number]> {
  const { status, json } = await broker.request(path, { method: 'POST', body })
  return [status, json.code]
}

/** Waits for a line that meets the condition, and returns all lines except the first, which is the header. */
function linesUntil(broker: BrokerWithApi, name: string, condition: (line: Line) => boolean): Promise<Line[]> {
  return eventually(async () => {
    const { text } = await broker.request(`${path}/${name}/download`)
    const lines = text
      .split('\n')
      .slice(1, -1)
      .map((line) => JSON.parse(line))
    assert.ok(lines.some(condition), text)
    return lines
  })
}

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=2'] })

test('a trace by client ID contains packets and events of the client from all shards, without payloads and passwords', async (t) => {
  const broker = await sharedBroker()
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
  const { text } = await broker.request(`${path}/by-client/download`)
  for (const absent of ['secret', '\u001b']) assert.ok(!text.includes(absent))
  assert.equal((await broker.request(`${path}/by-client`, { method: 'DELETE' })).status, 200)
})

test('traces by topic and by address are listed while they run, and deleted with their files', async (t) => {
  const broker = await sharedBroker()
  assert.deepEqual(await post(broker, { name: 'heat', type: 'topic', topic: 'plant/+/heat', duration: 60 }), [200, 0])
  assert.deepEqual(await post(broker, { name: 'here', type: 'ip_address', ip_address: '127.0.0.1' }), [200, 0])
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'sensor' })
  t.after(() => client.end(true))
  await client.publishAsync('plant/1/cold', 'x', { qos: 1 })
  await client.publishAsync('plant/1/heat', 'x', { qos: 1 })
  const heat = await linesUntil(broker, 'heat', ({ topic }) => topic === 'plant/1/heat')
  assert.equal(heat.length, 1)
  await linesUntil(broker, 'here', ({ topic }) => topic === 'plant/1/cold')
  const { json } = await broker.request(path)
  assert.equal(shapeOf(traceEndpoints.list_traces.reply).faultOf(json), undefined)
  assert.deepEqual(
    json.data.map((trace: Line) => [
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
  assert.deepEqual((await broker.request(`${path}/heat`, { method: 'DELETE' })).json, { code: 0 })
  assert.deepEqual(await readdir(join(broker.dataDirectory, 'trace')), ['here.jsonl'])
  assert.deepEqual((await broker.request(path, { method: 'DELETE' })).json, { code: 0 })
  assert.deepEqual(await readdir(join(broker.dataDirectory, 'trace')), [])
})

test('a trace stops after its duration, and its file remains', async () => {
  const broker = await sharedBroker()
  await post(broker, { name: 'short', type: 'clientid', clientid: 'nobody', duration: 1 })
  await eventually(async () => assert.equal((await broker.request(path)).json.data[0].status, 'stopped'))
  assert.equal((await broker.request(`${path}/short/download`)).status, 200)
})

test('a trace is stopped by a request, and its file remains; the end may be given as a time', async () => {
  const broker = await sharedBroker()
  const endsAt = new Date(Date.now() + 3_600_000).toISOString()
  assert.deepEqual(await post(broker, { name: 'timed', type: 'topic', topic: 'a', end_at: endsAt }), [200, 0])
  const stop = async (name: string): Promise<[number, number]> => {
    const { status, json } = await broker.request(`${path}/${name}/stop`, { method: 'PUT' })
    return [status, json.code]
  }
  assert.deepEqual(await stop('timed'), [200, 0])
  const { json } = await broker.request(path)
  assert.equal(json.data.find((trace: Line) => trace['name'] === 'timed').status, 'stopped')
  assert.equal((await broker.request(`${path}/timed/download`)).status, 200)
  assert.deepEqual(await stop('nothing'), [404, 108])
  const past = new Date(Date.now() - 1_000).toISOString()
  for (const when of [{ end_at: past }, { end_at: 'soon' }, { end_at: endsAt, duration: 5 }])
    assert.deepEqual(await post(broker, { name: 'never', type: 'topic', topic: 'a', ...when }), [400, 108])
})

test('invalid traces are refused: names that could be paths, missing values, invalid filters, existing names', async () => {
  const broker = await sharedBroker()
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
    { method: 'DELETE', at: `${path}/none` } as const,
    { method: 'GET', at: `${path}/none/download` } as const,
  ]) {
    const { status, json } = await broker.request(request.at, { method: request.method })
    assert.deepEqual([status, json.code], [404, 108])
  }
  const outside = await broker.request(`${path}/..%2fnode/download`)
  assert.deepEqual([outside.status, outside.json.code], [400, 108])
})
