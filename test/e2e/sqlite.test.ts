// Actions of rules that write to an SQLite file, from two shards.

import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { actionView, deadLettersOf, publishAll, ruleTo, startWith, until } from '../clients/sink-stage.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { temporaryFolder } from './godwit-process.ts'

const action = 'sqlite:rows'
const options = 'resource_opts={retry_interval=100ms,max_retries=1,request_timeout=1s,health_check_interval=200ms}'
const table = 'CREATE TABLE IF NOT EXISTS readings (number INTEGER UNIQUE ON CONFLICT IGNORE, text TEXT NOT NULL)'
const sql = "INSERT INTO readings (number, text) VALUES (${payload.number}, '${payload.text}')"

const configuration = (create = `,create_table="${table}"`): readonly string[] => [
  'connectors.sqlite.file={path="exports/readings.db"}',
  `actions.sqlite.rows={connector=file,parameters={sql="${sql}"${create}},${options}}`,
  ruleTo(action),
]

/** The time that this process waits for a lock while the broker writes. */
const lockMs = 30_000

const rowsOf = (file: string): readonly Record<string, unknown>[] => {
  const database = new DatabaseSync(file, { readOnly: true, timeout: lockMs })
  try {
    return database.prepare('SELECT * FROM readings ORDER BY number').all()
  } finally {
    database.close()
  }
}

test('each row is in the file although the broker is killed; a row that violates a constraint becomes a dead letter', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const file = join(dataDirectory, 'exports/readings.db')
  const start = () => startBrokerWithApi(t, { dataDirectory, set: ['node.shards=2', ...configuration()] })
  let broker = await start()
  for (let round = 0; round < 3; round++) {
    const clients = await Promise.all(
      [0, 1, 2].map(() => mqtt.connectAsync(`mqtt://127.0.0.1:${broker.port}`, { reconnectPeriod: 0 })),
    )
    for (const client of clients) client.on('error', () => {})
    const from = round * 150
    await Promise.all(clients.map((client, index) => publishAll(client, from + index * 50, from + index * 50 + 50)))
    if (round === 0) await clients[0]?.publishAsync('readings/1', '{"number": 1000}', { qos: 1 })
    if (round < 2) {
      await broker.process.stop('SIGKILL')
      broker = await start()
    }
    for (const client of clients) client.end(true)
  }
  await until(broker, action, async () => rowsOf(file).length === 450)
  const rows = rowsOf(file)
  assert.deepEqual(
    rows.map(({ number }) => number),
    Array.from({ length: 450 }, (_, number) => number),
  )
  assert.equal(rows[7]?.['text'], "it's 7; --")
  assert.equal(statSync(file).mode & 0o777, 0o600)
  await until(broker, action, async () => (await deadLettersOf(broker, action)).length === 1)
  const [letter] = await deadLettersOf(broker, action)
  assert.match(letter?.reason ?? '', /NOT NULL constraint failed: readings\.text/)
})

test('a missing table or a locked file is shown as the reason, and the rows stay queued', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const file = join(dataDirectory, 'exports/readings.db')
  const { broker, client } = await startWith(t, configuration(''), dataDirectory)
  const shows = (reason: RegExp): Promise<void> =>
    until(broker, action, async () => reason.test((await actionView(broker, action)).status_reason))
  await publishAll(client, 0, 10)
  await shows(/no such table: readings/)
  const database = new DatabaseSync(file, { timeout: lockMs })
  t.after(() => database.close())
  database.exec(`${table}; BEGIN EXCLUSIVE`)
  await publishAll(client, 10, 20)
  await shows(/database is locked/)
  database.exec('COMMIT')
  await until(broker, action, async () => rowsOf(file).length === 20)
  await until(broker, action, async () => (await actionView(broker, action)).status === 'connected')
})

test('other statements, and files outside of the allowed directories, are refused', async (t) => {
  const broker = await startBrokerWithApi(t, { set: configuration() })
  const create = (path: string, name: string, parameters: object = {}) =>
    broker.request(`/api/v5/${path}`, { method: 'POST', body: { type: 'sqlite', name, ...parameters } })
  for (const statement of ["ATTACH '/tmp/x.db' AS x", 'PRAGMA journal_mode = OFF', "VACUUM INTO '/tmp/x.db'", '']) {
    const response = await create('actions', 'other', { connector: 'file', parameters: { sql: statement } })
    assert.equal(response.status, 400, statement)
    assert.match(response.text, /begins with INSERT, REPLACE, UPDATE, DELETE or WITH/)
  }
  const second = `${table}; ATTACH '/tmp/x.db' AS x`
  const tables = await create('actions', 'other', { connector: 'file', parameters: { sql, create_table: second } })
  assert.match(tables.text, /create_table: write one statement/)
  const outside = await create('connectors', 'outside', { path: '/tmp/elsewhere/readings.db' })
  assert.equal(outside.status, 400)
  assert.match(outside.text, /node\.allowed_directories/)
  const own = await create('connectors', 'own', { path: 'store/readings.db' })
  assert.match(own.text, /reserved for the broker/)
})
