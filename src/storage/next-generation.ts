// Where a shard goes on giving out lives after a start.

import { DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { LevelDatabase } from './level-database.ts'
import { begunKey, type Life, lifeOfKey, livesOfShard, noLife, rangeOfShard, sessionKinds } from './record-keys.ts'
import { readLife } from './record-values.ts'

/** A life that a shard has never given out and no record on disk is keyed by, nor any higher one of that shard. */
export async function firstFreeLife(database: LevelDatabase, shard: number): Promise<Life> {
  let highest = Math.max(noLife, livesOfShard(shard).first)
  const begun = await database.get(begunKey(shard))
  if (begun !== undefined) highest = Math.max(highest, lifeIn(begunKey(shard), begun))
  for (const kind of ['grave', ...sessionKinds] as const) {
    const key = await database.lastKey(rangeOfShard(kind, shard))
    if (key !== undefined) highest = Math.max(highest, lifeOfKey(key))
  }
  return highest + 1
}

/** The life that was noted as the last; none if the note is bad: then the keys have to do. */
function lifeIn(key: Buffer, value: Buffer): Life {
  try {
    return readLife(key, value)
  } catch (error) {
    if (error instanceof DamagedRecord || error instanceof RecordTooNew) return noLife
    throw error
  }
}
