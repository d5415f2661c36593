import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import { shapeOf, slowSubscriptionEndpoints } from '../../src/contract/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { shareBrokerWithApi } from './api.ts'

const sharedBroker = shareBrokerWithApi({ set: ['node.shards=2'] })

const path = '/api/v4/slow_subscriptions'

test('a client that acknowledges nothing is listed as slow with its oldest message, and other clients are not listed', async (t) => {
  const broker = await sharedBroker()
  const url = `mqtt://127.0.0.1:${broker.port}`
  const slow = await connectAsync(url, { clientId: 'slow one' })
  const quick = await connectAsync(url, { clientId: 'quick' })
  t.after(() => slow.end(true))
  t.after(() => quick.end(true))
  slow.handleMessage = () => {} // Nothing is acknowledged.
  for (const client of [slow, quick]) await client.subscribeAsync('plant/#', { qos: 1 })
  await quick.publishAsync('plant/first', 'x', { qos: 1 })
  await quick.publishAsync('plant/second', 'x', { qos: 1 })
  await eventually(async () => {
    const response = await broker.request(`${path}?threshold=1`)
    assert.equal(shapeOf(slowSubscriptionEndpoints.list_slow_subscriptions.reply).faultOf(response.json), undefined)
    // The quick client is listed until its acknowledgements have arrived.
    const [found, ...others] = response.json.data
    assert.deepEqual([found?.clientid, found?.topic, found?.mqueue_len], ['slow one', 'plant/first', 2])
    assert.deepEqual(others, [])
  })
  assert.deepEqual(
    (await broker.request(`${path}?threshold=86400000`)).json.data,
    [],
    'the delay is below this threshold',
  )
})

test('an invalid threshold or limit is refused', async () => {
  const broker = await sharedBroker()
  for (const query of ['threshold=soon', 'threshold=-1', '_limit=0', '_limit=1001']) {
    const { status, json } = await broker.request(`${path}?${query}`)
    assert.deepEqual([status, json.code], [400, 108], query)
  }
})
