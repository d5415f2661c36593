// POST /mqtt/...: messages and subscriptions that the API makes for clients, checked with real clients.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { connect, type IClientOptions, type IPublishPacket, type MqttClient } from 'mqtt'
import { publishingEndpoints } from '../../src/api/publishing/endpoints.ts'
import { compileShape, type TSchema } from '../../src/contract/index.ts'
import { eventually } from '../e2e/eventually.ts'
import { type ApiResponse, type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from './api.ts'

interface ReceivedMessage {
  readonly topic: string
  readonly payload: Buffer
  readonly packet: IPublishPacket
}

class Listener {
  readonly client: MqttClient
  readonly received: ReceivedMessage[] = []
  #wake = (): void => {}

  constructor(client: MqttClient) {
    this.client = client
    client.on('message', (topic, payload, packet) => {
      this.received.push({ topic, payload, packet })
      this.#wake()
    })
  }

  readonly waitForMessages = async (count: number): Promise<readonly ReceivedMessage[]> => {
    while (this.received.length < count) await new Promise<void>((resolve) => (this.#wake = resolve))
    return this.received
  }
}

async function listen(
  t: TestContext,
  { port }: BrokerWithApi,
  { filters = [], ...options }: IClientOptions & { filters?: string[] },
): Promise<Listener> {
  const client = connect({ host: '127.0.0.1', port, protocol: 'mqtt', reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  // The handler is added before CONNACK, because queued messages arrive together with it.
  const listener = new Listener(client)
  await new Promise<void>((resolve) => client.once('connect', () => resolve()))
  if (filters.length > 0) await client.subscribeAsync(filters, { qos: 2 })
  return listener
}

/** Makes a persistent session and disconnects its client. Waits, because the owner shard may notice the end of the connection later. */
async function makeDisconnectedSession(
  t: TestContext,
  broker: BrokerWithApi,
  { clientId, filters }: { readonly clientId: string; readonly filters: string[] },
): Promise<void> {
  const { client } = await listen(t, broker, { clientId, clean: false, filters })
  await client.endAsync()
  await eventually(async () => {
    const { json } = await broker.request(`/api/v4/clients/${clientId}`)
    assert.equal(json.data[0].conn_state, 'disconnected')
  })
}

function post(broker: BrokerWithApi, what: string, body: unknown): Promise<ApiResponse> {
  return broker.request(`/api/v4/mqtt/${what}`, { method: 'POST', body })
}

/** The codes of the entries of a batch. */
function codes(response: ApiResponse): unknown {
  return response.json.data.map((entry: { code: number }) => entry.code)
}

/** Checks the response against the schema of the endpoint. */
function assertReply(name: keyof typeof publishingEndpoints, { status, json }: ApiResponse): void {
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(compileShape(publishingEndpoints[name].reply as TSchema).findFault(json), undefined)
  assert.equal(json.code, 0)
}

const configuredBroker = shareConfigurableBroker(['node.shards=3'])

/** Returns the counts of other shards. */
async function checkReceipts(t: TestContext, broker: BrokerWithApi): Promise<unknown> {
  for (const clientId of ['s1', 's2', 's3']) {
    await makeDisconnectedSession(t, broker, { clientId, filters: ['received'] })
  }
  for (const clientId of ['l1', 'l2']) await listen(t, broker, { clientId, filters: ['received'] })
  const response = await post(broker, 'publish', { topic: 'received', payload: 'x', qos: 1, receipt: true })
  assertReply('mqtt_publish', response)
  const { elsewhere, ...receipt } = response.json.data.receipt
  assert.deepEqual(receipt, { matched: 5, sent: 2, queued: 3, dropped: 0, missed: 0 })
  const atMostOnce = await post(broker, 'publish', { topic: 'received', payload: 'x', receipt: true })
  const { matched, sent, missed } = atMostOnce.json.data.receipt
  assert.deepEqual({ matched, sent, missed }, { matched: 5, sent: 2, missed: 3 })
  return elsewhere
}

describe('POST /mqtt/publish', () => {
  test('delivers the message with every property to the subscribers', async (t) => {
    const broker = await configuredBroker()
    const { waitForMessages } = await listen(t, broker, { protocolVersion: 5, filters: ['a/#'] })
    const response = await post(broker, 'publish', {
      topic: 'a/b',
      payload: 'hällo',
      qos: 1,
      clientid: 'somebody',
      properties: {
        payload_format_indicator: 1,
        message_expiry_interval: 60,
        response_topic: 'responses',
        correlation_data: 'x1',
        subscription_identifier: 7,
        content_type: 'text/plain',
        user_properties: { name: 'value', number: 3, yes: true },
      },
    })
    assertReply('mqtt_publish', response)
    const [{ topic, payload, packet }] = await waitForMessages(1)
    assert.deepEqual([topic, payload.toString(), packet.qos, packet.retain], ['a/b', 'hällo', 1, false])
    const { properties } = packet
    assert.equal(properties?.payloadFormatIndicator, true)
    assert.equal(properties?.messageExpiryInterval, 60)
    assert.equal(properties?.responseTopic, 'responses')
    assert.equal(properties?.correlationData?.toString(), 'x1')
    assert.equal(properties?.contentType, 'text/plain')
    assert.deepEqual({ ...properties?.userProperties }, { name: 'value', number: '3', yes: 'true' })
    assert.equal(properties?.subscriptionIdentifier, undefined)
  })

  test('decodes base64 payloads, with the key `encoding` and with `decoding`', async (t) => {
    const broker = await configuredBroker()
    const { waitForMessages } = await listen(t, broker, { filters: ['a'] })
    for (const key of ['encoding', 'decoding'])
      assertReply('mqtt_publish', await post(broker, 'publish', { topic: 'a', payload: 'AAH/', [key]: 'base64' }))
    for (const { payload } of await waitForMessages(2)) assert.deepEqual([...payload], [0, 1, 255])
    const wrong = await post(broker, 'publish', { topic: 'a', payload: '!', encoding: 'base64' })
    assert.deepEqual([wrong.status, wrong.json.code], [400, 108])
  })

  test('publishes to each topic of `topics` once, or to none if one of them is invalid', async (t) => {
    const broker = await configuredBroker()
    const { waitForMessages, received } = await listen(t, broker, { filters: ['#'] })
    const bad = await post(broker, 'publish', { topics: 'a,b/#,c', payload: 'x' })
    assert.deepEqual([bad.status, bad.json.code], [400, 115])
    assertReply('mqtt_publish', await post(broker, 'publish', { topic: 'a', topics: 'a,,b, c', payload: 'y' }))
    await waitForMessages(3)
    assert.deepEqual(
      received.map(({ topic, payload }) => `${topic}=${payload.toString()}`),
      ['a=y', 'b=y', ' c=y'],
    )
  })

  test('stores a retained message, deletes it with an empty payload, and does not apply access rules for the given client ID', async (t) => {
    const broker = await configuredBroker([
      'auth.no_match=allow',
      'auth.acl.rules=[{permit=deny,action=publish,topics=["a"],clientid="locked"}]',
    ])
    assertReply(
      'mqtt_publish',
      await post(broker, 'publish', { topic: 'a', payload: 'kept', retain: true, clientid: 'locked' }),
    )
    const first = await listen(t, broker, { filters: ['a'] })
    const [{ packet }] = await first.waitForMessages(1)
    assert.equal(packet.retain, true)
    assertReply('mqtt_publish', await post(broker, 'publish', { topic: 'a', payload: '', retain: true }))
    const second = await listen(t, broker, { filters: ['a', 'end'] })
    await post(broker, 'publish', { topic: 'end', payload: 'x' })
    assert.equal((await second.waitForMessages(1))[0].topic, 'end')
  })

  test('with QoS 1 responds when the message is durable: disconnected clients receive it after the broker was killed', async (t) => {
    const set = ['node.shards=2']
    const broker = await startBrokerWithApi(t, { set })
    const clientIds = ['offline-1', 'offline-2', 'offline-3', 'offline-4']
    for (const clientId of clientIds) await makeDisconnectedSession(t, broker, { clientId, filters: ['a'] })
    assertReply('mqtt_publish', await post(broker, 'publish', { topic: 'a', payload: 'safe', qos: 1 }))
    await broker.process.stop('SIGKILL')
    const again = await startBrokerWithApi(t, { set: ['node.shards=1'], dataDirectory: broker.dataDirectory })
    for (const clientId of clientIds) {
      const { waitForMessages } = await listen(t, again, { clientId, clean: false })
      assert.equal((await waitForMessages(1))[0].payload.toString(), 'safe')
    }
    await t.test('with `receipt` counts matched, sent, queued and dropped messages on one shard', async (inner) => {
      const elsewhere = await checkReceipts(inner, again)
      assert.deepEqual(elsewhere, { matched: 0, sent: 0, queued: 0, dropped: 0 })
    })
  })

  test('with `receipt` counts matched, sent, queued and dropped messages on three shards', async (t) => {
    await checkReceipts(t, await configuredBroker())
  })

  test('with `receipt` counts full sessions that lose their oldest message, whichever shard they are on', async (t) => {
    const broker = await configuredBroker(['mqtt.max_stored_messages=2'])
    for (let number = 0; number < 6; number++)
      await makeDisconnectedSession(t, broker, { clientId: `full-${number}`, filters: ['full'] })
    for (const dropped of [0, 0, 6, 6]) {
      const response = await post(broker, 'publish', { topic: 'full', payload: 'x', qos: 1, receipt: true })
      assertReply('mqtt_publish', response)
      const { elsewhere: _, ...receipt } = response.json.data.receipt
      assert.deepEqual(receipt, { matched: 6, sent: 0, queued: 6, dropped, missed: 0 })
    }
  })

  test('with `receipt` counts one member of each shared subscription, whichever shard it is on', async (t) => {
    const broker = await configuredBroker()
    for (const clientId of ['m1', 'm2', 'm3', 'm4', 'm5', 'm6'])
      await listen(t, broker, { clientId, filters: ['$share/g/dealt'] })
    for (const clientId of ['h1', 'h2', 'h3', 'h4'])
      await makeDisconnectedSession(t, broker, { clientId, filters: ['$share/h/dealt'] })
    for (let times = 0; times < 12; times++) {
      const response = await post(broker, 'publish', { topic: 'dealt', payload: 'x', qos: 1, receipt: true })
      const { elsewhere: _, ...receipt } = response.json.data.receipt
      assert.deepEqual(receipt, { matched: 2, sent: 1, queued: 1, dropped: 0, missed: 0 })
    }
  })

  test('refuses an invalid message with the code of the error, and publishes nothing', async () => {
    const broker = await configuredBroker()
    const good = { topic: 'a', payload: 'x' }
    const cases: readonly (readonly [body: unknown, code: number])[] = [
      [{ payload: 'x' }, 107],
      [{ topic: 'a' }, 107],
      ['{', 109],
      [[], 109],
      ['', 109],
      ['null', 109],
      [{ ...good, payload: 1 }, 108],
      [{ ...good, qos: 3 }, 108],
      [{ ...good, qos: 1.5 }, 108],
      [{ ...good, qos: '1' }, 108],
      [{ ...good, retain: 'true' }, 108],
      [{ ...good, clientid: 7 }, 108],
      [{ ...good, clientid: 'a\0b' }, 108],
      [{ ...good, encoding: 'base62' }, 108],
      [{ ...good, topic: '' }, 115],
      [{ ...good, topic: 'a\0b' }, 115],
      [{ ...good, topic: 'a/+' }, 115],
      [{ ...good, topic: '$share/g/a' }, 115],
      [{ ...good, topic: '$SYS/brokers' }, 115],
      [{ ...good, topic: '$event/client_connected' }, 115],
      [{ ...good, topics: 'a,$SYS/brokers', topic: undefined }, 115],
      [{ ...good, topic: 'a/'.repeat(200) }, 115],
      [{ ...good, topic: 'x'.repeat(65_536) }, 115],
      [{ ...good, topics: ',', topic: undefined }, 115],
      [{ ...good, properties: { payload_format_indicator: 2 } }, 108],
      [{ ...good, properties: { message_expiry_interval: -1 } }, 108],
      [{ ...good, properties: { message_expiry_interval: 4_294_967_296 } }, 108],
      [{ ...good, properties: { response_topic: 'a/#' } }, 108],
      [{ ...good, properties: { subscription_identifier: 0 } }, 108],
      [{ ...good, properties: { subscription_identifier: 268_435_456 } }, 108],
      [{ ...good, properties: { user_properties: { a: null } } }, 108],
      [{ ...good, properties: { user_properties: { 'a\0': 'x' } } }, 108],
      [{ ...good, properties: { content_type: '\ud800' } }, 108],
      [{ ...good, payload: '/w==', encoding: 'base64', properties: { payload_format_indicator: 1 } }, 108],
    ]
    for (const [body, code] of cases) {
      const response = await post(broker, 'publish', body)
      assert.deepEqual([response.status, response.json.code], [400, code], JSON.stringify(body)?.slice(0, 100))
      assert.equal(typeof response.json.message, 'string')
    }
  })
})

describe('POST /mqtt/publish_batch', () => {
  test('returns one entry for each message, and publishes the valid ones in order', async (t) => {
    const broker = await configuredBroker()
    const { waitForMessages, received } = await listen(t, broker, { filters: ['a/#'] })
    const messages = Array.from({ length: 200 }, (_, number) => ({ topic: 'a/n', payload: String(number), qos: 1 }))
    const wrong = [{ topic: 'a/#', payload: 'x' }, 'text', { topics: 'a/1,a/2' }, { topics: 'a/1,a/2', payload: 'end' }]
    const response = await post(broker, 'publish_batch', [...messages, ...wrong])
    assertReply('mqtt_publish_batch', response)
    const entries = response.json.data.map(({ topic, code }: { topic: string; code: number }) => [topic, code])
    assert.deepEqual(
      entries.slice(0, 200),
      messages.map(() => ['a/n', 0]),
    )
    assert.deepEqual(entries.slice(200), [
      ['a/#', 115],
      ['', 108],
      ['a/1,a/2', 107],
      ['a/1,a/2', 0],
    ])
    await waitForMessages(202)
    assert.deepEqual(
      received.map(({ payload }) => payload.toString()),
      [...messages.map(({ payload }) => payload), 'end', 'end'],
    )
  })

  test('accepts only an array', async () => {
    const broker = await configuredBroker()
    for (const body of [{}, '"x"', '[', { topic: 'a', payload: 'x' }]) {
      const response = await post(broker, 'publish_batch', body)
      assert.deepEqual([response.status, response.json.code], [400, 109])
    }
  })
})

describe('POST /mqtt/subscribe and /mqtt/unsubscribe', () => {
  test('take effect for a connected client before the response, whichever shard publishes', async (t) => {
    const broker = await configuredBroker()
    const clients = await Promise.all(
      ['c1', 'c2', 'c3', 'c4'].map(async (clientId) => ({
        clientId,
        waitForMessages: (await listen(t, broker, { clientId })).waitForMessages,
      })),
    )
    for (const { clientId } of clients) {
      const response = await post(broker, 'subscribe', { topics: 'a,b/+', clientid: clientId, qos: 1 })
      assertReply('mqtt_subscribe', response)
    }
    for (const topic of ['a', 'b/1']) await post(broker, 'publish', { topic, payload: 'x', qos: 2 })
    for (const { waitForMessages } of clients)
      assert.deepEqual(
        (await waitForMessages(2)).map(({ topic, packet }) => [topic, packet.qos]),
        [
          ['a', 1],
          ['b/1', 1],
        ],
      )
    for (const { clientId } of clients)
      assertReply('mqtt_unsubscribe', await post(broker, 'unsubscribe', { topic: 'a', clientid: clientId }))
    for (const topic of ['a', 'b/2']) await post(broker, 'publish', { topic, payload: 'x' })
    for (const { waitForMessages } of clients) assert.equal((await waitForMessages(3))[2].topic, 'b/2')
  })

  test('return 112 for an unknown or disconnected client, and 107, 108, 109 or 115 for invalid requests', async (t) => {
    const broker = await configuredBroker()
    await makeDisconnectedSession(t, broker, { clientId: 'offline', filters: ['a'] })
    await listen(t, broker, { clientId: 'there' })
    for (const what of ['subscribe', 'unsubscribe']) {
      for (const clientid of ['offline', 'nobody']) {
        const response = await post(broker, what, { topic: 'a', clientid })
        assert.deepEqual([response.status, response.json.code], [404, 112])
      }
      const cases: readonly (readonly [body: unknown, code: number])[] = [
        [{ clientid: 'there' }, 107],
        [{ topic: 'a' }, 107],
        [{ topic: 'a', clientid: 3 }, 108],
        [{ topic: 'a/#/b', clientid: 'there' }, 115],
        [{ topic: '', clientid: 'there' }, 115],
        ['[]', 109],
      ]
      for (const [body, code] of cases) {
        const response = await post(broker, what, body)
        assert.deepEqual([response.status, response.json.code], [400, code], JSON.stringify(body))
      }
    }
    const badQoS = await post(broker, 'subscribe', { topic: 'a', clientid: 'there', qos: 3 })
    assert.deepEqual([badQoS.status, badQoS.json.code], [400, 108])
  })

  test('return one entry for each item of a batch', async (t) => {
    const broker = await configuredBroker()
    const { waitForMessages } = await listen(t, broker, { clientId: 'c' })
    const entries = [
      { topic: 'a', clientid: 'c' },
      { topic: 'a', clientid: 'nobody' },
      { topic: 'a/#/b', clientid: 'c' },
      { topic: 'b', clientid: 'c', qos: 9 },
    ]
    const subscribed = await post(broker, 'subscribe_batch', entries)
    assertReply('mqtt_subscribe_batch', subscribed)
    assert.deepEqual(codes(subscribed), [0, 112, 115, 108])
    await post(broker, 'publish', { topic: 'a', payload: 'x' })
    assert.equal((await waitForMessages(1))[0].topic, 'a')
    const unsubscribed = await post(broker, 'unsubscribe_batch', entries.slice(0, 2))
    assertReply('mqtt_unsubscribe_batch', unsubscribed)
    assert.deepEqual(codes(unsubscribed), [0, 112])
  })
})
