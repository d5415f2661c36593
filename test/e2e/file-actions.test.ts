// Actions that write files and SQLite files. That acknowledged messages are in them although the broker is killed is tested in kills.test.ts.

import assert from 'node:assert/strict'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { actionView, publishAll, ruleTo, until as untilAction } from '../clients/sink-stage.ts'
import { shareConfigurableBroker, type BrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, temporaryFolder } from './godwit-process.ts'
import { linesIn } from './lines-in.ts'

const configuredBroker = shareConfigurableBroker(['node.shards=1'])

const options = 'resource_opts={batch_size=10,retry_interval=50ms,health_check_interval=100ms}'

async function connect(t: Scope, { port }: BrokerWithApi, clientId = ''): Promise<mqtt.MqttClient> {
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${port}`, { reconnectPeriod: 0, clientId })
  client.on('error', () => {})
  t.after(() => client.end(true))
  return client
}

function until(look: () => Promise<boolean>): Promise<void> {
  return eventually(async () => assert.ok(await look()))
}

const rule = (action: string, columns = '*'): string =>
  `rule_engine.rules.all={sql="SELECT ${columns} FROM \\"in/#\\"",actions=["${action}"]}`

test('rows of CSV have a header and quoted values', async (t) => {
  const broker = await configuredBroker([
    'connectors.disk_log.files={filepath="exports/in.csv"}',
    `actions.disk_log.all={connector=files,parameters={format=csv,template="\${topic},\${payload.text},\${payload.number}",header="topic,text,number"},${options}}`,
    rule('disk_log:all'),
  ])
  const client = await connect(t, broker)
  await client.publishAsync('in/a', JSON.stringify({ number: 1.5, text: 'say "hi", then\ngo' }), { qos: 1 })
  await client.publishAsync('in/b', JSON.stringify({ number: 2 }), { qos: 1 })
  const file = join(broker.dataDirectory, 'exports/in.csv')
  const expected = 'topic,text,number\nin/a,"say ""hi"", then\ngo",1.5\nin/b,,2\n'
  await until(async () => (await readFile(file, 'utf8').catch(() => '')) === expected)
})

test('an action that cannot write its file reports the reason, queues results, and writes them when the file is writable', async (t) => {
  const { dataDirectory } = await configuredBroker()
  await writeFile(join(dataDirectory, 'blocked'), 'in the way')
  const broker = await configuredBroker([
    'connectors.disk_log.files={filepath="blocked/in.jsonl"}',
    `actions.disk_log.all={connector=files,parameters.template="\${payload}",${options}}`,
    rule('disk_log:all'),
  ])
  const state = async (): Promise<{ status: string; status_reason: string }> =>
    (await broker.request('/api/v5/actions/disk_log:all')).json
  await until(async () => (await state()).status === 'disconnected')
  const client = await connect(t, broker)
  await client.publishAsync('in/a', 'kept', { qos: 1 })
  await eventually(async () => {
    const { status, status_reason: reason } = await state()
    assert.equal(status, 'disconnected')
    assert.match(reason, /blocked.*(ENOTDIR|EEXIST)|(ENOTDIR|EEXIST).*blocked/)
  })
  await rm(join(dataDirectory, 'blocked'))
  await until(async () => (await linesIn(join(dataDirectory, 'blocked'))).join() === 'kept')
  await until(async () => (await state()).status === 'connected')
})

test('over the API, only files in the data directory or in node.allowed_directories are accepted', async (t) => {
  const allowed = await temporaryFolder(t)
  const broker = await configuredBroker([`node.allowed_directories=["${allowed}"]`])
  const make = async (name: string, filepath: string): Promise<{ readonly status: number; readonly text: string }> =>
    broker.request('/api/v5/connectors', { method: 'POST', body: { type: 'disk_log', name, filepath } })
  const outside = await temporaryFolder(t)
  await mkdir(join(broker.dataDirectory, 'exports'), { recursive: true })
  for (const [name, filepath, status] of [
    ['a', join(outside, 'x.jsonl'), 400],
    ['b', '../x.jsonl', 400],
    ['c', 'store/x.jsonl', 400],
    ['d', 'access-secret', 400],
    ['e', 'exports/x.jsonl', 201],
    ['f', join(allowed, 'x.jsonl'), 201],
    ['g', join(allowed, 'x.jsonl.1'), 400],
  ] as const) {
    const response = await make(name, filepath)
    assert.equal(response.status, status, `${filepath}: ${response.text}`)
    if (status === 400) assert.match(response.text, /filepath/)
  }
})

const action = 'sqlite:rows'
const sqliteOptions =
  'resource_opts={retry_interval=100ms,max_retries=1,request_timeout=1s,health_check_interval=200ms}'
const table = 'CREATE TABLE IF NOT EXISTS readings (number INTEGER UNIQUE ON CONFLICT IGNORE, text TEXT NOT NULL)'
const sql = "INSERT INTO readings (number, text) VALUES (${payload.number}, '${payload.text}')"

const configuration = (create = `,create_table="${table}"`): readonly string[] => [
  'connectors.sqlite.file={path="exports/locked.db"}',
  `actions.sqlite.rows={connector=file,parameters={sql="${sql}"${create}},${sqliteOptions}}`,
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

test('a missing table or a locked file is shown as the reason, and the rows stay queued', async (t) => {
  const broker = await configuredBroker(configuration(''))
  const file = join(broker.dataDirectory, 'exports/locked.db')
  const client = await connect(t, broker)
  const shows = (reason: RegExp): Promise<void> =>
    untilAction(broker, action, async () => reason.test((await actionView(broker, action)).status_reason))
  await publishAll(client, 0, 10)
  await shows(/no such table: readings/)
  const database = new DatabaseSync(file, { timeout: lockMs })
  t.after(() => database.close())
  database.exec(`${table}; BEGIN EXCLUSIVE`)
  await publishAll(client, 10, 20)
  await shows(/database is locked/)
  database.exec('COMMIT')
  await untilAction(broker, action, async () => rowsOf(file).length === 20)
  await untilAction(broker, action, async () => (await actionView(broker, action)).status === 'connected')
})

test('other statements, and files outside of the allowed directories, are refused', async () => {
  const broker = await configuredBroker(configuration())
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
