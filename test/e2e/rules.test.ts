// Rules of the configuration in the whole program: messages are republished or sent to an HTTP service.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { type Broker, runGodwit, type Scope, temporaryFolder } from './godwit-process.ts'
import { type BrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

async function connect(t: Scope, { port }: Broker, clientId: string) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, {
    clientId,
    reconnectPeriod: 0,
    protocolVersion: 5,
  })
  t.after(() => client.end(true))
  return client
}

/** The next messages of a subscription. */
async function subscribed(t: Scope, broker: Broker, filter: string) {
  const client = await connect(t, broker, `subscriber of ${filter}`)
  const messages: { topic: string; payload: string; qos: number; retain: boolean; properties: unknown }[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  client.on('message', (topic, payload, { qos, retain, properties }) => {
    messages.push({ topic, payload: payload.toString(), qos, retain, properties })
    for (const each of waiting) if (messages.length >= each.count) each.resolve()
  })
  await client.subscribeAsync(filter, { qos: 2 })
  const until = (count: number): Promise<void> =>
    messages.length >= count ? Promise.resolve() : new Promise((resolve) => waiting.push({ count, resolve }))
  return { messages, until }
}

const url = (port: number): string => `mqtt://127.0.0.1:${port}`

describe('a rule that republishes', () => {
  test('publishes each result with the QoS of the message, and nothing if WHERE is false', async (t) => {
    const broker = await configuredBroker([
      `rule_engine.rules.warm {
        sql = """SELECT payload.t AS t, clientid FROM "sensors/#" WHERE t > 20"""
        actions = [{ function = republish, args { topic = "warm/\${clientid}", payload = "\${t}" } }]
      }`,
    ])
    const { messages, until } = await subscribed(t, broker, 'warm/#')
    const publisher = await connect(t, broker, 'kiln')
    await publisher.publishAsync('sensors/a', '{"t":21}', { qos: 1 })
    await publisher.publishAsync('sensors/a', '{"t":20}', { qos: 1 })
    await publisher.publishAsync('sensors/b', '{"t":22.5}', { qos: 2 })
    await publisher.publishAsync('sensors/b', 'not JSON', { qos: 1 })
    await publisher.publishAsync('other', '{"t":99}', { qos: 1 })
    // MQTT.js reports a QoS 2 message at PUBREL: a QoS 0 message that is published before may come first.
    await until(2)
    await publisher.publishAsync('sensors/c', '{"t":23}', { qos: 0 })
    await until(3)
    const shown = messages.map(({ topic, payload, qos }) => `${topic} ${payload} ${qos}`)
    assert.deepEqual(shown, ['warm/kiln 21 1', 'warm/kiln 22.5 2', 'warm/kiln 23 0'])
  })

  test('does not run for its own results, and two rules that trigger each other stop after one round', async (t) => {
    const broker = await configuredBroker([
      `rule_engine.rules {
        own { sql = """SELECT * FROM "own/#" """, actions = [{ function = republish, args { topic = "own/again" } }] }
        ping { sql = """SELECT * FROM "ping" """, actions = [{ function = republish, args { topic = "pong" } }] }
        pong { sql = """SELECT * FROM "pong" """, actions = [{ function = republish, args { topic = "ping" } }] }
      }`,
    ])
    const { messages, until } = await subscribed(t, broker, '#')
    const publisher = await connect(t, broker, 'publisher')
    await publisher.publishAsync('own/first', 'x', { qos: 1 })
    await publisher.publishAsync('ping', 'y', { qos: 1 })
    await publisher.publishAsync('end', 'z', { qos: 1 })
    await until(6)
    assert.deepEqual(
      messages.map(({ topic }) => topic),
      ['own/first', 'own/again', 'ping', 'pong', 'ping', 'end'],
    )
  })
})

test('invalid SQL of a rule prevents the start, and the error has key, line, column and caret', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(
    join(dataDirectory, 'godwit.conf'),
    'rule_engine.rules.bad { sql = """SELECT *\nFORM "a" """, actions = [{function = console}] }',
  )
  // A process of the bundle takes half the processor time of `runHere`, which loads the sources.
  const failed = runGodwit(t, ['start', '--data', dataDirectory])
  assert.equal(await failed.ended, 1)
  assert.match(failed.errors, /rule_engine\.rules\.bad\.sql: line 2, column 1/)
})

const hook = (port: number, options = ''): string => `
  rule_engine.rules.all { sql = """SELECT payload, topic FROM "in/#" """, actions = ["http:hook"] }
  connectors.http.local { url = "http://127.0.0.1:${port}/base" }
  actions.http.hook {
    connector = local
    parameters { path = "/\${topic}", body = "\${payload}", headers { x-topic = "\${topic}" } }
    resource_opts { retry_interval = 20ms ${options} }
  }`

describe('an action over HTTP', () => {
  test('sends one request for each result, in order', async (t) => {
    const service = await HttpService.start(t)
    const broker = await configuredBroker([hook(service.port, ', inflight_window = 1')])
    const publisher = await connect(t, broker, 'publisher')
    for (let number = 0; number < 10; number++) await publisher.publishAsync('in/a', String(number), { qos: 1 })
    await service.until((received) => received.length === 10)
    assert.deepEqual(
      service.received.map(({ body }) => body),
      Array.from({ length: 10 }, (_, number) => String(number)),
    )
    const [{ method, path, headers }] = service.received
    assert.deepEqual([method, path, headers['x-topic']], ['POST', '/base/in%2Fa', 'in/a'])
  })

  test('a refused message becomes a dead letter after its retries, and other messages are sent', async (t) => {
    const service = await HttpService.start(t)
    service.statusFor = ({ body }) => (body === 'poison' ? 400 : 200)
    const broker = await configuredBroker([hook(service.port, ', max_retries = 2, inflight_window = 1')])
    const publisher = await connect(t, broker, 'publisher')
    for (const payload of ['a', 'poison', 'b']) await publisher.publishAsync('in/a', payload, { qos: 1 })
    await service.until((received) => received.length === 5)
    const bodies = service.received.map(({ body }) => body)
    assert.equal(bodies.filter((body) => body === 'poison').length, 3)
    assert.deepEqual(
      bodies.filter((body) => body !== 'poison'),
      ['a', 'b'],
    )
  })

  test('publishers are paused while the queue is full, and all messages arrive', async (t) => {
    const service = await HttpService.prepare(t)
    const broker = await configuredBroker([hook(service.port, ', max_buffer_messages = 5')])
    for (const protocolVersion of [4, 5] as const) {
      const publisher = await mqtt.connectAsync(url(broker.port), { clientId: `v${protocolVersion}`, protocolVersion })
      t.after(() => publisher.end(true))
      const bystander = await connect(t, broker, 'bystander')
      let acknowledged = 0
      const all = Array.from({ length: 12 }, (_, number) =>
        publisher.publishAsync('in/a', `${protocolVersion} ${number}`, { qos: 1 }).then(() => acknowledged++),
      )
      // Other clients are served meanwhile.
      await bystander.publishAsync('elsewhere', 'x', { qos: 1 })
      assert.ok(acknowledged <= 5, `${acknowledged} are acknowledged`)
      await service.start()
      await Promise.all(all)
      await service.until(
        (received) => received.filter(({ body }) => body.startsWith(String(protocolVersion))).length >= 12,
      )
      service.stop()
    }
  })
})

const publishers = ['north', 'south', 'west']
const messages = 200

test('messages of one publisher reach an HTTP service in their order, also when it refuses some for a while', async (t) => {
  const service = await HttpService.start(t)
  let requestCount = 0
  const accepted = new Map<string, number[]>(publishers.map((name) => [name, []]))
  service.statusFor = ({ body }) => {
    if (++requestCount % 31 === 0) return 503
    const [name = '', number = ''] = body.split(' ')
    accepted.get(name)?.push(Number(number))
    return 200
  }
  const broker = await configuredBroker([
    `connectors.http.ordered.url="http://127.0.0.1:${service.port}"`,
    'actions.http.ordered={connector=ordered,parameters.body="${clientid} ${payload}",resource_opts.retry_interval=10ms}',
    'rule_engine.rules.ordered={sql="SELECT clientid, payload FROM \\"ordered/#\\"",actions=["http:ordered"]}',
  ])
  await Promise.all(
    publishers.map(async (clientId) => {
      const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId })
      t.after(() => client.end(true))
      await Promise.all(
        Array.from({ length: messages }, (_, number) =>
          client.publishAsync(`ordered/${number % 3}`, `${number}`, { qos: 1 }),
        ),
      )
    }),
  )
  const count = (): number => [...accepted.values()].reduce((sum, { length }) => sum + length, 0)
  await service.until(() => count() >= publishers.length * messages)
  const expected = Array.from({ length: messages }, (_, number) => number)
  for (const name of publishers) assert.deepEqual(accepted.get(name), expected, name)
})

// Results that a service refuses permanently, or that an action queue drops, go to the fallbacks of the action.

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
async function watcherOf(t: TestContext, broker: { readonly port: number }) {
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
  const { client, failed } = await watcherOf(t, broker)
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
  const { client, failed } = await watcherOf(t, broker)
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
  const { client, failed } = await watcherOf(t, broker)
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

test('a result that an action queue drops goes to its fallbacks at once', async (t) => {
  const service = await HttpService.prepare(t)
  const limits = { max_buffer_messages: 2, overflow: 'drop' }
  const broker = await configuredBroker(settings('dropping', { service }, [toFailed], limits))
  const { client, failed } = await watcherOf(t, broker)
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

test('publishers get PUBACK while the service of an action is unavailable', async (t) => {
  const server = createServer((request, response) => {
    request.resume()
    request.on('end', () => response.end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  const broker = await configuredBroker([
    `connectors.http.service={url="http://127.0.0.1:${address.port}/"}`,
    'actions.http.stored={connector=service,resource_opts.retry_interval=100ms}',
    'rule_engine.rules.all={sql="SELECT * FROM \\"readings/#\\"",actions=["http:stored"]}',
  ])
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'acknowledged', { qos: 1 })
  server.close()
  server.closeAllConnections()
  for (let number = 0; number < 40; number++) await client.publishAsync('readings/1', 'stored', { qos: 1 })
})
