// Topic rewriting, automatic subscriptions and topic metrics, changed while the broker runs.

/* oxlint-disable no-template-curly-in-string -- placeholders */

import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import mqtt from 'mqtt'
import { shareConfigurableBroker } from '../management/api.ts'

suite('topics of clients', () => {
  const configuredBroker = shareConfigurableBroker(['node.shards=2'])

  test('are rewritten in PUBLISH, SUBSCRIBE and UNSUBSCRIBE as soon as the rules are set', async (t) => {
    const broker = await configuredBroker()
    const put = (body: unknown) => broker.request('/api/v5/mqtt/topic_rewrite', { method: 'PUT', body })
    const wrong = await put([{ action: 'all', source_topic: 'a/#', re: '(', dest_topic: 'b' }])
    assert.equal(wrong.status, 400)
    assert.match(wrong.text, /rewrite: re/)
    const rules = [{ action: 'all', source_topic: 'old/#', re: '^old/(.+)$', dest_topic: 'new/$1' }]
    assert.deepEqual((await put(rules)).json, rules)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c1', protocolVersion: 5 })
    t.after(() => client.end(true))
    const received: string[] = []
    const waiting = Promise.withResolvers<void>()
    client.on('message', (topic, payload) => {
      received.push(`${topic} ${payload.toString()}`)
      if (received.length === 2) waiting.resolve()
    })
    await client.subscribeAsync('old/a', { qos: 1 })
    await client.publishAsync('new/a', '1', { qos: 1 })
    await client.publishAsync('old/a', '2', { qos: 1 })
    await waiting.promise
    assert.deepEqual(received, ['new/a 1', 'new/a 2'])
    const subscriptions = (await broker.request('/api/v4/subscriptions/c1')).json.data
    assert.deepEqual(
      subscriptions.map(({ topic }: { topic: string }) => topic),
      ['new/a'],
    )
    await client.unsubscribeAsync('old/a')
    assert.deepEqual((await broker.request('/api/v4/subscriptions/c1')).json.data, [])
    assert.deepEqual((await put([])).json, [])
  })

  test('of automatic subscriptions are subscribed to when a client connects', async (t) => {
    const broker = await configuredBroker()
    const put = (body: unknown) => broker.request('/api/v5/mqtt/auto_subscribe', { method: 'PUT', body })
    assert.equal((await put([{ topic: 'a/#/b' }])).status, 400)
    const topics = [
      { topic: 'for/${clientid}', qos: 1, nl: 1 },
      { topic: 'user/${username}', qos: 1 },
    ]
    const set = await put(topics)
    assert.deepEqual(set.json[0], { topic: 'for/${clientid}', qos: 1, rh: 0, rap: 0, nl: 1 }, set.text)
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'c2' })
    t.after(() => client.end(true))
    const received = new Promise((resolve) =>
      client.on('message', (topic, payload) => resolve(`${topic} ${payload.toString()}`)),
    )
    let subscriptions
    do subscriptions = (await broker.request('/api/v4/subscriptions/c2')).json.data
    while (subscriptions.length === 0)
    assert.deepEqual(
      subscriptions.map(({ topic, qos }: { topic: string; qos: number }) => `${topic} ${qos}`),
      ['for/c2 1'],
      'the client has no user name',
    )
    // SUBACK shows that all shards know the subscriptions of this client: the API may publish on another one.
    await client.subscribeAsync('another', { qos: 1 })
    await broker.request('/api/v4/mqtt/publish', {
      method: 'POST',
      body: { topic: 'for/c2', payload: 'hello', qos: 1 },
    })
    assert.equal(await received, 'for/c2 hello')
    assert.deepEqual((await put([])).json, [])
  })

  test('beyond 512 cannot be registered for metrics', async () => {
    const topics = Array.from({ length: 512 }, (_, number) => ({ topic: `many/${number}` }))
    const broker = await configuredBroker([`topic_metrics=${JSON.stringify(topics)}`])
    const more = await broker.request('/api/v5/mqtt/topic_metrics', { method: 'POST', body: { topic: 'one/more' } })
    assert.equal(more.status, 409)
    assert.match(more.text, /at most 512/)
  })
})
