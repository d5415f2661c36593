// Tests the effects of the setting, the metric and the endpoint that `newcomer.test.ts` adds to a copy of the checkout. It runs in the copy.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { eventually } from '../e2e/eventually.ts'
import { startBrokerWithApi } from '../management/api.ts'

test('a packet with more user properties than the new setting allows ends its connection with 0x97; the new metric counts', async (t) => {
  const broker = await startBrokerWithApi(t, { set: ['mqtt.max_user_properties=2'] })
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
    protocolVersion: 5,
    reconnectPeriod: 0,
  })
  const reason = new Promise<number | undefined>((resolve) => {
    client.once('disconnect', (packet) => resolve(packet.reasonCode))
  })
  await client.publishAsync('t', '', { qos: 1, properties: { userProperties: { a: '1', b: '2' } } })
  client.publish('t', '', { qos: 1, properties: { userProperties: { a: '1', b: '2', c: '3' } } })
  assert.equal(await reason, 0x97)
  await eventually(async () => {
    const { text } = await broker.request('/api/v4/prometheus')
    assert.match(text, /^# HELP godwit_clients_disconnected_total Ended connections of accepted clients\.$/m)
    assert.match(text, /^godwit_clients_disconnected_total 1$/m)
  })
})

test('the new endpoint lists a message that the client has not acknowledged', async (t) => {
  const broker = await startBrokerWithApi(t)
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'slow' })
  t.after(() => client.endAsync(true))
  // Without its callback, the client does not send PUBACK.
  client.handleMessage = () => {}
  await client.subscribeAsync('in/flight', { qos: 1 })
  const sent = await broker.request('/api/v4/mqtt/publish', {
    method: 'POST',
    body: { topic: 'in/flight', payload: 'x', qos: 1 },
  })
  assert.equal(sent.status, 200)
  await eventually(async () => {
    const { json } = await broker.request('/api/v5/mqtt/inflight/slow')
    assert.deepEqual(json, [{ topic: 'in/flight', qos: 1 }])
  })
  assert.equal((await broker.request('/api/v5/mqtt/inflight/nobody')).status, 404)
})
