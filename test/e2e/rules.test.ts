// Rules of the configuration in the whole program: messages are republished or sent to an HTTP service.

import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import mqtt from 'mqtt'
import { type Broker, type Scope, startBroker, temporaryFolder } from './godwit-process.ts'
import { runHere } from '../cli/run-here.ts'
import { shareConfigurableBroker } from '../management/api.ts'
import { HttpService } from './http-service.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=2'])

async function startWith(t: Scope, configuration: string, set: readonly string[] = []): Promise<Broker> {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'godwit.conf'), configuration)
  return startBroker(t, { dataDirectory, set })
}

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

  test('delivers its result to a persistent session although the broker is killed after PUBACK', async (t) => {
    const configuration = `rule_engine.rules.copy {
      sql = """SELECT payload FROM "in" """
      actions = [{ function = republish, args { topic = "out", qos = 1 } }]
    }`
    const broker = await startWith(t, configuration)
    const options = { clientId: 'offline', clean: false, properties: { sessionExpiryInterval: 3_600 } } as const
    const firstConnection = await mqtt.connectAsync(url(broker.port), { ...options, protocolVersion: 5 })
    await firstConnection.subscribeAsync('out', { qos: 1 })
    await firstConnection.endAsync()
    const publisher = await connect(t, broker, 'publisher')
    publisher.on('error', () => {})
    for (let number = 0; number < 20; number++) await publisher.publishAsync('in', String(number), { qos: 1 })
    await broker.process.stop('SIGKILL')
    const again = await startBroker(t, { dataDirectory: broker.dataDirectory })
    const reconnected = mqtt.connect(url(again.port), { ...options, protocolVersion: 5, reconnectPeriod: 0 })
    t.after(() => reconnected.end(true))
    const payloads: string[] = []
    await new Promise<void>((resolve) => {
      reconnected.on('message', (_topic, payload) => {
        payloads.push(payload.toString())
        if (payloads.length === 20) resolve()
      })
    })
    assert.deepEqual(
      payloads,
      Array.from({ length: 20 }, (_, number) => String(number)),
    )
  })
})

test('invalid SQL of a rule prevents the start, and the error has key, line, column and caret', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(
    join(dataDirectory, 'godwit.conf'),
    'rule_engine.rules.bad { sql = """SELECT *\nFORM "a" """, actions = [{function = console}] }',
  )
  const { code, errors } = await runHere(['start', '--data', dataDirectory])
  assert.equal(code, 1)
  assert.match(errors, /rule_engine\.rules\.bad\.sql: line 2, column 1/)
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
    assert.deepEqual([method, path, headers['x-topic']], ['POST', '/base/in/a', 'in/a'])
  })

  test('loses no acknowledged message if the service is unavailable and the broker is killed', async (t) => {
    const service = await HttpService.prepare(t)
    const broker = await startWith(t, hook(service.port), ['node.shards=2'])
    const acknowledged = new Set<string>()
    const first = Promise.withResolvers<void>()
    for (const clientId of ['first', 'second', 'third']) {
      const publisher = await connect(t, broker, clientId)
      publisher.on('error', () => {})
      for (let number = 0; number < 100; number++) {
        const payload = `${clientId} ${number}`
        publisher.publishAsync('in/a', payload, { qos: number % 2 === 0 ? 1 : 2 }).then(
          () => {
            acknowledged.add(payload)
            first.resolve()
          },
          () => {},
        )
      }
    }
    await first.promise
    const last = await connect(t, broker, 'last')
    await last.publishAsync('in/a', 'last', { qos: 1 })
    await broker.process.stop('SIGKILL')
    const promised = new Set(acknowledged)
    assert.ok(promised.size > 0)
    // The broker starts while the service is unavailable, with another number of shards.
    await startBroker(t, { dataDirectory: broker.dataDirectory, set: ['node.shards=3'] })
    await service.start()
    await service.until((received) => {
      const bodies = new Set(received.map(({ body }) => body))
      return [...promised].every((payload) => bodies.has(payload))
    })
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
