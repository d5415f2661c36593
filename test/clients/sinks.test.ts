// Actions of rules with real databases: what is acknowledged arrives, also where the database is killed meanwhile; what it
// refuses becomes a dead letter, and nothing waits for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import mqtt from 'mqtt'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { createClient } from 'redis'
import { startBrokerWithApi, type BrokerWithApi } from '../management/api.ts'
import type { Scope } from '../e2e/godwit-process.ts'
import { DatabaseServer } from './database-server.ts'

const messages = 200

async function startWith(
  t: Scope,
  set: readonly string[],
): Promise<{ broker: BrokerWithApi; client: mqtt.MqttClient }> {
  const broker = await startBrokerWithApi(t, { set: ['node.shards=2', ...set] })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`)
  t.after(() => client.end(true))
  return { broker, client }
}

const patienceMs = 30_000

/** Looks again and again: an action has no end that could be waited for. */
async function until(broker: BrokerWithApi, action: string, look: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + patienceMs
  while (!(await look())) {
    const { text } = await broker.ask(`/api/v5/actions/${action}/metrics`)
    if (Date.now() > endMs) throw new Error(`not reached within ${patienceMs} ms: ${text}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

async function publishAll(client: mqtt.MqttClient, from: number, to: number): Promise<void> {
  for (let number = from; number < to; number++)
    await client.publishAsync('readings/1', JSON.stringify({ number, text: `it's ${number}; --` }), { qos: 1 })
}

const resourceOptions = 'resource_opts={batch_size=20,retry_interval=100ms,max_retries=1}'
const sql = "INSERT INTO readings (number, text) VALUES (${payload.number}, '${payload.text}')"

function ruleTo(action: string): string {
  return `rule_engine.rules.all={sql="SELECT * FROM \\"readings/#\\"",actions=["${action}"]}`
}

async function deadLetters(broker: BrokerWithApi, action: string): Promise<number> {
  const { json } = await broker.ask(`/api/v5/actions/${action}/dead_letters`)
  return (json as { readonly data: readonly unknown[] }).data.length
}

type Query = (text: string) => Promise<Record<string, unknown>[]>

interface SqlKind {
  readonly name: string
  /** Of connectors and actions. */
  readonly type: string
  start(t: Scope): Promise<DatabaseServer>
  /** Beside the server. */
  readonly connector: string
  query(port: number): Query
}

const sqlKinds: readonly SqlKind[] = [
  {
    name: 'PostgreSQL',
    type: 'pgsql',
    start: (t) => DatabaseServer.postgresql(t),
    connector: 'username=godwit,database=postgres',
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
    start: (t) => DatabaseServer.mariadb(t),
    connector: 'username=godwit,password=secret,database=plant',
    query: (port) => async (text) => {
      const settings = { host: '127.0.0.1', port, user: 'godwit', password: 'secret', database: 'plant' }
      const client = await mysql.createConnection(settings)
      const [rows] = await client.query(text)
      await client.end()
      return rows as Record<string, unknown>[]
    },
  },
]

for (const kind of sqlKinds) {
  const { name, type, connector } = kind
  test(`${name} gets every row once it is acknowledged, also when it is killed; a bad row is set aside`, async (t) => {
    const server = await kind.start(t)
    await server.start()
    const query = kind.query(server.port)
    await query('CREATE TABLE readings (number integer NOT NULL, text text)')
    const action = `${type}:rows`
    const { broker, client } = await startWith(t, [
      `connectors.${type}.db={server="127.0.0.1:${server.port}",${connector}}`,
      `actions.${type}.rows={connector=db,parameters.sql="${sql}",${resourceOptions}}`,
      ruleTo(action),
    ])
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
    await until(broker, action, async () => (await deadLetters(broker, action)) === 1)
  })
}

test('Redis gets every command once it is acknowledged, also when it is killed; a bad one is set aside', async (t) => {
  const server = await DatabaseServer.redis(t)
  await server.start()
  const { broker, client } = await startWith(t, [
    `connectors.redis.cache={server="127.0.0.1:${server.port}",password=secret}`,
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
  await until(broker, 'redis:set', async () => (await deadLetters(broker, 'redis:set')) === 1)
})
