// Topics that are replaced and subscriptions that the broker makes, changed while the broker runs.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import mqtt from 'mqtt'
import { shareBrokerWithApi } from '../management/api.ts'

suite('topics of clients', () => {
  const shared = shareBrokerWithApi({ set: ['node.shards=2'] })

  test('are replaced in PUBLISH, SUBSCRIBE and UNSUBSCRIBE as soon as the rules are set', async (t) => {
    const broker = await shared()
    const put = (body: unknown) => broker.ask('/api/v5/mqtt/topic_rewrite', { method: 'PUT', body })
    const wrong = await put([{ action: 'all', source_topic: 'a/#', re: '(', dest_topic: 'b' }])
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /rewrite: re/)
    const rules = [{ action: 'all', source_topic: 'old/#', re: '^old/(.+)$', dest_topic: 'new/$1' }]
    assert.deepEqual((await put(rules)).json, rules)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c1', protocolVersion: 5 })
    t.after(() => client.end(true))
    const heard: string[] = []
    const waiting = Promise.withResolvers<void>()
    client.on('message', (topic, payload) => {
      heard.push(`${topic} ${payload.toString()}`)
      if (heard.length === 2) waiting.resolve()
    })
    await client.subscribeAsync('old/a', { qos: 1 })
    await client.publishAsync('new/a', '1', { qos: 1 })
    await client.publishAsync('old/a', '2', { qos: 1 })
    await waiting.promise
    assert.deepEqual(heard, ['new/a 1', 'new/a 2'])
    const subscriptions = (await broker.ask('/api/v4/subscriptions/c1')).json.data
    assert.deepEqual(
      subscriptions.map(({ topic }: { topic: string }) => topic),
      ['new/a'],
    )
    await client.unsubscribeAsync('old/a')
    assert.deepEqual((await broker.ask('/api/v4/subscriptions/c1')).json.data, [])
    assert.deepEqual((await put([])).json, [])
  })

  test('are subscribed to when they connect', async (t) => {
    const broker = await shared()
    const put = (body: unknown) => broker.ask('/api/v5/mqtt/auto_subscribe', { method: 'PUT', body })
    assert.equal((await put([{ topic: 'a/#/b' }])).status, 400)
    const topics = [
      { topic: 'for/${clientid}', qos: 1, nl: 1 },
      { topic: 'user/${username}', qos: 1 },
    ]
    const set = await put(topics)
    assert.deepEqual(set.json[0], { topic: 'for/${clientid}', qos: 1, rh: 0, rap: 0, nl: 1 }, set.text)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c2' })
    t.after(() => client.end(true))
    const heard = new Promise((resolve) =>
      client.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
    )
    let subscriptions
    do subscriptions = (await broker.ask('/api/v4/subscriptions/c2')).json.data
    while (subscriptions.length === 0)
    assert.deepEqual(
      subscriptions.map(({ topic, qos }: { topic: string; qos: number }) => `${topic} ${qos}`),
      ['for/c2 1'],
      'it has no user name',
    )
    await broker.ask('/api/v4/mqtt/publish', { method: 'POST', body: { topic: 'for/c2', payload: 'hello', qos: 1 } })
    assert.equal(await heard, 'for/c2 hello')
    assert.deepEqual((await put([])).json, [])
  })
})
