// Where a shard goes on giving out lives after a start.

import { DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { LevelDatabase } from './level-database.ts'
import {
  lastGenerationKey,
  type Generation,
  generationOfKey,
  generationsOfShard,
  noGeneration,
  rangeOfShard,
  sessionKinds,
} from './record-keys.ts'
import { readGeneration } from './record-values.ts'

/** A life that a shard has never given out and no record on disk is keyed by, nor any higher one of that shard. */
export async function nextGeneration(database: LevelDatabase, shard: number): Promise<Generation> {
  let highest = Math.max(noGeneration, generationsOfShard(shard).first)
  const begun = await database.get(lastGenerationKey(shard))
  if (begun !== undefined) highest = Math.max(highest, generationIn(lastGenerationKey(shard), begun))
  for (const kind of ['grave', ...sessionKinds] as const) {
    const key = await database.lastKey(rangeOfShard(kind, shard))
    if (key !== undefined) highest = Math.max(highest, generationOfKey(key))
  }
  return highest + 1
}

/** The life that was noted as the last; none if the note is bad: then the keys have to do. */
function generationIn(key: Buffer, value: Buffer): Generation {
  try {
    return readGeneration(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return noGeneration
    throw error
  }
}
