// A single record that fails its check is skipped, quarantined in a file, and reported once.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { crc32 } from 'node:zlib'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import { LevelStage } from './level-stage.ts'
import { rawEntries, rawPut } from './raw-entries.ts'
import { put, readAll } from './read-all.ts'
import { queued, session } from './sample-records.ts'

const three = [queued('client', 1), queued('client', 2), queued('client', 3)]

describe('a bad record', () => {
  test('is skipped, quarantined in a file, and reported once', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...three))
    const { key, value } = await entryAt(stage, 1)
    value[20] = (value[20] ?? 0) ^ 1
    await rawPut(stage.directory, key, value)
    assert.deepEqual(await readAll(store, { kind: 'queued', clientId: 'client' }), [three[0], three[2]])
    await store.close()
    const file = `${stage.directory}.damaged-records`
    const text = `1 stored record is damaged (queued: the checksum is wrong) and quarantined in ${file}: they are not used any more.`
    assert.deepEqual(stage.alarms, [{ alarm: 'records-damaged', text }])
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      reason: 'the checksum is wrong',
      key: key.toString('base64'),
      value: value.toString('base64'),
    })
    const reopened = await stage.open()
    assert.deepEqual(await readAll(reopened, { kind: 'queued' }), [three[0], three[2]])
    await reopened.close()
    assert.equal(stage.alarms.length, 1)
  })

  test('is detected if it has the key of another record', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...three))
    const { key } = await entryAt(stage, 0)
    const { value } = await entryAt(stage, 1)
    await rawPut(stage.directory, key, value)
    assert.deepEqual(await readAll(store, { kind: 'queued' }), [three[1], three[2]])
    await store.close()
    assert.deepEqual(
      stage.alarms.map(({ alarm }) => alarm),
      ['records-damaged'],
    )
  })

  test('does not delete a record that replaced it meanwhile', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...three))
    const { key, value } = await entryAt(stage, 1)
    await rawPut(stage.directory, key, value.subarray(1))
    const reading = readAll(store, { kind: 'queued', clientId: 'client' })
    await Promise.all([reading, store.commit(put(queued('client', 2, 'again')))])
    await store.close()
    const reopened = await stage.open()
    assert.deepEqual(await readAll(reopened, { kind: 'queued' }), [three[0], queued('client', 2, 'again'), three[2]])
  })

  test('with the generation of a session loses only that session', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(session('lost'), queued('lost', 1), session('other'), queued('other', 1)))
    const lives = await rawEntries(stage.directory, createKindRange('life'))
    const life = lives.find(([key]) => key.toString('utf8', 1) === 'lost')
    assert.ok(life !== undefined)
    await rawPut(stage.directory, life[0], Buffer.from('nonsense'))
    await store.close()
    const reopened = await stage.open()
    assert.deepEqual(await readAll(reopened, { kind: 'session' }), [session('other')])
    await reopened.commit(put(session('lost'), queued('lost', 2)))
    assert.deepEqual(await readAll(reopened, { kind: 'queued', clientId: 'lost' }), [queued('lost', 2)])
    await reopened.close()
    assert.deepEqual(
      stage.alarms.map(({ alarm }) => alarm),
      ['records-damaged'],
    )
  })

  test('of a newer version is not changed, and is reported', async (context) => {
    const stage = new LevelStage(context)
    const store = await stage.open()
    await store.commit(put(...three))
    const { key, value } = await entryAt(stage, 1)
    const newer = withVersion(key, value, 9)
    await rawPut(stage.directory, key, newer)
    assert.deepEqual(await readAll(store, { kind: 'queued' }), [three[0], three[2]])
    await store.close()
    const text =
      '1 stored record is left alone and not used: version 9 of a queued record is newer than this Godwit. Use the newer Godwit again.'
    assert.deepEqual(stage.alarms, [{ alarm: 'records-too-new', text }])
    assert.deepEqual((await entryAt(stage, 1)).value, newer)
    assert.ok(!existsSync(`${stage.directory}.damaged-records`))
  })
})

async function entryAt(stage: LevelStage, index: number): Promise<{ key: Buffer; value: Buffer }> {
  const entry = (await rawEntries(stage.directory, createKindRange('queued')))[index]
  assert.ok(entry !== undefined)
  return { key: entry[0], value: entry[1] }
}

function withVersion(key: Buffer, value: Buffer, version: number): Buffer {
  const changed = Buffer.from(value)
  changed[0] = version
  changed.writeUInt32BE(crc32(Buffer.concat([key, changed.subarray(0, -4)])), changed.length - 4)
  return changed
}
