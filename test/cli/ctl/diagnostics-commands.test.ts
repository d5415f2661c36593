import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shareBrokerWithApi } from '../../management/api.ts'
import { ctlDone, ctlRefused } from './ctl.ts'

const sharedBroker = shareBrokerWithApi({ set: ['retainer.max_payload_size=10B'] })

test('what was dropped is told with its reason, and what happened to a client', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  await client.publishAsync('a/b', 'more than ten bytes', { retain: true, qos: 1 })
  assert.match(await ctlDone(broker, ['clients', 'timeline', 'talker']), /Z\tconnected\t1\t/)
  assert.equal(await ctlDone(broker, ['dropped', 'topic=nowhere']), '')
  const dropped = JSON.parse(await ctlDone(broker, ['dropped', 'clientid=talker', '--json']))
  assert.equal(dropped[0]?.topic, 'a/b')
  assert.equal(dropped[0]?.count, 1)
  assert.equal(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '2999-01-01']), '')
  assert.notEqual(await ctlDone(broker, ['dropped', 'clientid=talker', '--since', '1h', '--limit', '5']), '')
  assert.match(await ctlRefused(broker, 2, ['dropped', '--since', 'yesterday']), /--since yesterday: give/)
  assert.match(await ctlRefused(broker, 1, ['clients', 'timeline', 'nosuch']), /nothing is known of the client nosuch/)
  assert.match(await ctlRefused(broker, 2, ['dropped', 'reson=expired']), /reson: unknown filter/)
  assert.match(await ctlRefused(broker, 1, ['dropped', 'reason=mood']), /\(code 108\)/)
})

test('why a client may publish is explained', async (t) => {
  const broker = await sharedBroker()
  const client = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'talker' })
  t.after(() => client.endAsync())
  assert.match(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b']), /^result +allow$/m)
  const all = JSON.parse(await ctlDone(broker, ['explain', 'talker', 'publish', 'a/b', '--json']))
  assert.equal(all.client.connected, true)
  assert.match(await ctlRefused(broker, 2, ['explain', 'talker', 'read', 'a/b']), /publish and subscribe/)
})
