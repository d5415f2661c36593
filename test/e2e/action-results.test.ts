// What rules have for their actions is not lost once its message is acknowledged: results of one message, rules that are stopped, templates that
// fail, and results that wait while the templates of their action are corrected.

/* oxlint-disable no-template-curly-in-string -- templates of rules */

import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import mqtt from 'mqtt'
import { type BrokerWithApi, shareConfigurableBroker } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=3', 'mqtt.max_packet_size=8MB'])

interface ActionOptions {
  readonly parameters?: object
  readonly resource_opts?: object
}

/** Settings of the action `name`, and of rules that use it. Dead letters remain when an action is removed, so each test has another one. */
function settings(
  name: string,
  service: HttpService,
  rules: Readonly<Record<string, string>>,
  { parameters = {}, resource_opts: options = {} }: ActionOptions = {},
): readonly string[] {
  const action = {
    connector: 'local',
    parameters: { path: '/in', body: '${n}', ...parameters },
    resource_opts: { max_retries: 0, retry_interval: '20ms', ...options },
  }
  return [
    `connectors.http.local.url="http://127.0.0.1:${service.port}"`,
    `actions.http.${name}=${JSON.stringify(action)}`,
    ...Object.entries(rules).map(
      ([id, sql]) => `rule_engine.rules.${id}=${JSON.stringify({ sql, actions: [`http:${name}`] })}`,
    ),
  ]
}

async function connect(t: TestContext, broker: BrokerWithApi, clientId: string) {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { clientId, reconnectPeriod: 0 })
  t.after(() => client.end(true))
  return client
}

async function metricsOf(broker: BrokerWithApi, action: string) {
  return (await broker.request(`/api/v5/actions/${action}/metrics`)).json.metrics
}

async function lettersOf(broker: BrokerWithApi, action: string, count: number) {
  await eventually(async () => assert.equal((await metricsOf(broker, action)).dead_letters, count))
  const { json } = await broker.request(`/api/v5/actions/${action}/dead_letters`)
  return json.data as readonly {
    readonly reason: string
    readonly payload: string
    readonly result: string
    readonly attributes: Readonly<Record<string, string>>
  }[]
}

const itemsOf = (from: number, count: number): string =>
  JSON.stringify({ items: Array.from({ length: count }, (_, index) => from + index) })

const foreach = 'FOREACH payload.items AS n DO n AS n FROM "many/#"'

test('with overflow = block, all results of each acknowledged message are stored, whatever their number', async (t) => {
  const service = await HttpService.prepare(t)
  const again = { again: foreach.replace('n AS n FROM', "concat('again ', n) AS n FROM") }
  const options = { resource_opts: { max_buffer_messages: 30, inflight_window: 50 } }
  const broker = await configuredBroker(settings('blocking', service, { first: foreach, ...again }, options))
  const clients = await Promise.all(Array.from({ length: 3 }, (_, number) => connect(t, broker, `publisher ${number}`)))
  let acknowledged = 0
  const all = clients.flatMap((client, publisher) =>
    Array.from({ length: 3 }, async (_, message) => {
      await client.publishAsync('many/x', itemsOf((publisher * 3 + message) * 20, 20), {
        qos: message % 2 === 0 ? 1 : 2,
      })
      acknowledged++
    }),
  )
  await eventually(() => assert.ok(acknowledged > 0))
  await service.start()
  await Promise.all(all)
  await service.until((received) => received.length >= 9 * 40)
  const bodies = service.received.map(({ body }) => body).toSorted()
  const numbers = Array.from({ length: 9 * 20 }, (_, number) => String(number))
  assert.deepEqual(bodies, [...numbers, ...numbers.map((number) => `again ${number}`)].toSorted())
  const { matched, dropped } = await metricsOf(broker, 'http:blocking')
  assert.deepEqual([matched, dropped], [9 * 40, 0])
})

test('a publisher waits as well for the action of a rule that another rule triggers', async (t) => {
  const service = await HttpService.prepare(t)
  const second = 'SELECT payload AS n FROM "second/#"'
  const broker = await configuredBroker([
    ...settings('triggered', service, { second }, { resource_opts: { max_buffer_messages: 3 } }),
    `rule_engine.rules.first=${JSON.stringify({
      sql: 'SELECT payload FROM "first/#"',
      actions: [{ function: 'republish', args: { topic: 'second/x', payload: '${payload}' } }],
    })}`,
  ])
  const client = await connect(t, broker, 'publisher of first')
  const all = Array.from({ length: 20 }, (_, number) => client.publishAsync('first/x', String(number), { qos: 1 }))
  await all[0]
  await service.start()
  await Promise.all(all)
  await service.until((received) => received.length >= 20)
  assert.deepEqual(
    service.received.map(({ body }) => Number(body)).toSorted((one, other) => one - other),
    Array.from({ length: 20 }, (_, number) => number),
  )
})

test('a message for which a rule is stopped is a dead letter; sent again, it goes through the rule as it is now', async (t) => {
  const service = await HttpService.start(t)
  const stopped = `SELECT jq('[range(0; 100000000)] | length', '1') AS n FROM "stopped/#"`
  const broker = await configuredBroker(settings('stopping', service, { stopped }))
  const client = await connect(t, broker, 'kiln')
  await client.publishAsync('stopped/a', '{"t":1}', { qos: 1 })
  const [letter] = await lettersOf(broker, 'http:stopping', 1)
  assert.match(letter?.reason ?? '', /^the rule stopped was stopped: the rule does too much work .*limit maxSteps/)
  assert.deepEqual(
    [letter?.payload, letter?.attributes['topic'], letter?.attributes['clientid']],
    ['{"t":1}', 'stopped/a', 'kiln'],
  )
  const retry = () => broker.request('/api/v5/actions/http:stopping/dead_letters/retry', { method: 'POST' })
  assert.equal((await retry()).json.count, 0)
  await configuredBroker(settings('stopping', service, { stopped: 'SELECT payload.t AS n FROM "stopped/#"' }))
  assert.equal((await retry()).json.count, 1)
  await service.until((received) => received.length === 1)
  assert.equal(service.received[0]?.body, '1')
})

test('a message whose results are too many or too large has no result, and is one dead letter', async (t) => {
  const service = await HttpService.start(t)
  const rules = { amplified: 'FOREACH payload.items FROM "amplified/#"' }
  const broker = await configuredBroker(settings('amplified', service, rules, { parameters: { body: '${.}' } }))
  const client = await connect(t, broker, 'publisher of many')
  const other = await connect(t, broker, 'other')
  const startMs = performance.now()
  const large = client.publishAsync('amplified/x', itemsOf(0, 4_000), { qos: 1 })
  await other.publishAsync('elsewhere', 'x', { qos: 1 })
  await large
  assert.ok(performance.now() - startMs < 5_000)
  await client.publishAsync('amplified/x', itemsOf(0, 10_001), { qos: 1 })
  const letters = await lettersOf(broker, 'http:amplified', 2)
  assert.deepEqual(
    letters.map(({ reason }) => /max\w+/.exec(reason)?.[0]),
    ['maxMessageResultBytes', 'maxMessageResults'],
  )
  const retried = await broker.request('/api/v5/actions/http:amplified/dead_letters/retry', { method: 'POST' })
  assert.equal(retried.json.count, 0, 'the limits apply to the retry as well')
  assert.equal((await lettersOf(broker, 'http:amplified', 2)).length, 2)
  assert.equal(service.received.length, 0)
})

test('a result that the templates of an action cannot render is a dead letter, and is sent when they are corrected', async (t) => {
  const service = await HttpService.start(t)
  const rules = { untemplated: 'SELECT clientid, payload.n AS n FROM "templates/#"' }
  const broker = await configuredBroker(settings('untemplated', service, rules, { parameters: { path: '/${n}/x' } }))
  const client = await connect(t, broker, 'templates')
  for (const n of ['..', '']) await client.publishAsync('templates/x', JSON.stringify({ n }), { qos: 1 })
  const letters = await lettersOf(broker, 'http:untemplated', 2)
  assert.deepEqual(
    letters.map(({ reason, result }) => [/the segment "\.{0,2}" of the path/.test(reason), JSON.parse(result)]),
    [
      [true, { clientid: 'templates', n: '..' }],
      [true, { clientid: 'templates', n: '' }],
    ],
  )
  await configuredBroker(settings('untemplated', service, rules, { parameters: { path: '/x?n=${n}' } }))
  await eventually(async () => {
    await broker.request('/api/v5/actions/http:untemplated/dead_letters/retry', { method: 'POST' })
    assert.equal(service.received.length, 2)
  })
  assert.deepEqual(
    service.received.map(({ path }) => path),
    ['/x?n=..', '/x?n='],
  )
})

test('results that wait are sent with the templates that their action has when they are sent', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = ({ path }) => (path === '/wrong' ? 503 : 200)
  const rules = { waiting: 'SELECT clientid, payload.n AS n FROM "waiting/#"' }
  const wrong = settings('corrected', service, rules, { parameters: { path: '/wrong', body: 'wrong ${n}' } })
  const broker = await configuredBroker(wrong)
  const client = await connect(t, broker, 'c1')
  for (let n = 0; n < 5; n++) await client.publishAsync('waiting/x', JSON.stringify({ n, t: 2.0 }), { qos: 1 })
  await service.until((received) => received.length >= 2)
  service.received.length = 0
  await configuredBroker(settings('corrected', service, rules, { parameters: { path: '/right', body: 'right ${n}' } }))
  await service.until((received) => received.filter(({ path }) => path === '/right').length >= 5)
  const sent = service.received.filter(({ path }) => path === '/right').map(({ body }) => body)
  assert.deepEqual(sent, ['right 0', 'right 1', 'right 2', 'right 3', 'right 4'])
})

async function alarmOf(broker: BrokerWithApi, name: string): Promise<string> {
  const { json } = await broker.request('/api/v4/alarms/activated')
  const alarms = json.data.flatMap(({ alarms }: { readonly alarms: unknown }) => alarms) as readonly {
    readonly name: string
    readonly message: string
  }[]
  return alarms.find((alarm) => alarm.name === name)?.message ?? ''
}

test('all results of a dead letter are stored when it is sent again, or none if the queue is full', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 503
  const stopped = `SELECT jq('[range(0; 100000000)] | length', '1') AS n FROM "several/#"`
  const resource_opts = { max_buffer_messages: 2, overflow: 'drop' }
  const broker = await configuredBroker(settings('several', service, { several: stopped }, { resource_opts }))
  const client = await connect(t, broker, 'publisher of several')
  await client.publishAsync('several/a', itemsOf(0, 5), { qos: 1 })
  const [letter] = await lettersOf(broker, 'http:several', 1)
  const rules = { several: foreach.replace('many', 'several') }
  await configuredBroker(settings('several', service, rules, { resource_opts }))
  await client.publishAsync('several/a', itemsOf(5, 2), { qos: 1 })
  const retry = async () =>
    (await broker.request('/api/v5/actions/http:several/dead_letters/retry', { method: 'POST' })).json
  assert.match(letter?.reason ?? '', /was stopped/)
  assert.deepEqual(await retry(), {
    state: 'done',
    count: 0,
    stayed: 1,
    pending: 0,
    reason: 'the action queue is full',
  })
  service.received.length = 0
  service.statusFor = () => 200
  await service.until((received) => received.length >= 2)
  await eventually(async () => assert.equal((await metricsOf(broker, 'http:several')).queuing, 0))
  assert.deepEqual(await retry(), { state: 'done', count: 1, stayed: 0, pending: 0, reason: '' })
  await service.until((received) => received.length >= 7)
  assert.deepEqual(
    service.received.map(({ body }) => body),
    ['5', '6', '0', '1', '2', '3', '4'],
  )
  const progress = await broker.request('/api/v5/actions/http:several/dead_letters/retry')
  assert.deepEqual(progress.json, { state: 'done', count: 1, stayed: 0, pending: 0, reason: '' })
})

test('an action has at most max_buffer_messages dead letters: the oldest are dropped, counted and named by an alarm', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 400
  const rules = { bounded: 'SELECT payload AS n FROM "bounded/#"' }
  const resource_opts = { max_buffer_messages: 3, max_retries: 0 }
  const broker = await configuredBroker(settings('bounded', service, rules, { resource_opts }))
  const client = await connect(t, broker, 'publisher of letters')
  for (let number = 0; number < 10; number++) await client.publishAsync('bounded/x', String(number), { qos: 1 })
  await eventually(async () => {
    const metrics = await metricsOf(broker, 'http:bounded')
    assert.deepEqual([metrics.dead_letters, metrics['dropped.dead_letters'], metrics.failed], [3, 7, 10])
  })
  const letters = await lettersOf(broker, 'http:bounded', 3)
  assert.deepEqual(
    letters.map(({ payload }) => payload),
    ['7', '8', '9'],
  )
  await eventually(async () =>
    assert.match(await alarmOf(broker, 'dead-letters:http:bounded'), /http:bounded has 3 dead letters/),
  )
  await broker.request('/api/v5/actions/http:bounded/dead_letters', { method: 'DELETE' })
  await eventually(async () => assert.equal(await alarmOf(broker, 'dead-letters:http:bounded'), ''))
})

test('a change of an action does not reset its counters, and reset does', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = ({ body }) => (body === 'refused 1' ? 400 : 200)
  const rules = { counted: 'SELECT payload AS n FROM "counted/#"' }
  const broker = await configuredBroker(settings('counted', service, rules, { parameters: { body: 'refused ${n}' } }))
  const client = await connect(t, broker, 'publisher of counted')
  for (const text of ['0', '1']) await client.publishAsync('counted/x', text, { qos: 1 })
  const counters = async () => {
    const { matched, success, failed, retried } = await metricsOf(broker, 'http:counted')
    return { matched, success, failed, retried }
  }
  await eventually(async () => assert.deepEqual(await counters(), { matched: 2, success: 1, failed: 1, retried: 0 }))
  await configuredBroker(settings('counted', service, rules, { parameters: { body: 'changed ${n}' } }))
  await client.publishAsync('counted/x', '1', { qos: 1 })
  await eventually(async () => assert.deepEqual(await counters(), { matched: 3, success: 2, failed: 1, retried: 0 }))
  await broker.request('/api/v5/actions/http:counted/metrics/reset', { method: 'PUT' })
  assert.deepEqual(await counters(), { matched: 0, success: 0, failed: 0, retried: 0 })
})

test('with overflow = drop, the alarm of a full queue has the reason for which the service accepts nothing', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 503
  const rules = { full: 'SELECT payload AS n FROM "full/#"' }
  const resource_opts = { max_buffer_messages: 2, overflow: 'drop' }
  const broker = await configuredBroker(settings('full', service, rules, { resource_opts }))
  const client = await connect(t, broker, 'publisher to full')
  await client.publishAsync('full/x', '0', { qos: 1 })
  await service.until((received) => received.length >= 2)
  for (const text of ['1', '2', '3']) await client.publishAsync('full/x', text, { qos: 1 })
  await eventually(async () =>
    assert.match(
      await alarmOf(broker, 'action:http:full'),
      /new results for action http:full are dropped: queue full \(2 messages\), service not available since \S+: .*503/,
    ),
  )
})

test('a publisher that an action holds up is named by the log and the alarm, and its timeline says for what it waits', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 503
  const rules = { held: 'SELECT payload AS n FROM "held/#"' }
  const broker = await configuredBroker(settings('held', service, rules, { resource_opts: { max_buffer_messages: 2 } }))
  const client = await connect(t, broker, 'held publisher')
  const all = ['0', '1', '2', '3'].map((text) => client.publishAsync('held/x', text, { qos: 1 }))
  await all[0]
  const waits = /action http:held: queue full \(2 messages\), service not available since \S+: .*503/
  const timeline = async () => {
    const { json } = await broker.request('/api/v4/clients/held%20publisher/timeline')
    return JSON.stringify(json.data)
  }
  await eventually(async () => {
    assert.match(await alarmOf(broker, 'action:http:held'), new RegExp(`publishers wait for ${waits.source}`))
    assert.match(await timeline(), /waits-for-action/)
    assert.match(await timeline(), waits)
  })
  await broker.process.until(/publishers wait for action.*http:held.*held publisher/)
  service.statusFor = () => 200
  await Promise.all(all)
  await service.until((received) => new Set(received.map(({ body }) => body)).size === 4)
  await eventually(async () => assert.equal(await alarmOf(broker, 'action:http:held'), ''))
})

test('a fallback that delays the message that its rule receives ends after 16 times, with a dead letter that says so', async (t) => {
  const service = await HttpService.start(t)
  service.statusFor = () => 400
  const fallback = { kind: 'republish', args: { topic: '$delayed/0/repeated/x', payload: '${n}', qos: 1 } }
  const action = {
    connector: 'local',
    parameters: { path: '/in', body: '${n}' },
    resource_opts: { max_retries: 0, retry_interval: '20ms' },
    fallback_actions: [fallback],
  }
  const broker = await configuredBroker([
    `connectors.http.local.url="http://127.0.0.1:${service.port}"`,
    `actions.http.repeated=${JSON.stringify(action)}`,
    `rule_engine.rules.repeated=${JSON.stringify({ sql: 'SELECT payload AS n FROM "repeated/#"', actions: ['http:repeated'] })}`,
  ])
  const client = await connect(t, broker, 'publisher of repeated')
  await client.publishAsync('repeated/x', '1', { qos: 1 })
  const [letter] = await lettersOf(broker, 'http:repeated', 1)
  assert.match(letter?.reason ?? '', /fallback republish: rules have delayed the message .* too often/)
  assert.equal(service.received.length, 16)
})
