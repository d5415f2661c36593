import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StoredRecord } from '../../src/records/index.ts'
import { openMemoryStore } from '../../src/storage/index.ts'
import { LevelStage } from './level-stage.ts'
import { put, readAll } from './read-all.ts'
import { anyRecord } from './sample-records.ts'
import { fc } from '../properties.ts'

test('every record of every kind is read from memory as it was written', async () => {
  await fc.assert(
    fc.asyncProperty(anyRecord, async (record) => {
      const store = openMemoryStore()
      await store.commit(put(record))
      assert.deepEqual(await readAll(store, { kind: record.kind }), [record])
    }),
    { numRuns: 1_000, seed: 11 },
  )
})

test('records of every kind are read from LevelDB as they were written, after a close and an open', async (context) => {
  const stage = new LevelStage(context)
  const store = await stage.open()
  const records = fc.sample(anyRecord, { numRuns: 2_000, seed: 12 })
  await store.commit(put(...records))
  await store.close()
  const reopened = await stage.open()
  const latest = new Map(records.map((record) => [identity(record), record]))
  const found = new Map<string, StoredRecord>()
  for (const kind of new Set(records.map((record) => record.kind))) {
    for (const record of await readAll(reopened, { kind })) found.set(identity(record), record)
  }
  assert.equal(found.size, latest.size)
  for (const [name, record] of latest) assert.deepEqual(found.get(name), record)
  assert.deepEqual(stage.alarms, [])
})

test('successive messages with the same properties are read as they were written', async (context) => {
  const store = await new LevelStage(context).open()
  const sampled = fc.sample(anyRecord, { numRuns: 2_000, seed: 13 })
  const [sample] = sampled.flatMap((record) => (record.kind === 'payload' ? [record] : []))
  if (sample === undefined) throw new Error('the sample has no payload')
  const [one, other] = [{ userProperties: [['rule', 'r']] }, { contentType: 'text/plain' }] as const
  const inTurn = [one, one, one, other, one, one, { ...one }, one, undefined, one, one, one, other, other, other]
  const records = inTurn.map((properties, id) => ({
    ...sample,
    id: id + 1,
    message: { ...sample.message, properties },
  }))
  for (let half = 0; half < 2; half++) await store.commit(put(...records.slice(half * 8, half * 8 + 8)))
  assert.deepEqual(await readAll(store, { kind: 'payload' }), records)
})

/** The fields that identify a record. */
function identity(record: StoredRecord): string {
  switch (record.kind) {
    case 'session':
    case 'will':
      return JSON.stringify([record.kind, record.clientId])
    case 'subscription':
      return JSON.stringify([record.kind, record.clientId, record.filter])
    case 'queued':
      return JSON.stringify([record.kind, record.clientId, record.sequence])
    case 'outgoing':
    case 'incoming':
      return JSON.stringify([record.kind, record.clientId, record.packetId])
    case 'payload':
      return JSON.stringify([record.kind, record.id])
    case 'retained':
      return JSON.stringify([record.kind, record.message.topic])
    case 'forwarded':
      return JSON.stringify([record.kind, record.shard, record.publisher, record.packetId])
    case 'handoff':
      return JSON.stringify([record.kind, record.shard, record.name])
    case 'fact':
      return JSON.stringify([record.kind, record.name])
    case 'credential':
      return JSON.stringify(['credential', record.namespace, record.by, record.id])
    case 'gateway-user':
      return JSON.stringify(['gateway-user', record.chain, record.id])
    case 'scram':
      return JSON.stringify(['scram', record.namespace, record.username])
    case 'psk':
      return JSON.stringify(['psk', record.identity])
    case 'rule':
      return JSON.stringify(['rule', record.namespace, record.about, record.who, record.action, record.topic])
    case 'ban':
      return JSON.stringify(['ban', record.namespace, record.as, record.who])
    case 'account':
    case 'namespace':
      return JSON.stringify([record.kind, record.name])
    case 'api-key':
      return JSON.stringify(['api-key', record.id])
    default:
      return record satisfies never
  }
}
