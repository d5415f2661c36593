// Rules for events in the whole program, with several shards and real clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { eventually } from './eventually.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import type { Scope } from './godwit-process.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=3'])

async function brokerWith(t: Scope, configuration: string) {
  const broker = await configuredBroker([configuration])
  const connect = async (clientId: string, options: mqtt.IClientOptions = {}) => {
    const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, {
      clientId,
      reconnectPeriod: 0,
      protocolVersion: 5,
      ...options,
    })
    t.after(() => client.end(true))
    return client
  }
  return { broker, connect }
}

/** Collects JSON messages of a filter until a condition holds. */
async function watch(client: mqtt.MqttClient, filter: string) {
  const seen: Record<string, unknown>[] = []
  const waiting = new Set<() => void>()
  client.on('message', (topic, payload) => {
    seen.push({ ...(JSON.parse(payload.toString()) as object), seenOn: topic })
    for (const look of waiting) look()
  })
  await client.subscribeAsync(filter, { qos: 1 })
  const until = (condition: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const look = (): void => {
        if (!condition()) return
        waiting.delete(look)
        resolve()
      }
      waiting.add(look)
      look()
    })
  return { seen, until }
}

const names = [
  'client_connected', 'client_disconnected', 'client_connack', 'client_check_authn_complete', 'client_check_authz_complete',
  'session_subscribed', 'session_unsubscribed', 'message_delivered', 'message_acked', 'message_dropped', 'delivery_dropped',
] // oxfmt-ignore

const ruleFor = (name: string): string => `rule_engine.rules.${name} {
  sql = """SELECT * FROM "$events/${name}" """
  actions = [{ function = republish, args { topic = "seen/${name}", qos = 1, payload = "\${.}" } }]
}`

test('each event runs its rule, whatever shard it happens on', async (t) => {
  const { connect } = await brokerWith(t, names.map(ruleFor).join('\n'))
  const watcher = await connect('watcher')
  const { seen, until } = await watch(watcher, 'seen/#')
  const receiver = await connect('receiver', { username: 'r' })
  await receiver.subscribeAsync('t/#', { qos: 1 })
  await receiver.subscribeAsync('own', { qos: 1, nl: true })
  const publisher = await connect('publisher')
  await publisher.publishAsync('t/1', 'hello', { qos: 1 })
  await publisher.publishAsync('not/subscribed', 'x', { qos: 1 })
  await receiver.publishAsync('own', 'echo', { qos: 1 })
  await receiver.unsubscribeAsync('t/#')
  await receiver.endAsync()
  const of = (name: string, clientid: string) =>
    seen.filter((event) => event['seenOn'] === `seen/${name}` && event['clientid'] === clientid)
  // Events happen on several shards, so their order is not defined.
  const counts = {
    client_connected: 1, client_connack: 1, client_check_authn_complete: 1, client_check_authz_complete: 3,
    session_subscribed: 2, session_unsubscribed: 1, message_delivered: 1, message_acked: 1, delivery_dropped: 1,
    client_disconnected: 1,
  } // oxfmt-ignore
  await until(() => Object.entries(counts).every(([name, count]) => of(name, 'receiver').length >= count))
  await until(() => of('message_dropped', 'publisher').length > 0)
  assert.equal(of('client_connected', 'receiver')[0]?.['username'], 'r')
  assert.equal(of('client_connack', 'receiver')[0]?.['reason_code'], 'success')
  assert.equal(of('client_check_authn_complete', 'receiver')[0]?.['is_anonymous'], true)
  assert.deepEqual(
    of('client_check_authz_complete', 'receiver').map(({ action, topic }) => `${String(action)} ${String(topic)}`),
    ['subscribe t/#', 'subscribe own', 'publish own'],
  )
  assert.deepEqual(
    of('session_subscribed', 'receiver').map(({ topic }) => topic),
    ['t/#', 'own'],
  )
  assert.equal(of('session_unsubscribed', 'receiver')[0]?.['topic'], 't/#')
  const [delivered] = of('message_delivered', 'receiver')
  assert.deepEqual(
    [delivered?.['from_clientid'], delivered?.['topic'], delivered?.['payload'], delivered?.['qos']],
    ['publisher', 't/1', 'hello', 1],
  )
  assert.equal(of('message_acked', 'receiver').length, 1)
  assert.equal(of('message_dropped', 'publisher')[0]?.['reason'], 'no_subscribers')
  assert.equal(of('delivery_dropped', 'receiver')[0]?.['reason'], 'no_local')
  assert.equal(of('client_disconnected', 'receiver')[0]?.['reason'], 'normal')
})

const alarmRule = (id: string, event: string): string => `rule_engine.rules.${id} {
  sql = """SELECT * FROM "$events/${event}" """
  actions = [{ function = republish, args { topic = "alarms/${id}", payload = "" } }]
}`

test('the start and the end of an alarm each run their rule once', async (t) => {
  const service = await HttpService.start(t)
  const { connect } = await brokerWith(
    t,
    `connectors.http.service { url = "http://127.0.0.1:${service.port}/" }
    actions.http.service { connector = service, parameters { method = post }, resource_opts { retry_interval = 100ms } }
    rule_engine.rules.feed { sql = """SELECT * FROM "feed" """, actions = ["http:service"] }
    ${alarmRule('on', 'sys/alarm_activated')}
    ${alarmRule('off', 'alarm/deactivated')}`,
  )
  const { seen, until } = await watch(await connect('watcher'), 'alarms/#')
  const feeder = await connect('feeder')
  await feeder.publishAsync('feed', 'x', { qos: 1 })
  await service.until((received) => received.length === 1)
  service.stop()
  await feeder.publishAsync('feed', 'y', { qos: 1 })
  const of = (id: string) =>
    seen.filter(({ seenOn, name }) => seenOn === `alarms/${id}` && name === 'action:http:service')
  await until(() => of('on').length > 0)
  const [raised] = of('on')
  assert.equal(raised?.['event'], 'alarm.activated')
  assert.match(String(raised?.['message']), /cannot send/)
  assert.equal(typeof raised?.['activated_at'], 'number')
  await service.start()
  await until(() => of('off').length > 0)
  assert.equal(of('on').length, 1)
  assert.equal(typeof of('off')[0]?.['deactivated_at'], 'number')
})

const valueRule = (id: string, sql: string): string => `rule_engine.rules.${id} {
  sql = """${sql}"""
  actions = [{ function = republish, args { topic = "values/${id}", qos = 1, payload = "" } }]
}`

test('a value that a rule stores is available to rules on other shards', async (t) => {
  const { connect } = await brokerWith(
    t,
    [
      valueRule('put', `SELECT kv_store_put('k', payload.v) AS done, payload.v AS v FROM "put"`),
      valueRule('get', `SELECT kv_store_get('k') AS v, clientid FROM "get"`),
    ].join('\n'),
  )
  const { seen, until } = await watch(await connect('watcher'), 'values/#')
  await (await connect('writer')).publishAsync('put', '{"v":{"a":[1,2.5]}}', { qos: 1 })
  // Enough clients that each of three shards has some.
  const readers = await Promise.all(Array.from({ length: 12 }, (_, number) => connect(`reader-${number}`)))
  const hasValue = (clientId: string): boolean =>
    seen.some(({ seenOn, clientid, v }) => seenOn === 'values/get' && clientid === clientId && v !== undefined)
  const gets = (): number => seen.filter(({ seenOn }) => seenOn === 'values/get').length
  for (const [number, reader] of readers.entries()) {
    // Other shards have the value a few milliseconds later.
    await eventually(async () => {
      const before = gets()
      await reader.publishAsync('get', '', { qos: 1 })
      await until(() => gets() > before)
      assert.ok(hasValue(`reader-${number}`), `reader-${number}`)
    })
  }
  assert.deepEqual(seen.findLast(({ seenOn }) => seenOn === 'values/get')?.['v'], { a: [1, 2.5] })
})
