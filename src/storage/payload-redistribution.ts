// A body is shared by sessions of one shard, which counts who refers to it. When sessions are dealt anew, as the number
// of shards is another than before, those that refer to one body may come to several shards, and none of them can count.
// So bodies from before a dealing are nobody's: no shard deletes them, and those that nobody needs any more go here, at
// the next start, before anybody else uses the database.

import { DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { LevelDatabase } from './level-database.ts'
import { OperationList } from './operation-list.ts'
import { payloadIdOfKey, factKey, generationOfKey, rangeOfPayloadsUpTo, rangeOfKind } from './record-keys.ts'
import { readPayloadId, readGeneration, readRecord, writeChecksum, writeValue } from './record-values.ts'
import { ReferenceCounts } from './reference-counts.ts'
import type { Generation } from './record-keys.ts'

/** Among how many shards the sessions were dealt last, and the highest id of the bodies from before that. */
interface Distribution {
  readonly shards: number
  readonly sharedPayloadsUpTo: number
}

const factName = 'dealing'
/** What versions that wrote no such fact had. */
const initialDistribution: Distribution = { shards: 1, sharedPayloadsUpTo: 0 }

/**
 * At the start: notes the number of shards and deletes shared bodies that nobody refers to. Resolves with the highest id
 * of the bodies that may be shared between shards, 0 where there are none.
 */
export async function redistributePayloads(database: LevelDatabase, shards: number): Promise<number> {
  const last = await readDistribution(database)
  const highest = last.shards === shards ? last.sharedPayloadsUpTo : await highestPayloadId(database)
  const sharedPayloadsUpTo = highest > 0 ? await deleteUnreferenced(database, highest) : 0
  if (last.shards !== shards || last.sharedPayloadsUpTo !== sharedPayloadsUpTo) {
    await writeDistribution(database, { shards, sharedPayloadsUpTo })
  }
  return sharedPayloadsUpTo
}

async function readDistribution(database: LevelDatabase): Promise<Distribution> {
  const key = factKey(factName)
  const value = await database.get(key)
  if (value === undefined) return initialDistribution
  const record = ifReadable(() => readRecord(key, value, ''))
  const [, shards, upTo] = (record?.kind === 'fact' && /^(\d+) (\d+)$/.exec(record.value)) || []
  // An unreadable note says that nothing is known: whatever is there may be shared.
  return shards === undefined
    ? { shards: 0, sharedPayloadsUpTo: 0 }
    : { shards: Number(shards), sharedPayloadsUpTo: Number(upTo) }
}

async function writeDistribution(database: LevelDatabase, { shards, sharedPayloadsUpTo }: Distribution): Promise<void> {
  const operations = new OperationList()
  operations.begin()
  operations.writer.bytesOf(factKey(factName))
  operations.endKey()
  writeValue(operations.writer, { kind: 'fact', name: factName, value: `${shards} ${sharedPayloadsUpTo}` })
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
  await database.write(operations, true)
}

async function highestPayloadId(database: LevelDatabase): Promise<number> {
  const key = await database.lastKey(rangeOfKind('body'))
  return key === undefined ? 0 : (ifReadable(() => payloadIdOfKey(key)) ?? Number.MAX_SAFE_INTEGER)
}

/** The highest id of those that are left, 0 for none. */
async function deleteUnreferenced(database: LevelDatabase, upTo: number): Promise<number> {
  if ((await database.lastKey(rangeOfPayloadsUpTo(upTo))) === undefined) return 0
  const counts = await countReferences(database)
  let highestLeft = 0
  for await (const slice of database.slices({ ...rangeOfPayloadsUpTo(upTo), keysOnly: true })) {
    const operations = new OperationList()
    for (const [key] of slice) {
      const id = ifReadable(() => payloadIdOfKey(key))
      if (id === undefined) continue
      if (counts.get(id) === 0) operations.delete(key)
      else highestLeft = id
    }
    if (operations.count > 0) await database.write(operations, false)
  }
  return highestLeft
}

/** By the queues of all sessions that live. */
async function countReferences(database: LevelDatabase): Promise<ReferenceCounts> {
  const generations = new Set<Generation>()
  for await (const slice of database.slices(rangeOfKind('life'))) {
    for (const [key, value] of slice) {
      const generation = ifReadable(() => readGeneration(key, value))
      if (generation !== undefined) generations.add(generation)
    }
  }
  const counts = new ReferenceCounts()
  for await (const slice of database.slices(rangeOfKind('queued'))) {
    for (const [key, value] of slice) {
      const id = ifReadable(() => (generations.has(generationOfKey(key)) ? readPayloadId(key, value) : undefined))
      if (id !== undefined) counts.add(id)
    }
  }
  return counts
}

/** What cannot be read is told and set aside by whoever restores it: here it counts for nothing. */
function ifReadable<Thing>(read: () => Thing): Thing | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return undefined
    throw error
  }
}
