// Client libraries that throw outside of the broker's calls, in a real shard.

import assert from 'node:assert/strict'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import mqtt from 'mqtt'
import { readCounters } from '../../src/telemetry/index.ts'
import { eventually } from './eventually.ts'
import { temporaryFolder } from './godwit-process.ts'
import { startNodeWithFaults } from './node-with-faults.ts'

/** A client library that appends the values of statements to a file, and throws after a statement as its value says. */
const library = `
import { appendFileSync } from 'node:fs'
import { EventEmitter } from 'node:events'
import { fileURLToPath } from 'node:url'

const file = fileURLToPath(new URL('stored', import.meta.url))
const failures = {
  timer: () => void setTimeout(() => { throw new Error('in a timer') }, 1),
  event: () => void setImmediate(() => new EventEmitter().emit('error', new Error('of an event'))),
  rejection: () => void Promise.resolve().then(() => { throw new Error('of a promise') }),
}

class Client extends EventEmitter {
  async connect() {}
  async query(text, values = []) {
    for (const value of values) {
      appendFileSync(file, value + '\\n')
      failures[value]?.()
    }
    return { rows: [], rowCount: values.length }
  }
  async end() {}
}

export default { Client }
`

const action = {
  connector: 'database',
  parameters: { sql: 'INSERT INTO stored (value) VALUES (${payload})' },
  resource_opts: { batch_size: 1, health_check_interval: '1s' },
}

test('a client library that throws in a timer, an event or a promise costs no client its connection, and no message', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const folder = join(dataDirectory, 'node_modules', 'pg')
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, 'index.mjs'), library)
  const node = await startNodeWithFaults(t, './library-shard.ts', {
    dataDirectory,
    set: [
      'node.shards=1',
      'connectors.pgsql.database={server="127.0.0.1:5432",username=a,password=b,database=c}',
      `actions.pgsql.storing=${JSON.stringify(action)}`,
      'rule_engine.rules.all={sql="SELECT payload FROM \\"t/#\\"",actions=["pgsql:storing"]}',
    ],
  })
  const client = await mqtt.connectAsync(`mqtt://127.0.0.1:${node.listeners[0].port}`)
  t.after(() => client.end(true))
  let closed = 0
  client.on('close', () => closed++)
  const stored = async (): Promise<readonly string[]> => (await readFile(join(folder, 'stored'), 'utf8')).split('\n')
  const failures = (): number => readCounters(node.counters).libraryFailures
  for (const [index, failure] of ['timer', 'event', 'rejection'].entries()) {
    await client.publishAsync('t/1', failure, { qos: 1 })
    await eventually(() => assert.equal(failures(), index + 1))
    await client.publishAsync('t/1', `after ${failure}`, { qos: 1 })
    await eventually(async () => assert.ok((await stored()).includes(`after ${failure}`)))
  }
  assert.equal(closed, 0, 'the shard has not ended')
  const log = await readFile(join(dataDirectory, 'log', 'godwit.log'), 'utf8')
  for (const reason of ['in a timer', 'of an event', 'of a promise']) {
    assert.match(log, new RegExp(`"event":"library failed","library":"pg","reason":"${reason}"`))
    assert.match(
      log,
      new RegExp(`"action disconnected","action":"pgsql:storing","reason":"the library pg .*${reason}"`),
    )
  }
  assert.doesNotMatch(log, /shard failed/)
})
