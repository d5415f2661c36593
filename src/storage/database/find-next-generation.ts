// Finds the next generation that a shard may use after a start.

import { DamagedRecord, RecordTooNew } from '../encoding/record-byte-reader.ts'
import type { Database } from './entry-database.ts'
import {
  encodeLastGenerationKey,
  type Generation,
  readKeyGeneration,
  computeShardGenerations,
  noGeneration,
  createShardRange,
  sessionKinds,
} from '../encoding/record-keys.ts'
import { readGeneration } from '../encoding/record-values.ts'

/** Returns a generation that the shard has never used, and that no record of it has or exceeds. */
export async function findNextGeneration(database: Database, shard: number): Promise<Generation> {
  let highest = Math.max(noGeneration, computeShardGenerations(shard).first)
  const begun = await database.get(encodeLastGenerationKey(shard))
  if (begun !== undefined) highest = Math.max(highest, readGenerationOrNone(encodeLastGenerationKey(shard), begun))
  for (const kind of ['tombstone', ...sessionKinds] as const) {
    const key = await database.findLastKey(createShardRange(kind, shard))
    if (key !== undefined) highest = Math.max(highest, readKeyGeneration(key))
  }
  return highest + 1
}

/** Returns the generation in the record; none if the record is damaged, because the keys are sufficient then. */
function readGenerationOrNone(key: Buffer, value: Buffer): Generation {
  try {
    return readGeneration(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return noGeneration
    throw error
  }
}
