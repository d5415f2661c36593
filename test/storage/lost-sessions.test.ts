// Sessions with a lost record keep their queues, or their messages are exported.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { crc32 } from 'node:zlib'
import type { StoredRecord } from '../../src/records/index.ts'
import { LevelDatabase } from '../../src/storage/database/level-database.ts'
import { OperationList } from '../../src/storage/database/operation-list.ts'
import { createKindRange } from '../../src/storage/encoding/record-keys.ts'
import type { Store } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { rawEntries, rawPut } from './raw-entries.ts'
import { put, readAll, readEverything } from './read-all.ts'
import { message, queued, session, subscription } from './sample-records.ts'

const recoveredExpirySeconds = 3_600
const lostQueue = Array.from({ length: 700 }, (_, index) => queued('lost', index + 5, `payload ${index}`))
const others: StoredRecord[] = [session('other', 1), subscription('other', 'b'), queued('other', 1, 'of the other')]

type Damage = 'removed' | 'made unreadable'

async function stageWith(t: TestContext, harmed: Partial<Record<'life' | 'session', Damage>>): Promise<LevelStage> {
  const stage = new LevelStage(t)
  const store = await open(stage)
  const incoming: StoredRecord = { kind: 'incoming', clientId: 'lost', packetId: 7, assignments: undefined }
  const outgoing: StoredRecord = { kind: 'outgoing', clientId: 'lost', packetId: 9, sequence: 5, stage: 'sent' }
  const body: StoredRecord = { kind: 'payload', id: 3, message: message('a/topic', 'of a body') }
  await store.commit(put(session('lost', 5), subscription('lost', 'a/#'), incoming, outgoing, ...lostQueue))
  await store.commit(put(body, queued('lost', 1_000, 3), ...others))
  await store.close()
  for (const [kind, damage] of Object.entries(harmed)) await harm(stage, kind as 'life' | 'session', damage)
  return stage
}

function open(stage: LevelStage): Promise<Store> {
  return stage.open({ recoveredExpirySeconds })
}

/** The store after a kill: no marks tell which records should exist. */
async function harm({ directory }: LevelStage, kind: 'life' | 'session', damage: Damage): Promise<void> {
  rmSync(join(directory, 'SEAL'), { force: true })
  const entries = await rawEntries(directory, createKindRange(kind))
  const entry = entries.find((one) => Buffer.concat([...one]).includes('lost'))
  assert.ok(entry !== undefined)
  if (damage === 'made unreadable') return await rawPut(directory, entry[0], Buffer.from('nonsense'))
  const database = await LevelDatabase.open(directory)
  const operations = new OperationList()
  operations.delete(entry[0])
  await database.write(operations, true)
  await database.close()
}

async function recordsOf(store: Store, clientId: string): Promise<StoredRecord[]> {
  return (await readEverything(store)).filter((record) => 'clientId' in record && record.clientId === clientId)
}

test('a sound store is opened unchanged', async (t) => {
  const stage = await stageWith(t, {})
  assert.equal((await recordsOf(await open(stage), 'lost')).length, lostQueue.length + 5)
  assert.deepEqual(stage.alarms, [])
})

for (const damage of ['removed', 'made unreadable'] as const) {
  test(`a session whose record was ${damage} exists again with its queue only, and an alarm names it`, async (t) => {
    const stage = await stageWith(t, { session: damage })
    const store = await open(stage)
    const [recovered, ...queue] = await recordsOf(store, 'lost')
    assert.ok(recovered?.kind === 'session')
    const { clientId, expirySeconds, queueHead, username, isSuperuser, sentBelow, disconnectedAtMs } = recovered
    assert.deepEqual(
      { clientId, expirySeconds, queueHead, username, isSuperuser, sentBelow },
      {
        clientId: 'lost',
        expirySeconds: recoveredExpirySeconds,
        queueHead: 0,
        username: undefined,
        isSuperuser: false,
        sentBelow: 1_001,
      },
    )
    assert.ok(Math.abs(Date.now() - (disconnectedAtMs ?? 0)) < 60_000)
    assert.deepEqual(queue.slice(0, -1), lostQueue)
    assert.equal(queue.length, lostQueue.length + 1)
    assert.deepEqual(await recordsOf(store, 'other'), others)
    const text = stage.alarms.find(({ alarm }) => alarm === 'sessions-recovered')?.text ?? ''
    assert.match(text, /records of 1 sessions .* were lost. Their 701 queued messages .*: "lost"\./)
    assert.equal(stage.alarms.filter(({ alarm }) => alarm === 'records-damaged').length, damage === 'removed' ? 0 : 1)
    await store.close()
    stage.alarms.length = 0
    assert.equal((await recordsOf(await open(stage), 'lost')).length, lostQueue.length + 2)
    assert.deepEqual(stage.alarms, [])
  })
}

test('an unreadable generation is restored from the records of its session', async (t) => {
  const stage = await stageWith(t, { life: 'made unreadable' })
  assert.equal((await recordsOf(await open(stage), 'lost')).length, lostQueue.length + 5)
  assert.deepEqual(
    stage.alarms.map(({ alarm }) => alarm),
    ['records-damaged'],
  )
})

test('messages without a known session are exported to a file, and an alarm says so', async (t) => {
  const stage = await stageWith(t, { life: 'made unreadable', session: 'made unreadable' })
  const store = await open(stage)
  assert.deepEqual(await recordsOf(store, 'lost'), [])
  assert.deepEqual(await recordsOf(store, 'other'), others)
  const file = `${stage.directory}.lost-messages.jsonl`
  const text = stage.alarms.find(({ alarm }) => alarm === 'messages-exported')?.text ?? ''
  assert.match(text, new RegExp(`^701 queued messages in .* exported to ${file}`))
  const lines = readFileSync(file, 'utf8').trim().split('\n')
  const payloads = lines.map((line) =>
    Buffer.from((JSON.parse(line) as { payload: string }).payload, 'base64').toString(),
  )
  assert.deepEqual(payloads, [...lostQueue.map((_, index) => `payload ${index}`), 'of a body'])
  const { topic, qos, retain, publisher, sequence } = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  assert.deepEqual(
    { topic, qos, retain, publisher, sequence },
    { topic: 'a/topic', qos: 1, retain: false, publisher: 'publisher-1', sequence: 5 },
  )
})

test('a client with a stored will only is not a lost session', async (t) => {
  const stage = new LevelStage(t)
  const will: StoredRecord = {
    kind: 'will',
    clientId: 'clean',
    message: message('w', 'gone'),
    delaySeconds: 0,
    dueAtMs: undefined,
  }
  const store = await open(stage)
  await store.commit(put(will, ...others))
  await store.close()
  assert.deepEqual(await recordsOf(await open(stage), 'clean'), [will])
  assert.deepEqual(stage.alarms, [])
})

test('a session record of a newer version is not changed', async (t) => {
  const stage = await stageWith(t, {})
  const [entry] = (await rawEntries(stage.directory, createKindRange('session'))).filter(([, value]) =>
    value.includes('lost'),
  )
  assert.ok(entry !== undefined)
  rmSync(join(stage.directory, 'SEAL'))
  const newer = withVersion(entry[0], entry[1], 99)
  await rawPut(stage.directory, entry[0], newer)
  const store = await open(stage)
  assert.equal((await readAll(store, { kind: 'queued', clientId: 'lost' })).length, lostQueue.length + 1)
  await store.close()
  assert.deepEqual(
    stage.alarms.map(({ alarm }) => alarm),
    [],
  )
  const kept = (await rawEntries(stage.directory, createKindRange('session'))).find(([key]) => key.equals(entry[0]))
  assert.deepEqual(kept?.[1], newer)
  assert.ok(!existsSync(`${stage.directory}.lost-messages.jsonl`))
})

function withVersion(key: Buffer, value: Buffer, version: number): Buffer {
  const changed = Buffer.from(value)
  changed[0] = version
  changed.writeUInt32BE(crc32(Buffer.concat([key, changed.subarray(0, -4)])), changed.length - 4)
  return changed
}
