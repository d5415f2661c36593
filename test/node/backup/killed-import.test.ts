import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { test } from 'node:test'
import { archiveOf, folder } from '../../backup/crafted.ts'
import { temporaryFolder } from '../../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../../management/api.ts'
import { testLength } from '../../test-length.ts'

const filename = `${folder}.tar.gz`
const places = testLength({ daily: 2, long: 10 })
/** The last kill is 135 ms after the request. */
const lastPlaceMs = 135
const records = 1_500

const times = (make: (number: number) => object): string =>
  Array.from({ length: records }, (_, number) => `${JSON.stringify(make(number))}\n`).join('')

const archive = archiveOf({
  'cluster.hocon': 'mqtt.max_mqueue_len = 77',
  'tables/credentials.jsonl': times((number) => ({
    by: 'username',
    id: `user-${number}`,
    algorithm: 'sha256',
    saltPosition: 'prefix',
    salt: 'c2FsdA==',
    hash: Buffer.alloc(32, number).toString('base64'),
    isSuperuser: false,
    createdAtMs: 1_767_000_000_000 + number,
  })),
  'tables/retained-messages.jsonl': times((number) => ({
    topic: `plant/${number}`,
    payload: Buffer.from(`reading ${number}`).toString('base64'),
    qos: 1,
    publisher: 'sensor',
    isByOwnRight: false,
    publishedAtMs: 1_767_000_000_000 + number,
  })),
})

test(`a broker that is killed at ${places} points of an import has all data after a repeated import`, async (t) => {
  const dataDirectory = await temporaryFolder(t)
  await mkdir(join(dataDirectory, 'backup'))
  await writeFile(join(dataDirectory, 'backup', filename), archive)
  const start = () => startBrokerWithApi(t, { dataDirectory, set: ['node.shards=1'] })
  for (let place = 0; place < places; place++) {
    const broker = await start()
    const response = broker
      .request('/api/v5/data/import', { method: 'POST', body: { filename } })
      .catch(() => undefined)
    // The import may be at any point by then: the guarantee applies to each point.
    await setTimeout((place * lastPlaceMs) / (places - 1))
    await broker.process.stop('SIGKILL')
    await response
  }
  const broker = await start()
  const imported = await broker.request('/api/v5/data/import', { method: 'POST', body: { filename } })
  assert.equal(imported.status, 200, imported.text)
  const { tables } = imported.json.data
  for (const { inserts, updates, unchanged } of tables) assert.deepEqual([inserts + unchanged, updates], [records, 0])
  const { json } = await broker.request('/api/v5/data/diff', { method: 'POST', body: { first: filename } })
  for (const { table, only_in_first: missing, different } of json.data.tables) {
    assert.deepEqual([missing, different], [0, 0], table)
  }
  assert.match((await broker.request('/api/v4/configuration/mqtt')).text, /"max_mqueue_len":77/)
})
