// GET /dropped and GET /clients/:clientid/timeline: where messages went, and what happened to clients.

import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { connectAsync, type IClientOptions, type MqttClient } from 'mqtt'
import { insightEndpoints, shapeOf, type TSchema } from '../../src/contract/index.ts'
import { type Answer, type BrokerWithApi, startBrokerWithApi } from './api.ts'

async function connect(t: TestContext, { port }: BrokerWithApi, options: IClientOptions): Promise<MqttClient> {
  const client = await connectAsync({ host: '127.0.0.1', port, protocol: 'mqtt', reconnectPeriod: 0, ...options })
  t.after(() => client.end(true))
  return client
}

/** The answer is what the endpoint says that it is. */
function assertReply(name: keyof typeof insightEndpoints, { status, json }: Answer): void {
  assert.equal(status, 200, JSON.stringify(json))
  assert.equal(shapeOf(insightEndpoints[name].reply as TSchema).faultOf(json), undefined)
}

const denying = ['auth.no_match=allow', 'auth.acl.rules=[{permit=deny,action=publish,topics=["shut/#"]}]']

describe('GET /dropped', () => {
  test('says of each message that was dropped when, where, why and whose it was', async (t) => {
    const broker = await startBrokerWithApi(t, { set: [...denying, 'node.shards=2'] })
    const empty = await broker.ask('/api/v4/dropped')
    assertReply('list_dropped', empty)
    assert.deepEqual([empty.json.data, empty.json.meta.count], [[], 0])
    const beganMs = Date.now() - 1_000
    for (const clientId of ['a', 'b', 'c']) {
      const client = await connect(t, broker, { clientId })
      await client.publishAsync(`shut/${clientId}`, 'x', { qos: 1 })
    }
    const all = await broker.ask('/api/v4/dropped')
    assertReply('list_dropped', all)
    assert.equal(all.json.meta.count, 3)
    assert.equal(all.json.meta.by_reason['not-allowed'], 3)
    assert.deepEqual(
      all.json.data.map(({ topic }: { topic: string }) => topic),
      ['shut/c', 'shut/b', 'shut/a'],
    )
    const { ts, ...last } = all.json.data[0]
    assert.deepEqual(last, { topic: 'shut/c', qos: 1, reason: 'not-allowed', publisher: 'c', clientid: '' })
    assert.ok(ts > beganMs && ts <= Date.now() + 1_000)
  })

  test('is narrowed by topic, filter, reason, client and time, and comes in pages', async (t) => {
    const broker = await startBrokerWithApi(t, { set: denying })
    const client = await connect(t, broker, { clientId: 'me' })
    for (const topic of ['shut/a', 'shut/b', 'shut/a/b']) await client.publishAsync(topic, 'x', { qos: 1 })
    const topics = async (query: string): Promise<readonly string[]> => {
      const answer = await broker.ask(`/api/v4/dropped?${query}`)
      assertReply('list_dropped', answer)
      return answer.json.data.map(({ topic }: { topic: string }) => topic)
    }
    assert.deepEqual(await topics('topic=shut/a'), ['shut/a'])
    assert.deepEqual(await topics('topic=shut/%2B'), ['shut/b', 'shut/a'])
    assert.deepEqual(await topics('reason=expired'), [])
    assert.deepEqual((await topics('reason=not-allowed&clientid=me')).length, 3)
    assert.deepEqual(await topics('clientid=other'), [])
    assert.deepEqual(await topics(`since=${Date.now() + 60_000}`), [])
    assert.deepEqual(await topics('_page=2&_limit=2'), ['shut/a'])
    for (const query of ['reason=whim', 'since=yesterday', 'since=-1', '_page=0', '_limit=1.5']) {
      const answer = await broker.ask(`/api/v4/dropped?${query}`)
      assert.deepEqual([answer.status, answer.json.code], [400, 108], query)
    }
  })
})

describe('GET /clients/:clientid/timeline', () => {
  test('tells what happened to a client, also to one that has gone', async (t) => {
    const broker = await startBrokerWithApi(t, { set: [...denying, 'node.shards=2'] })
    const clientId = 'odd/id?#%'
    const path = `/api/v4/clients/${encodeURIComponent(clientId)}/timeline`
    assert.deepEqual((await broker.ask(path)).json, { code: 0, data: [] })
    const first = await connect(t, broker, { clientId })
    const gone = new Promise<void>((resolve) => first.once('close', () => resolve()))
    const second = await connect(t, broker, { clientId })
    await gone
    for (const topic of ['shut/a', 'shut/b']) await second.publishAsync(topic, 'x', { qos: 1 })
    await second.endAsync()
    const timeline = async (): Promise<Answer> => {
      const answer = await broker.ask(path)
      assertReply('client_timeline', answer)
      return answer
    }
    let answer = await timeline()
    while (answer.json.data.length < 8) answer = await timeline()
    assert.deepEqual(
      answer.json.data.map(({ event, count }: { event: string; count: number }) => [event, count]),
      [
        ['connected', 1],
        ['taken-over', 1],
        ['session-ended', 1],
        ['disconnected', 1],
        ['connected', 1],
        ['message-dropped', 2],
        ['session-ended', 1],
        ['disconnected', 1],
      ],
    )
    assert.equal(answer.json.data[3].reason_code, 0x8e)
    assert.equal(answer.json.data[0].ip_address, '127.0.0.1')
    assert.equal(answer.json.data[5].text, 'not-allowed')
  })

  test('tells of refusals, without saying more than the log', async (t) => {
    const broker = await startBrokerWithApi(t, { set: ['auth.allow_anonymous=false'] })
    for (let times = 0; times < 2; times++) {
      const password = 'a-secret-word'
      await assert.rejects(connect(t, broker, { clientId: 'stranger', username: 'x', password }))
    }
    const answer = await broker.ask('/api/v4/clients/stranger/timeline')
    assertReply('client_timeline', answer)
    assert.equal(answer.json.data.length, 1)
    const [{ event, count }] = answer.json.data
    assert.deepEqual([event, count], ['refused', 2])
    assert.ok(!answer.text.includes('a-secret-word'))
  })
})
