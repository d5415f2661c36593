// Actions that write files, in the whole program: acknowledged messages are in a file, also if the broker is killed.

import assert from 'node:assert/strict'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { shardOf } from '../../src/core/index.ts'
import { shareConfigurableBroker, startBrokerWithApi, type BrokerWithApi } from '../management/api.ts'
import { eventually } from './eventually.ts'
import { type Scope, temporaryFolder } from './godwit-process.ts'

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

/** The lines of all files of a folder. If a file is renamed while it is read, an assertion fails, and `until` repeats the call. */
async function linesIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch(() => [])
  const texts = await Promise.all(
    names.map((name) =>
      readFile(join(folder, name), 'utf8').catch((error: NodeJS.ErrnoException) => {
        assert.notEqual(error.code, 'ENOENT', `${name} was renamed`)
        throw error
      }),
    ),
  )
  return texts.flatMap((text) => text.split('\n').slice(0, -1))
}

/** Client IDs of which each of two shards owns two. */
const clientIds = [0, 1].flatMap((shard) =>
  Array.from({ length: 20 }, (_, number) => `publisher-${number}`)
    .filter((clientId) => shardOf(clientId, 2) === shard)
    .slice(0, 2),
)

const rule = (action: string, columns = '*'): string =>
  `rule_engine.rules.all={sql="SELECT ${columns} FROM \\"in/#\\"",actions=["${action}"]}`

test('each acknowledged message is a line of a file of its shard, also after a kill, and only the system user can read the files', async (t) => {
  const set = [
    'node.shards=2',
    'connectors.disk_log.files={filepath="exports/in.jsonl",max_file_size=2KB,max_file_number=1000}',
    `actions.disk_log.all={connector=files,${options}}`,
    rule('disk_log:all', 'topic, payload.number as number'),
  ]
  const broker = await startBrokerWithApi(t, { set })
  const acknowledged = new Set<number>()
  const publishFrom = async (at: BrokerWithApi, first: number, count: number): Promise<void> => {
    const clients = await Promise.all(clientIds.map((clientId) => connect(t, at, clientId)))
    const sent = Array.from({ length: count }, async (_, index) => {
      const number = first + index
      await clients[index % clients.length].publishAsync('in/a', JSON.stringify({ number }), { qos: 1 })
      acknowledged.add(number)
    })
    await Promise.allSettled(sent.slice(0, -1))
    await sent.at(-1)
  }
  await publishFrom(broker, 0, 300)
  await broker.process.stop('SIGKILL')
  const again = await startBrokerWithApi(t, { set, dataDirectory: broker.dataDirectory })
  await publishFrom(again, 300, 20)
  const folder = join(broker.dataDirectory, 'exports')
  const numbersIn = async (): Promise<ReadonlySet<number>> =>
    new Set((await linesIn(folder)).map((line) => (JSON.parse(line) as { readonly number: number }).number))
  await until(async () => {
    const numbers = await numbersIn()
    return [...acknowledged].every((number) => numbers.has(number))
  })
  assert.equal(acknowledged.size, 320)
  const names = await readdir(folder)
  assert.ok(names.includes('in.jsonl') && names.includes('in-shard1.jsonl') && names.includes('in.jsonl.1'))
  for (const name of names) {
    const { mode, size } = await stat(join(folder, name))
    assert.equal(mode & 0o777, 0o600)
    assert.ok(size <= 2_048, `${name} has ${size} bytes`)
  }
})

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
