// Handles shared payloads when the number of shards changes. A payload is shared by sessions of one shard, which counts
// its references. After a change, the sessions of one payload may belong to several shards, and none can count them. So
// payloads from before a change belong to no shard, and no shard deletes them. Those without references are deleted
// here, at the next start, before the database is used.
//
// Records of deliveries name shards by numbers, too. The node translates them (`core/time/change-shards.ts`) after it has read the former
// number of shards here, which stays stored until all of them are translated.

import { writeChecksum } from '../encoding/checked-value.ts'
import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import type { LevelDatabase } from '../database/level-database.ts'
import { OperationList } from '../database/operation-list.ts'
import {
  readKeyPayloadId,
  encodeFactKey,
  readKeyGeneration,
  createPayloadRange,
  createKindRange,
} from '../encoding/record-keys.ts'
import { readPayloadId, readGeneration, readRecord, writeValue } from '../encoding/record-values.ts'
import { ReferenceCounts } from './reference-counts.ts'
import type { Generation } from '../encoding/record-keys.ts'
import type { StoredChange } from '../../records/index.ts'

/** The number of shards at the last start, and the highest ID of payloads from before the last change. */
interface Distribution {
  readonly shards: number
  readonly sharedPayloadsUpTo: number
}

const factName = 'dealing'
/** The value of versions that did not write this record. */
const initialDistribution: Distribution = { shards: 1, sharedPayloadsUpTo: 0 }

const formerShardsName = 'former-shards'

export interface Redistribution {
  /** The highest ID of payloads that several shards may share, 0 if there are none. */
  readonly sharedPayloadsUpTo: number
  /** Number of shards that wrote the records of deliveries; undefined: the present number. 0: not known. */
  readonly formerShards: number | undefined
}

/** Called at the start: stores the number of shards and deletes shared payloads without references. */
export async function redistributePayloads(database: LevelDatabase, shards: number): Promise<Redistribution> {
  const last = await readDistribution(database)
  const formerShards = (await readFormerShards(database)) ?? (last.shards === shards ? undefined : last.shards)
  const highest = last.shards === shards ? last.sharedPayloadsUpTo : await findHighestPayloadId(database)
  const sharedPayloadsUpTo = highest > 0 ? await deleteUnreferenced(database, highest) : 0
  if (last.shards !== shards || last.sharedPayloadsUpTo !== sharedPayloadsUpTo) {
    await writeDistribution(database, { shards, sharedPayloadsUpTo }, formerShards)
  }
  return { sharedPayloadsUpTo, formerShards }
}

async function readFormerShards(database: LevelDatabase): Promise<number | undefined> {
  const key = encodeFactKey(formerShardsName)
  const value = await database.get(key)
  if (value === undefined) return undefined
  const record = ignoreUnreadable(() => readRecord(key, value, ''))
  return (record?.kind === 'fact' && Number(record.value)) || 0
}

/** The change that is committed when all records of deliveries are translated. */
export const formerShardsDone: StoredChange = { change: 'delete', key: { kind: 'fact', name: formerShardsName } }

async function readDistribution(database: LevelDatabase): Promise<Distribution> {
  const key = encodeFactKey(factName)
  const value = await database.get(key)
  if (value === undefined) return initialDistribution
  const record = ignoreUnreadable(() => readRecord(key, value, ''))
  const [, shards, upTo] = (record?.kind === 'fact' && /^(\d+) (\d+)$/.exec(record.value)) || []
  // If the record is unreadable, all payloads may be shared.
  return shards === undefined
    ? { shards: 0, sharedPayloadsUpTo: 0 }
    : { shards: Number(shards), sharedPayloadsUpTo: Number(upTo) }
}

async function writeDistribution(
  database: LevelDatabase,
  { shards, sharedPayloadsUpTo }: Distribution,
  formerShards: number | undefined,
): Promise<void> {
  const operations = new OperationList()
  putFact(operations, factName, `${shards} ${sharedPayloadsUpTo}`)
  if (formerShards !== undefined) putFact(operations, formerShardsName, `${formerShards}`)
  await database.write(operations, true)
}

function putFact(operations: OperationList, name: string, value: string): void {
  operations.begin()
  operations.writer.rawBytes(encodeFactKey(name))
  operations.endKey()
  writeValue(operations.writer, { kind: 'fact', name, value })
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

async function findHighestPayloadId(database: LevelDatabase): Promise<number> {
  const key = await database.findLastKey(createKindRange('payload'))
  return key === undefined ? 0 : (ignoreUnreadable(() => readKeyPayloadId(key)) ?? Number.MAX_SAFE_INTEGER)
}

/** Returns the highest remaining ID, 0 for none. */
async function deleteUnreferenced(database: LevelDatabase, upTo: number): Promise<number> {
  if ((await database.findLastKey(createPayloadRange(upTo))) === undefined) return 0
  const counts = await countReferences(database)
  let highestLeft = 0
  for await (const slice of database.readSlices({ ...createPayloadRange(upTo), keysOnly: true })) {
    const operations = new OperationList()
    for (const [key] of slice) {
      const id = ignoreUnreadable(() => readKeyPayloadId(key))
      if (id === undefined) continue
      if (counts.get(id) === 0) operations.delete(key)
      else highestLeft = id
    }
    if (operations.count > 0) await database.write(operations, false)
  }
  return highestLeft
}

/** Counts the queues of all existing sessions. */
async function countReferences(database: LevelDatabase): Promise<ReferenceCounts> {
  const generations = new Set<Generation>()
  for await (const slice of database.readSlices(createKindRange('life'))) {
    for (const [key, value] of slice) {
      const generation = ignoreUnreadable(() => readGeneration(key, value))
      if (generation !== undefined) generations.add(generation)
    }
  }
  const counts = new ReferenceCounts()
  for await (const slice of database.readSlices(createKindRange('queued'))) {
    for (const [key, value] of slice) {
      const id = ignoreUnreadable(() =>
        generations.has(readKeyGeneration(key)) ? readPayloadId(key, value) : undefined,
      )
      if (id !== undefined) counts.add(id)
    }
  }
  return counts
}

/** Unreadable records are reported and moved to quarantine when they are restored; here they count for nothing. */
function ignoreUnreadable<Value>(read: () => Value): Value | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
