// Results that a service refuses permanently, or that the queue of an action drops, go to the fallbacks of the action.

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import mqtt from 'mqtt'
import { type BrokerWithApi, shareConfigurableBroker, startBrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './godwit-process.ts'
import { HttpService } from './http-service.ts'
import { reservePort } from './reserve-port.ts'

/* oxlint-disable no-template-curly-in-string -- templates of rules */

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

const quick = { max_retries: 0, retry_interval: '20ms' }
const toFailed = { kind: 'republish', args: { topic: 'failed/${clientid}', payload: '${topic} ${payload}' } }
const toSecond = { kind: 'reference', type: 'http', name: 'second' }

/**
 * Settings of an action `name`, and of `second` for its fallback. Dead letters of an action remain when it is removed, so each test has
 * another action.
 */
function settings(
  name: string,
  { service, second = service }: { readonly service: HttpService; readonly second?: HttpService },
  fallbacks: readonly object[],
  options: object = {},
) {
  const body = '${payload}'
  const hook = { connector: 'local', parameters: { path: 'hook', body }, resource_opts: { ...quick, ...options } }
  const other = { connector: 'other', parameters: { path: 'second', body: '${clientid}: ${payload}' } }
  return [
    `connectors.http={local={url="http://127.0.0.1:${service.port}"},other={url="http://127.0.0.1:${second.port}"}}`,
    `actions.http.${name}=${JSON.stringify({ ...hook, fallback_actions: fallbacks })}`,
    `actions.http.second=${JSON.stringify({ ...other, resource_opts: quick })}`,
    `rule_engine.rules.all={sql="SELECT * FROM \\"in/#\\", \\"failed/#\\"",actions=["http:${name}"]}`,
  ]
}

/** Connects the client `p` and collects the messages of `failed/#`. */
async function connect(t: TestContext, broker: { readonly port: number }) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId: 'p' })
  t.after(() => client.end(true))
  const failed: { readonly topic: string; readonly payload: Buffer; readonly qos: number }[] = []
  client.on('message', (topic, payload, { qos }) => failed.push({ topic, payload, qos }))
  await client.subscribeAsync('failed/#', { qos: 1 })
  return { client, failed }
}

async function metricsOf(broker: BrokerWithApi, action: string) {
  return (await broker.request(`/api/v5/actions/${action}/metrics`)).json.metrics
}

test('a result that a service refuses goes to all fallbacks and does not become a dead letter; other results are sent', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = ({ body, path }) => (path === '/hook' && body.includes('poison') ? 400 : 200)
  const broker = await configuredBroker(settings('first', { service }, [toSecond, toFailed]))
  const { client, failed } = await connect(t, broker)
  for (const payload of ['a', 'poison 1', 'b']) await client.publishAsync('in/x', payload, { qos: 1 })
  await service.until((received) => received.length >= 4)
  await eventually(() => assert.equal(failed.length, 1))
  assert.deepEqual(
    failed.map(({ topic, payload, qos }) => [topic, payload.toString(), qos]),
    [['failed/p', 'in/x poison 1', 1]],
  )
  const bodies = service.received.map(({ path, body }) => `${path} ${body}`)
  assert.deepEqual(bodies.toSorted(), ['/hook a', '/hook b', '/hook poison 1', '/second p: poison 1'])
  await eventually(async () => assert.equal((await metricsOf(broker, 'http:second')).success, 1))
  await eventually(async () => {
    const { matched, success, failed: refused, dead_letters, queuing, inflight } = await metricsOf(broker, 'http:first')
    assert.deepEqual([matched, success, refused, dead_letters, queuing, inflight], [3, 2, 1, 0, 0, 0])
  })
  const rule = (await broker.request('/api/v5/rules/all/metrics')).json.metrics
  assert.deepEqual([rule['matched'], rule['actions.total'], rule['actions.failed']], [3, 3, 1])
})

test('a result of another rule for a message of a fallback has no fallbacks: if it is refused, it becomes a dead letter', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 400
  const echo = 'rule_engine.rules.echo={sql="SELECT * FROM \\"failed/#\\"",actions=["http:echoed"]}'
  const broker = await configuredBroker([...settings('echoed', { service }, [toFailed]), echo])
  const { client, failed } = await connect(t, broker)
  await client.publishAsync('in/x', 'poison', { qos: 1 })
  await eventually(async () => assert.equal((await metricsOf(broker, 'http:echoed')).dead_letters, 1))
  const [letter] = (await broker.request('/api/v5/actions/http:echoed/dead_letters')).json.data
  assert.equal(letter.rule, 'echo')
  await eventually(() => assert.equal(failed.length, 1))
  const bodies = service.received.map(({ body }) => body)
  assert.deepEqual(bodies, ['poison', 'in/x poison'])
})

test('if a fallback fails permanently, the result becomes a dead letter with both reasons, which can be sent again', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 400
  const wrong = { kind: 'republish', args: { topic: 'failed/#' } }
  const broker = await configuredBroker(settings('lettered', { service }, [wrong, toFailed]))
  const { client, failed } = await connect(t, broker)
  await client.publishAsync('in/x', 'poison', { qos: 1 })
  await eventually(async () => assert.equal((await metricsOf(broker, 'http:lettered')).dead_letters, 1))
  const [letter] = (await broker.request('/api/v5/actions/http:lettered/dead_letters')).json.data
  assert.deepEqual([letter.reason, letter.payload], ['HTTP status 400; fallback republish: invalid-topic', 'poison'])
  await eventually(() => assert.equal(failed.length, 1))
  service.statusFor = () => 200
  await broker.request('/api/v5/actions/http:lettered/dead_letters/retry', { method: 'POST' })
  await service.until((received) => received.length >= 2)
  assert.equal(service.received[1]?.body, 'poison')
})

test('a result that the queue of an action drops goes to its fallbacks at once', async (t) => {
  const service = await HttpService.prepare(t)
  const limits = { max_buffer_messages: 2, overflow: 'drop' }
  const broker = await configuredBroker(settings('dropping', { service }, [toFailed], limits))
  const { client, failed } = await connect(t, broker)
  for (const payload of ['1', '2', '3', '4']) await client.publishAsync('in/x', payload, { qos: 1 })
  await eventually(() => assert.equal(failed.length, 2))
  assert.deepEqual(
    failed.map(({ payload }) => payload.toString()),
    ['in/x 3', 'in/x 4'],
  )
  await eventually(async () => {
    const { queuing, inflight, 'dropped.queue_full': dropped } = await metricsOf(broker, 'http:dropping')
    assert.deepEqual([queuing + inflight, dropped], [2, 2])
  })
})

test('a result that is queued for a fallback survives kill -9, with bytes and large numbers', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const service = await HttpService.start(t)
  service.statusFor = () => 400
  const away = await HttpService.prepare(t)
  const port = await reservePort(t)
  const set = [
    'node.shards=1',
    `listeners.tcp.bind="127.0.0.1:${port}"`,
    ...settings('killed', { service, second: away }, [toSecond]),
    'actions.http.second.parameters.body="${big} ${payload}"',
    'rule_engine.rules.all.sql="SELECT payload, 9007199254740993 AS big FROM \\"in/#\\""',
  ]
  const broker = await startBrokerWithApi(t, { dataDirectory, set })
  const { client } = await connect(t, broker)
  await client.publishAsync('in/x', Buffer.from([0xff, 0x00, 0x41]), { qos: 1 })
  await eventually(async () => {
    const [hook, second] = await Promise.all([metricsOf(broker, 'http:killed'), metricsOf(broker, 'http:second')])
    assert.deepEqual([hook.queuing + hook.inflight, second.queuing + second.inflight], [0, 1])
  })
  client.end(true)
  await broker.process.stop('SIGKILL')
  await away.start()
  await startBrokerWithApi(t, { dataDirectory, set })
  // The removal of the queue entry may not have been durable: then the service refuses the result once more.
  await away.until((received) => received.length > 0)
  assert.equal(away.received[0]?.body, Buffer.from([...Buffer.from('9007199254740993 '), 0xff, 0x00, 0x41]).toString())
})

test('fallbacks are checked and shown, and an action that is a fallback cannot be deleted', async () => {
  const broker = await configuredBroker()
  const toOther = { ...toSecond, name: 'other' }
  const post = (path: string, body: object) => broker.request(`/api/v5${path}`, { method: 'POST', body })
  assert.equal((await post('/connectors', { type: 'http', name: 'checked', url: 'http://127.0.0.1:9' })).status, 201)
  const action = { type: 'http', name: 'named', connector: 'checked' }
  for (const [fallback, problem] of [
    [{ kind: 'reference', type: 'http', name: 'other' }, /there is no action http:other/],
    [{ kind: 'reference', type: 'http', name: 'named' }, /cannot be its own fallback/],
    [{ kind: 'republish', args: {} }, /republish needs args.topic/],
    [{ kind: 'other' }, /kind of a fallback is reference or republish/],
  ] as const) {
    const refused = await post('/actions', { ...action, fallback_actions: [fallback] })
    assert.equal(refused.status, 400)
    assert.match(refused.text, problem)
  }
  assert.equal((await post('/actions', { ...action, name: 'other' })).status, 201)
  const made = await post('/actions', { ...action, fallback_actions: [toOther, toFailed] })
  assert.equal(made.status, 201, made.text)
  const [first, republish] = (await broker.request('/api/v5/actions/http:named')).json.fallback_actions
  assert.deepEqual(first, toOther)
  assert.equal(republish.args.topic, 'failed/${clientid}')
  const used = await broker.request('/api/v5/actions/http:other', { method: 'DELETE' })
  assert.equal(used.status, 400)
  assert.match(used.text, /used by http:named/)
})
