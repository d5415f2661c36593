import assert from 'node:assert/strict'
import { copyFile, mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import type { IPublishPacket } from 'mqtt'
import { fromPlain } from '../../../src/config/index.ts'
import { backupPath, client, contentsOf, fileOf, fillBook, operator, startInTest } from './nodes.ts'

const everything = { tableSets: undefined, rootKeys: undefined }
const byName = (filename: string) => ({ filename, isDryRun: false, allowsProfileMismatch: false, parts: undefined })

const twoShards = { set: ['node.shards=2'] }

test('an archive that is exported under load is imported into another broker, which exports the same archive', async (t) => {
  const first = await startInTest(t, twoShards)
  await fillBook(first.node)
  await mkdir(join(first.folder, 'certs'))
  await writeFile(join(first.folder, 'certs', 'acl.conf'), '{deny, all, subscribe, ["forbidden/#"]}.\n')
  const settings = {
    mqtt: { max_mqueue_len: 77 },
    auth: { allow_anonymous: true, acl: { file: join(first.folder, 'certs', 'acl.conf') } },
  }
  const read = fromPlain(settings, 'test')
  assert.ok('value' in read)
  const changed = await first.node.configuration.change(read.value, {
    author: operator.by,
    persists: true,
    name: 'test',
  })
  assert.ok(changed.isDone, 'message' in changed ? changed.message : '')
  const publisher = await client(t, first.port, { clientId: 'sensor-ü', username: 'somebody', password: 'of sensor' })
  const properties = {
    userProperties: { unit: '°C' },
    correlationData: Buffer.from([0, 255]),
    messageExpiryInterval: 9_000,
  }
  const how = { retain: true, properties } as const
  for (let number = 0; number < 300; number++) {
    // When the last message is acknowledged, all are durable.
    await publisher.publishAsync(`plant/${number}`, `reading ${number}`, { ...how, qos: number === 299 ? 1 : 0 })
  }
  let late = 0
  const traffic = setInterval(() => publisher.publish(`late/${late++}`, 'while it is made', { retain: true }), 1)
  const made = fileOf(await first.node.backup.export(operator, everything))
  clearInterval(traffic)
  assert.match(made.filename, /^godwit-export-\d{4}-\d\d-\d\d-\d\d-\d\d-\d\d\.\d{3}\.tar\.gz$/)

  const second = await startInTest(t, twoShards)
  await mkdir(join(second.folder, 'backup'))
  await copyFile(backupPath(first, made.filename), backupPath(second, made.filename))
  const imported = await second.node.backup.import(operator, byName(made.filename))
  assert.ok(!('symbol' in imported), 'message' in imported ? imported.message : '')
  const again = fileOf(await second.node.backup.export(operator, everything))
  assert.deepEqual(
    await contentsOf(backupPath(second, again.filename), again.filename),
    await contentsOf(backupPath(first, made.filename), made.filename),
  )

  const alice = await client(t, second.port, { clientId: 'a', username: 'alice', password: 'of alice' })
  const received = new Promise<[string, Buffer, IPublishPacket]>((resolve) => {
    alice.once('message', (...message) => resolve(message))
  })
  await alice.subscribeAsync('plant/42', { qos: 1 })
  const [topic, payload, packet] = await received
  assert.deepEqual([topic, String(payload), packet.retain], ['plant/42', 'reading 42', true])
  assert.deepEqual(packet.properties?.correlationData, Buffer.from([0, 255]))
  await assert.rejects(client(t, second.port, { username: 'alice', password: 'wrong' }))
  await assert.rejects(client(t, second.port, { username: 'mallory' }))
  const [denied] = await alice.subscribeAsync('forbidden/things', { qos: 1 }).catch((error) => [error])
  assert.ok(denied instanceof Error || denied.qos >= 128, 'the imported rules file applies')
  assert.deepEqual(
    (await readdir(join(second.folder, 'backup'))).filter((name) => name.startsWith('.')),
    [],
  )
})
