// Actions of rules with real databases: each acknowledged message arrives, although the database is killed; a refused message becomes
// a dead letter and does not delay others.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { createClient } from 'redis'
import { shared } from '../e2e/godwit-process.ts'
import { DatabaseServer } from './database-server.ts'
import { deadLettersOf, publishAll, ruleTo, shareSinks, until } from './sink-stage.ts'

const messages = 200

const resourceOptions = 'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1}'
const sql = "INSERT INTO readings (number, text) VALUES (${payload.number}, '${payload.text}')"

type Query = (text: string) => Promise<Record<string, unknown>[]>

interface SqlKind {
  readonly name: string
  /** The type of connectors and actions. */
  readonly type: string
  /** The server, which runs for all tests. */
  server(): Promise<DatabaseServer>
  /** Settings of the connector besides the server. */
  readonly connector: string
  /** The SQL clause that replaces the text of an existing number. */
  readonly replacesText: string
  /** The key in the section `rules` of NanoMQ. */
  readonly section: string
  query(port: number): Query
}

const sharedPostgresql = shared(async (scope) => {
  const server = await DatabaseServer.postgresql(scope)
  await server.start()
  return server
})

const sqlKinds: readonly SqlKind[] = [
  {
    name: 'PostgreSQL',
    type: 'pgsql',
    server: sharedPostgresql,
    connector: 'username=godwit,database=postgres',
    replacesText: 'ON CONFLICT (number) DO UPDATE SET text = EXCLUDED.text',
    section: 'postgresql',
    query: (port) => async (text) => {
      const client = new pg.Client({ host: '127.0.0.1', port, user: 'godwit', database: 'postgres' })
      client.on('error', () => {})
      await client.connect()
      const { rows } = await client.query(text)
      await client.end()
      return rows as Record<string, unknown>[]
    },
  },
  {
    name: 'MariaDB',
    type: 'mysql',
    server: shared(async (scope) => {
      const server = await DatabaseServer.mariadb(scope)
      await server.start()
      return server
    }),
    connector: 'username=godwit,password=secret,database=plant',
    replacesText: 'ON DUPLICATE KEY UPDATE text = VALUES(text)',
    section: 'mysql',
    query: (port) => async (text) => {
      const settings = { host: '127.0.0.1', port, user: 'godwit', password: 'secret', database: 'plant' }
      const client = await mysql.createConnection(settings)
      const [rows] = await client.query(text)
      await client.end()
      return rows as Record<string, unknown>[]
    },
  },
]

/** Settings of an action with a short queue. */
const settingsOf = (table: string) => ({
  connector: 'db',
  parameters: { sql: `INSERT INTO ${table} (number) VALUES (\${payload.number})` },
  resource_opts: { batch_size: 4, retry_interval: '50ms', max_buffer_messages: 10, overflow: 'block' },
})

/** The tests of each kind of database replace the settings of the kind before. */
const startWith = shareSinks()

for (const kind of sqlKinds) {
  const { name, type, connector, replacesText } = kind
  const action = `${type}:rows`

  /** Each test uses another table, action and other topics. */
  const start = shared(async (scope) => {
    const server = await kind.server()
    const query = kind.query(server.port)
    await query('CREATE TABLE readings (number integer NOT NULL, text text)')
    await query('CREATE TABLE latest (number integer PRIMARY KEY, text text)')
    await query('CREATE TABLE broker (number integer NOT NULL, payload_text text)')
    const upsert = `INSERT INTO latest (number, text) VALUES (\${payload.number} % 5, '\${payload.text}') ${replacesText}`
    const section = '{sql="SELECT payload.number AS number, payload.text FROM \\"nanomq/#\\"",table=broker}'
    const conn = `host="127.0.0.1",port=${server.port},${connector}`
    const started = await startWith(scope, [
      `connectors.${type}.db={server="127.0.0.1:${server.port}",${connector}}`,
      `actions.${type}.rows={connector=db,parameters.sql="${sql}",${resourceOptions}}`,
      ruleTo(action),
      `actions.${type}.latest={connector=db,parameters.sql="${upsert}",${resourceOptions}}`,
      `rule_engine.rules.latest={sql="SELECT * FROM \\"latest/#\\"",actions=["${type}:latest"]}`,
      `rules.${kind.section}.main={conn={${conn}},rules=[${section}]}`,
    ])
    return { ...started, server, query }
  })

  test(`${name} gets the row of each acknowledged message, although it is killed; a refused row becomes a dead letter`, async () => {
    const { broker, client, server, query } = await start()
    await publishAll(client, 0, 50)
    await server.kill()
    await publishAll(client, 50, 100)
    await server.start()
    await client.publishAsync('readings/1', JSON.stringify({ number: 'not a number' }), { qos: 1 })
    await publishAll(client, 100, messages)
    await until(broker, action, async () => {
      const [row] = await query('SELECT count(DISTINCT number) AS count FROM readings')
      return Number(row?.['count']) === messages
    })
    const [row] = await query('SELECT text FROM readings WHERE number = 7')
    assert.equal(row?.['text'], "it's 7; --")
    await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
  })

  test(`${name} has the last value if one batch has several values for a row`, async () => {
    const { broker, client, server, query } = await start()
    await server.kill()
    await publishAll(client, 0, 50, 'latest/1')
    await server.start()
    const last = Array.from({ length: 5 }, (_, number) => ({ number, text: `it's ${number + 45}; --` }))
    await until(broker, `${type}:latest`, async () =>
      isDeepStrictEqual(await query('SELECT number, text FROM latest ORDER BY number'), last),
    )
    assert.deepEqual(await deadLettersOf(broker, `${type}:latest`), [])
  })

  test(`${name}: results with a wrong statement wait, and arrive when it is corrected; one or all can be moved to the dead letters`, async () => {
    const { broker, client, query } = await start()
    await query('CREATE TABLE corrected (number integer NOT NULL)')
    const call = async (method: 'GET' | 'POST' | 'PUT', path: string, body?: object) => {
      const { status, json } = await broker.request(
        `/api/v5${path}`,
        body === undefined ? { method } : { method, body },
      )
      assert.ok(status < 300, `${method} ${path}: ${status} ${JSON.stringify(json)}`)
      return json
    }
    const path = `/actions/${type}:corrected`
    await call('POST', '/actions', { type, name: 'corrected', ...settingsOf('no_such_table') })
    const rule = { id: 'corrected', sql: 'SELECT payload FROM "corrected/#"', actions: [`${type}:corrected`] }
    await call('POST', '/rules', rule)
    const outcomes = new Set<number>()
    const published = Array.from({ length: 40 }, async (_, number) => {
      await client.publishAsync('corrected/1', JSON.stringify({ number }), { qos: 1 })
      outcomes.add(number)
    })
    const listed = async () => (await call('GET', `${path}/queue`)).data as { id: string; result: string }[]
    await until(broker, `${type}:corrected`, async () => (await listed()).length === 10)
    assert.ok(outcomes.size < 40, 'publishers wait')
    const [first] = await listed()
    assert.deepEqual(JSON.parse(first?.result ?? ''), { payload: '{"number":0}' })
    assert.deepEqual(await call('POST', `${path}/queue/discard?entry=${first?.id}`), { count: 1 })
    await until(
      broker,
      `${type}:corrected`,
      async () => (await deadLettersOf(broker, `${type}:corrected`)).length === 1,
    )
    await until(broker, `${type}:corrected`, async () => outcomes.has(10))
    const retryAll = async (count: number) =>
      assert.partialDeepStrictEqual(await call('POST', `${path}/dead_letters/retry`), { count })
    const untilRows = (count: number) =>
      until(broker, `${type}:corrected`, async () => {
        const [row] = await query('SELECT count(DISTINCT number) AS count FROM corrected')
        return Number(row?.['count']) === count
      })
    await call('PUT', path, settingsOf('corrected'))
    await Promise.all(published)
    await untilRows(39)
    await retryAll(1)
    await untilRows(40)
    await call('PUT', path, settingsOf('no_such_table'))
    // As many as the action keeps dead letters.
    const later = Array.from({ length: 10 }, (_, index) =>
      client.publishAsync('corrected/1', JSON.stringify({ number: 40 + index }), { qos: 1 }),
    )
    await until(broker, `${type}:corrected`, async () => (await listed()).length === 10)
    assert.deepEqual(await call('POST', `${path}/queue/discard`), { count: 10 })
    await Promise.all(later)
    await until(
      broker,
      `${type}:corrected`,
      async () => (await deadLettersOf(broker, `${type}:corrected`)).length === 10,
    )
    await call('PUT', path, settingsOf('corrected'))
    await retryAll(10)
    await untilRows(50)
  })

  test(`${name} gets the rows of the section \`rules\` of NanoMQ`, async () => {
    const { broker, client, query } = await start()
    await publishAll(client, 0, 20, 'nanomq/1')
    await until(broker, `${type}:$main_0`, async () => (await query('SELECT * FROM broker')).length === 20)
    const [row] = await query('SELECT * FROM broker WHERE number = 7')
    assert.equal(row?.['payload_text'], "it's 7; --")
  })
}

test('Redis gets the command of each acknowledged message, although it is killed; a refused command becomes a dead letter', async (t) => {
  const server = await DatabaseServer.redis(t)
  await server.start()
  const { broker, client } = await startWith(t, [
    `connectors.redis.cache={server="127.0.0.1:1",parameters={redis_type=single,server="127.0.0.1:${server.port}",password=secret,database=0}}`,
    `actions.redis.set={connector=cache,parameters.command_template=[HSET,"\${topic}","\${payload.number}","\${payload.text}"],${resourceOptions}}`,
    ruleTo('redis:set'),
  ])
  await publishAll(client, 0, 50)
  await server.kill()
  await publishAll(client, 50, 100)
  await server.start()
  const redis = createClient({ socket: { host: '127.0.0.1', port: server.port }, password: 'secret' })
  redis.on('error', () => {})
  await redis.connect()
  t.after(() => redis.destroy())
  await redis.set('readings/2', 'not a hash')
  await client.publishAsync('readings/2', JSON.stringify({ number: 1, text: 'x' }), { qos: 1 })
  await publishAll(client, 100, messages)
  await until(broker, 'redis:set', async () => (await redis.hLen('readings/1')) === messages)
  assert.equal(await redis.hGet('readings/1', '7'), "it's 7; --")
  await until(broker, 'redis:set', async () => (await deadLettersOf(broker, 'redis:set')).length === 1)
})
