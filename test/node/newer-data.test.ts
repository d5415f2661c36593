// A version starts with the data directory of a newer one, as docs/STABILITY.md says.

import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { runGodwit, temporaryFolder } from '../e2e/godwit-process.ts'
import { startBrokerWithApi } from '../management/api.ts'
import { rawEntries, rawPut } from '../storage/raw-entries.ts'

const checksumBytes = 4
const newerVersion = 99
const credentials = createKindRange('credential')
/** No kind of record has this first byte. */
const unknownKind = 0x50
const unknownRange = { gte: Buffer.of(unknownKind), lt: Buffer.of(unknownKind + 1) }

function withChecksum(key: Buffer, body: Buffer): Buffer {
  const checksum = Buffer.alloc(checksumBytes)
  checksum.writeUInt32BE(crc32(body, crc32(key)))
  return Buffer.concat([body, checksum])
}

test('records of a newer version are not used and stay as they are, with an alarm; others are used', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  const store = join(dataDirectory, 'store')
  const before = await startBrokerWithApi(t, { dataDirectory })
  for (const username of ['anna', 'bert'])
    await before.request('/api/v4/auth_username', { method: 'POST', body: { username, password: 'correct horse 7' } })
  assert.equal(await before.process.stop(), 0)

  const [key, value] = (await rawEntries(store, credentials)).find(([name]) => name.includes('anna')) ?? assert.fail()
  const body = Buffer.from(value.subarray(0, value.length - checksumBytes))
  body[0] = newerVersion
  const newer = withChecksum(key, body)
  await rawPut(store, key, newer)
  const unknownKey = Buffer.of(unknownKind, 1, 2, 3)
  await rawPut(store, unknownKey, withChecksum(unknownKey, Buffer.of(1, 5)))
  // The list of files of a clean stop, which the changes above do not update: as after a kill, it is missing.
  await rm(join(store, 'SEAL'))

  const broker = await startBrokerWithApi(t, { dataDirectory })
  const { json: users } = await broker.request('/api/v4/auth_username')
  assert.deepEqual(
    users.data.map(({ username }: { readonly username: string }) => username),
    ['bert'],
  )
  const { json: alarms } = await broker.request('/api/v4/alarms/activated')
  const [{ name, message }] = alarms.data[0].alarms
  assert.equal(name, 'records-too-new')
  assert.match(message, /version 99 of a credential record is newer than this Godwit/)
  assert.equal(await broker.process.stop(), 0)
  assert.ok((await rawEntries(store, credentials)).some(([, stored]) => stored.equals(newer)))
  assert.equal((await rawEntries(store, unknownRange)).length, 1)
})

test('a setting that a newer version has stored prevents the start, and the error names it', async (t) => {
  const dataDirectory = await temporaryFolder(t)
  await writeFile(join(dataDirectory, 'changed-settings.conf'), '{ "mqtt": { "setting_of_tomorrow": 5 } }\n')
  const godwit = runGodwit(t, ['start', '--data', dataDirectory])
  assert.equal(await godwit.ended, 1)
  assert.match(godwit.errors, /changed-settings\.conf:1:\d+: mqtt\.setting_of_tomorrow: there is no such setting/)
})
