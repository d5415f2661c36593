// GET /explain, /dropped, /slow_subscriptions, /clients/:clientid/timeline and /queue: access decisions, dropped messages, slow clients, events
// and queues of clients.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { diagnosticsEndpoints } from '../../src/api/diagnostics/endpoints.ts'
import { compileShape, type TSchema } from '../../src/contract/index.ts'
import { slowSubscriptionEndpoints } from '../../src/api/slow-subscriptions/endpoints.ts'
import { eventually } from '../e2e/eventually.ts'
import { temporaryFolder } from '../e2e/godwit-process.ts'
import { type ApiResponse, type BrokerWithApi, restartBroker, shareConfigurableBroker } from './api.ts'

async function connect(t: TestContext, { port }: BrokerWithApi, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync({ host: '127.0.0.1', port, protocol: 'mqtt', reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  return client
}

/** Checks the response against the schema of the endpoint. */
function assertReply(name: keyof typeof diagnosticsEndpoints, { status, json }: ApiResponse): void {
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(compileShape(diagnosticsEndpoints[name].reply as TSchema).findFault(json), undefined)
}

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

test('a client that acknowledges nothing is listed as slow with its oldest message, and other clients are not listed', async (t) => {
  const broker = await configuredBroker()
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
    const response = await broker.request(`/api/v4/slow_subscriptions?threshold=1`)
    assert.equal(
      compileShape(slowSubscriptionEndpoints.list_slow_subscriptions.reply).findFault(response.json),
      undefined,
    )
    // The quick client is listed until its acknowledgements have arrived.
    const [found, ...others] = response.json.data
    assert.deepEqual([found?.clientid, found?.topic, found?.mqueue_len], ['slow one', 'plant/first', 2])
    assert.deepEqual(others, [])
  })
  assert.deepEqual(
    (await broker.request(`/api/v4/slow_subscriptions?threshold=86400000`)).json.data,
    [],
    'the delay is below this threshold',
  )
})

test('an invalid threshold or limit is refused', async () => {
  const broker = await configuredBroker()
  for (const query of ['threshold=soon', 'threshold=-1', '_limit=0', '_limit=1001']) {
    const { status, json } = await broker.request(`/api/v4/slow_subscriptions?${query}`)
    assert.deepEqual([status, json.code], [400, 108], query)
  }
})

const denying = ['auth.no_match=allow', 'auth.acl.rules=[{permit=deny,action=publish,topics=["shut/#"]}]']

describe('GET /clients/:clientid/queue', () => {
  const session = { clientId: 'reader', clean: false, protocolVersion: 5 } as const

  test('lists messages in flight and queued messages in the order of delivery, from memory and from disk', async (t) => {
    const broker = await configuredBroker()
    const queue = async (
      query = '',
    ): Promise<{ topic: string; state: string; payload_bytes: number; qos: number }[]> => {
      const response = await broker.request(`/api/v4/clients/reader/queue${query}`)
      assertReply('client_queue', response)
      return response.json.data
    }
    const properties = { sessionExpiryInterval: 600, receiveMaximum: 2 }
    // This client receives messages and does not acknowledge them.
    const reader = await connect(t, broker, { ...session, properties, customHandleAcks: () => {} })
    await reader.subscribeAsync('q/#', { qos: 1 })
    const publisher = await connect(t, broker, { clientId: 'publisher' })
    const publish = async (first: number, last: number): Promise<void> => {
      for (let number = first; number <= last; number++)
        await publisher.publishAsync(`q/${number}`, 'x'.repeat(number), { qos: 1 })
    }
    await publish(1, 5)
    const connected = await queue()
    assert.deepEqual(
      connected.map(({ state }) => state),
      ['inflight', 'inflight', 'waiting', 'waiting', 'waiting'],
    )
    assert.deepEqual(
      connected.map(({ topic, payload_bytes: bytes, qos }) => [topic, bytes, qos]),
      [1, 2, 3, 4, 5].map((number) => [`q/${number}`, number, 1]),
    )
    await reader.endAsync(true)
    // More messages than stay in memory for a disconnected session.
    await publish(6, 300)
    const disconnected = await queue('?limit=1000')
    assert.deepEqual(
      disconnected.map(({ topic }) => topic),
      Array.from({ length: 300 }, (_, index) => `q/${index + 1}`),
    )
    assert.deepEqual(
      (await queue('?_limit=3')).map(({ payload_bytes: bytes }) => bytes),
      [1, 2, 3],
    )
    await (await connect(t, broker, { clientId: 'reader' })).endAsync()
  })

  test('is empty for a client that has acknowledged all messages, and 404 without a session', async (t) => {
    const broker = await configuredBroker()
    await connect(t, broker, { ...session, clientId: 'idle' })
    assert.deepEqual((await broker.request('/api/v4/clients/idle/queue')).json, { code: 0, data: [] })
    const absent = await broker.request('/api/v4/clients/nobody/queue')
    assert.deepEqual([absent.status, absent.json.code], [404, 112])
    assert.match(absent.json.message, /nobody/)
  })
})

describe('GET /dropped', () => {
  test('lists each dropped message with time, topic, reason and publisher', async (t) => {
    const broker = await restartBroker(await configuredBroker(denying))
    const empty = await broker.request('/api/v4/dropped')
    assertReply('list_dropped', empty)
    assert.deepEqual([empty.json.data, empty.json.meta.count], [[], 0])
    const beganMs = Date.now() - 1_000
    for (const clientId of ['a', 'b', 'c']) {
      const client = await connect(t, broker, { clientId })
      await client.publishAsync(`shut/${clientId}`, 'x', { qos: 1 })
    }
    const all = await broker.request('/api/v4/dropped')
    assertReply('list_dropped', all)
    assert.equal(all.json.meta.count, 3)
    assert.equal(all.json.meta.by_reason['not-allowed'], 3)
    assert.deepEqual(
      all.json.data.map(({ topic }: { topic: string }) => topic),
      ['shut/c', 'shut/b', 'shut/a'],
    )
    const { ts, ...last } = all.json.data[0]
    assert.deepEqual(last, {
      topic: 'shut/c',
      qos: 1,
      reason: 'not-allowed',
      plugin: null,
      publisher: 'c',
      clientid: '',
    })
    assert.ok(ts > beganMs && ts <= Date.now() + 1_000)
  })

  test('filters by topic, topic filter, reason, client and time, and has pages', async (t) => {
    const broker = await configuredBroker(denying)
    const client = await connect(t, broker, { clientId: 'me' })
    for (const topic of ['shut/n/a', 'shut/n/b', 'shut/n/a/b']) await client.publishAsync(topic, 'x', { qos: 1 })
    const topics = async (query: string): Promise<readonly string[]> => {
      const response = await broker.request(`/api/v4/dropped?${query}`)
      assertReply('list_dropped', response)
      return response.json.data.map(({ topic }: { topic: string }) => topic)
    }
    assert.deepEqual(await topics('topic=shut/n/a'), ['shut/n/a'])
    assert.deepEqual(await topics('topic=shut/n/%2B'), ['shut/n/b', 'shut/n/a'])
    assert.deepEqual(await topics('reason=expired'), [])
    assert.deepEqual((await topics('reason=not-allowed&clientid=me')).length, 3)
    assert.deepEqual(await topics('clientid=other'), [])
    assert.deepEqual(await topics(`since=${Date.now() + 60_000}`), [])
    assert.deepEqual(await topics('clientid=me&_page=2&_limit=2'), ['shut/n/a'])
    const noFilter = await broker.request('/api/v4/dropped?topic=shut%23')
    assert.deepEqual([noFilter.status, noFilter.json.code], [400, 115])
    for (const query of ['reason=whim', 'since=yesterday', 'since=-1', '_page=0', '_limit=1.5', 'colour=red']) {
      const response = await broker.request(`/api/v4/dropped?${query}`)
      assert.deepEqual([response.status, response.json.code], [400, 108], query)
    }
  })
})

describe('GET /clients/:clientid/timeline', () => {
  test('lists the events of a client, also after it has disconnected', async (t) => {
    const broker = await configuredBroker(denying)
    const clientId = 'odd/id?#%'
    const path = `/api/v4/clients/${encodeURIComponent(clientId)}/timeline`
    assert.deepEqual((await broker.request(path)).json, { code: 0, data: [] })
    const first = await connect(t, broker, { clientId })
    const closed = new Promise<void>((resolve) => first.once('close', () => resolve()))
    const second = await connect(t, broker, { clientId })
    await closed
    for (const topic of ['shut/a', 'shut/b']) await second.publishAsync(topic, 'x', { qos: 1 })
    await second.endAsync()
    const timeline = async (): Promise<ApiResponse> => {
      const response = await broker.request(path)
      assertReply('client_timeline', response)
      return response
    }
    let response = await timeline()
    while (response.json.data.length < 9) response = await timeline()
    assert.deepEqual(
      response.json.data.map(({ event, count }: { event: string; count: number }) => [event, count]),
      [
        ['connected', 1],
        ['taken-over', 1],
        ['disconnected', 1],
        ['session-ended', 1],
        ['connected', 1],
        ['packet-refused', 1],
        ['packet-refused', 1],
        ['disconnected', 1],
        ['session-ended', 1],
      ],
    )
    assert.equal(response.json.data[2].reason_code, 0x8e)
    assert.equal(response.json.data[0].ip_address, '127.0.0.1')
    assert.match(response.json.data[8].text, /^the session ended with its connection \(expiry 0\)/)
    for (const [index, topic] of [
      [5, 'shut/a'],
      [6, 'shut/b'],
    ] as const) {
      assert.equal(response.json.data[index].text, `PUBLISH ${topic}: not allowed to publish`)
      assert.equal(response.json.data[index].reason_code, 0x87)
    }
  })

  test('counts refused CONNECT packets, without the password', async (t) => {
    const broker = await configuredBroker(['auth.allow_anonymous=false'])
    for (let times = 0; times < 2; times++) {
      const password = 'a-secret-word'
      await assert.rejects(connect(t, broker, { clientId: 'stranger', username: 'x', password }))
    }
    const response = await broker.request('/api/v4/clients/stranger/timeline')
    assertReply('client_timeline', response)
    assert.equal(response.json.data.length, 1)
    const [{ event, count }] = response.json.data
    assert.deepEqual([event, count], ['refused', 2])
    assert.ok(!response.text.includes('a-secret-word'))
  })
})

describe('GET /explain', () => {
  test('shows the identity of a client, the rule that decides with its file and line, and the subscribers', async (t) => {
    const rules = await aclFile(t, ['{deny, {user, "eve"}, publish, ["a/#"]}.', '', '{allow, all}.'])
    const broker = await configuredBroker(['auth.no_match=deny', `auth.acl.file="${rules}"`, 'mqtt.max_awaiting_rel=7'])
    await connect(t, broker, { clientId: 'eve-1', username: 'eve' })
    const live = await connect(t, broker, { clientId: 'live' })
    await live.subscribeAsync('a/+', { qos: 1 })
    const firstConnection = await connect(t, broker, { clientId: 'offline', clean: false })
    await firstConnection.subscribeAsync('#', { qos: 2 })
    await firstConnection.endAsync()
    for (const clientId of ['m1', 'm2'])
      await (await connect(t, broker, { clientId })).subscribeAsync('$share/g/a/b', { qos: 0 })
    const explain = async (): Promise<ApiResponse['json']> => {
      const response = await broker.request('/api/v4/explain?clientid=eve-1&action=publish&topic=a/b')
      assertReply('explain', response)
      return response.json.data
    }
    const data = await explain()
    assert.deepEqual(data.client, {
      connected: true,
      session: true,
      username: 'eve',
      ip_address: '127.0.0.1',
      authenticated_by: 'anonymous',
      superuser: false,
    })
    assert.deepEqual([data.decision.result, data.decision.because], ['deny', 'configured-rule'])
    assert.match(data.decision.place, /acl\.conf:1$/)
    assert.deepEqual(data.quotas.max_awaiting_rel, { used: 0, limit: 7, left: 7 })
    type Subscription = Record<'clientid' | 'topic' | 'outcome', string> & { qos: number; delivered_qos: number }
    // The owner shard may not be the shard of the connection, so it may notice the end of the connection later.
    await eventually(async () => {
      const subscriptions = (await explain()).subscriptions.map(
        ({ clientid, topic, qos, delivered_qos: delivered, outcome }: Subscription) =>
          [clientid, topic, qos, delivered, outcome].join(' '),
      )
      assert.deepEqual(subscriptions.sort(), [
        'live a/+ 1 1 sent',
        'm1 $share/g/a/b 0 0 group',
        'm2 $share/g/a/b 0 0 group',
        'offline # 2 2 queued',
      ])
    })
    const { json } = await broker.request('/api/v4/explain?clientid=eve-1&action=subscribe&topic=a/%23')
    assert.deepEqual([json.data.decision.result, json.data.subscriptions], ['allow', []])
    assert.match(json.data.decision.place, /acl\.conf:3$/)
  })

  test('uses the given user name and address for a client without a session, and changes nothing', async () => {
    const broker = await configuredBroker([
      'auth.no_match=allow',
      'auth.acl.rules=[{permit=deny,action=publish,topics=["a"],username="eve"}]',
    ])
    const explain = async (query: string): Promise<unknown> => {
      const response = await broker.request(`/api/v4/explain?clientid=nobody&action=publish&topic=a${query}`)
      assertReply('explain', response)
      const { client, decision, quotas } = response.json.data
      assert.deepEqual([client.session, client.connected, client.authenticated_by, quotas], [false, false, null, {}])
      return [decision.result, decision.because]
    }
    assert.deepEqual(await explain(''), ['allow', 'no-match'])
    assert.deepEqual(await explain('&username=eve&ip_address=192.0.2.7'), ['deny', 'configured-rule'])
    assert.deepEqual(await explain('&ip_address=no-address'), ['allow', 'no-match'])
    assert.deepEqual((await broker.request('/api/v4/clients/nobody/timeline')).json.data, [])
  })

  test('names obstacles other than rules, and refuses invalid queries', async () => {
    const broker = await configuredBroker()
    const obstacle = async (query: string): Promise<string> => {
      const response = await broker.request(`/api/v4/explain?clientid=me&${query}`)
      assertReply('explain', response)
      return response.json.data.obstacle
    }
    assert.match(await obstacle('action=publish&topic=$SYS/x'), /broker's own/)
    assert.match(await obstacle('action=subscribe&topic=$exclusive/a'), /mqtt\.exclusive_subscription/)
    assert.equal(await obstacle('action=publish&topic=a'), null)
    const cases: readonly (readonly [query: string, code: number])[] = [
      ['action=publish&topic=a', 107],
      ['clientid=me&topic=a', 107],
      ['clientid=me&action=publish', 107],
      ['clientid=me&action=read&topic=a', 108],
      ['clientid=me&action=publish&topic=a&qos=3', 108],
      ['clientid=me&action=publish&topic=a&colour=red', 108],
      ['clientid=me&action=publish&topic=a/%23', 115],
      ['clientid=me&action=subscribe&topic=a/%23/b', 115],
    ]
    for (const [query, code] of cases) {
      const response = await broker.request(`/api/v4/explain?${query}`)
      assert.deepEqual([response.status, response.json.code], [400, code], query)
    }
  })
})

async function aclFile(t: TestContext, lines: readonly string[]): Promise<string> {
  const file = join(await temporaryFolder(t), 'acl.conf')
  await writeFile(file, lines.join('\n'))
  return file
}
