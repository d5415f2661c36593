// Tests the effect of the setting and of the metric that `newcomer.test.ts` adds to a copy of the checkout. It runs in the copy.

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
