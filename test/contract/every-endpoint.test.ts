// The API with its typed client and a running broker.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectAsync } from 'mqtt'
import {
  formatBasicAuthorization,
  createClient,
  type Endpoint,
  type Failure,
  type Result,
  compileShape,
} from '../../src/contract/index.ts'
import { type ApiClient, endpoints } from '../../src/api/endpoints.ts'
import { administrator, shareBrokerWithApi } from '../management/api.ts'

const [name = '', password = ''] = administrator.split(':')
const runningBroker = shareBrokerWithApi()

function clientAt(url: string): ApiClient {
  return createClient(endpoints, { at: { url }, authorization: formatBasicAuthorization(name, password) })
}

async function replyOf<Reply>(pending: Promise<Result<Reply>>): Promise<Reply> {
  const result = await pending
  assert.ok('reply' in result, JSON.stringify(result))
  return result.reply
}

async function failureOf(pending: Promise<Result<unknown>>): Promise<Failure> {
  const result = await pending
  assert.ok('failure' in result, JSON.stringify(result))
  return result.failure
}

test('each read operation without path parameters responds as specified in the contract', async (t) => {
  const broker = await runningBroker()
  const mqtt = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'somebody', username: 'anna' })
  t.after(() => mqtt.endAsync())
  await mqtt.subscribeAsync(['a/+', '$share/g/b/#'], { qos: 1 })
  await mqtt.publishAsync('kept', 'x', { retain: true, qos: 1 })
  const client = clientAt(broker.url) as unknown as Record<string, () => Promise<Result<unknown>>>
  for (const [operation, endpoint] of Object.entries<Endpoint>(endpoints)) {
    const { required = [] } = (endpoint.query ?? {}) as { required?: readonly string[] }
    if (endpoint.method !== 'GET' || endpoint.path.includes(':') || required.length > 0) continue
    if (operation === 'cluster_status') {
      const { status, message } = await failureOf(client[operation]())
      assert.deepEqual([status, message], [404, 'this node is not part of a cluster: cluster.enable is false'])
      continue
    }
    const reply = await replyOf(client[operation]())
    if (typeof endpoint.reply === 'string') assert.equal(typeof reply, 'string', operation)
    else assert.equal(compileShape(endpoint.reply).findFault(reply), undefined, operation)
  }
})

test('a change by one operation is visible to other operations and to an MQTT client', async (t) => {
  const broker = await runningBroker()
  const client = clientAt(broker.url)
  const clientid = 'sensor/1?#%é'
  const mqtt = await connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: clientid, reconnectPeriod: 0 })
  t.after(() => mqtt.endAsync(true))
  const params = { clientid }
  const [found] = (await replyOf(client.lookup_client({ params }))).data
  assert.equal(found?.conn_state, 'connected')
  await replyOf(client.mqtt_subscribe({ body: { clientid, topic: 'orders/#', qos: 1 } }))
  const receivedTopic = new Promise<string>((resolve) => mqtt.once('message', (topic) => resolve(topic)))
  const body = { topic: 'orders/new', payload: 'c28=', encoding: 'base64', qos: 1, receipt: true } as const
  const published = await replyOf(client.mqtt_publish({ body }))
  assert.equal(published.data?.receipt.matched, 1)
  assert.equal(await receivedTopic, 'orders/new')
  const subscriptions = await replyOf(client.list_subscriptions({ query: { clientid, qos: 1 } }))
  assert.deepEqual(
    subscriptions.data.map(({ topic }) => topic),
    ['orders/#'],
  )
  const closed = new Promise<void>((resolve) => mqtt.once('close', () => resolve()))
  await replyOf(client.kickout_client({ params }))
  await closed
  const { kind, code, status } = await failureOf(client.kickout_client({ params }))
  assert.deepEqual({ kind, code, status }, { kind: 'refused', code: 112, status: 404 })
})

test('a parameter that would lead to another operation is refused before it is sent', async () => {
  const nowhere = createClient(endpoints, { at: { url: 'http://127.0.0.1:1' } })
  const refused = await failureOf(nowhere.kickout_client({ params: { clientid: '' } }))
  assert.deepEqual([refused.kind, refused.code], ['refused', 107])
})
