// A broker that is drained: clients go in portions, no new ones come, and persistent sessions stay.

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { connectAsync, type MqttClient } from 'mqtt'
import { runCtlHere } from '../cli/ctl/ctl.ts'
import { eventually } from '../e2e/eventually.ts'
import { type BrokerWithApi, shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi()
const path = '/api/v5/drain'

async function connectClient(t: TestContext, broker: BrokerWithApi, clientId: string): Promise<MqttClient> {
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    clientId,
    clean: false,
    protocolVersion: 5,
    properties: { sessionExpiryInterval: 3_600 },
    reconnectPeriod: 0,
  })
  t.after(() => client.endAsync(true))
  return client
}

function untilDisconnected(client: MqttClient): Promise<number | undefined> {
  return new Promise((resolve) => client.once('disconnect', ({ reasonCode }) => resolve(reasonCode)))
}

test('clients are disconnected with 0x9C, new ones are refused with 0x9C, sessions stay, and DELETE ends it', async (t) => {
  const broker = await sharedBroker()
  const clients = await Promise.all(['a', 'b', 'c'].map((id) => connectClient(t, broker, id)))
  const disconnected = clients.map(untilDisconnected)
  const started = await broker.request(path, { method: 'POST', body: { clients_per_second: 2 } })
  assert.deepEqual([started.status, started.json.data.draining], [200, true], started.text)
  assert.deepEqual(await Promise.all(disconnected), [0x9c, 0x9c, 0x9c])
  await assert.rejects(connectClient(t, broker, 'd'), { code: 0x9c })
  const report = await eventually(async () => {
    const { json } = await broker.request(path)
    assert.equal(json.data.connected, 0)
    return json.data
  })
  assert.equal(report.sessions, 3)
  assert.equal(typeof report.started_at, 'number')
  const ended = await broker.request(path, { method: 'DELETE' })
  assert.deepEqual(ended.json.data, { draining: false, connected: 0, sessions: 3, started_at: null })
  await connectClient(t, broker, 'a')
})

test('godwit ctl drain waits until all clients are gone, and --cancel accepts clients again', async (t) => {
  const broker = await sharedBroker()
  const reach = ['--data', broker.dataDirectory]
  const client = await connectClient(t, broker, 'a')
  const disconnected = untilDisconnected(client)
  const drained = await runCtlHere(['drain', ...reach])
  assert.deepEqual([drained.code, drained.errors], [0, ''])
  assert.match(drained.output, /all clients are disconnected; \d+ sessions stay on this broker/)
  assert.equal(await disconnected, 0x9c)
  const cancelled = await runCtlHere(['drain', '--cancel', ...reach])
  assert.deepEqual([cancelled.code, cancelled.errors], [0, ''])
  await connectClient(t, broker, 'a')
  const wrong = await runCtlHere(['drain', '--per-second', 'many', ...reach])
  assert.equal(wrong.code, 2)
  assert.match(wrong.errors, /--per-second: give a number of clients/)
})

test('a rate that is no number of clients is refused', async () => {
  const broker = await sharedBroker()
  const refused = await broker.request(path, { method: 'POST', body: { clients_per_second: 0 } })
  assert.equal(refused.status, 400)
  assert.equal((await broker.request(path)).json.data.draining, false)
})
