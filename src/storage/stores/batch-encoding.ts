// Turns a batch of changes into operations on an open database.

import type { StoredChange } from '../../records/index.ts'
import { encodeChange, encodeLastGeneration } from '../database/change-encoder.ts'
import type { OperationList } from '../database/operation-list.ts'
import { encodeGenerationKey, type Generation } from '../encoding/record-keys.ts'
import { readGeneration } from '../encoding/record-values.ts'
import type { OpenDatabase } from './database-store.ts'

type Changes = readonly (StoredChange | undefined)[]

/** Reads the generations of the sessions of a batch that are not cached. Called before `encodeBatch`. */
export async function loadGenerations(
  { database, generations, badRecords }: OpenDatabase,
  changes: Changes,
): Promise<void> {
  const clientIds = generations.findUnknown(changes)
  if (clientIds.length === 0) return
  const keys = clientIds.map(encodeGenerationKey)
  const values = await database.getMany(keys)
  for (const [index, key] of keys.entries()) {
    const value = values[index]
    const generation =
      value === undefined ? undefined : badRecords.tryRead([key, value], () => readGeneration(key, value))
    generations.recordGeneration(clientIds[index] ?? '', generation)
  }
}

/** Appends the changes as operations. Returns the generations that they end. */
export function encodeBatch(
  operations: OperationList,
  { generations, sharedPayloadsUpTo }: OpenDatabase,
  shard: number,
  changes: Changes,
): Generation[] {
  const ended: Generation[] = []
  const lastGeneration = generations.last
  for (const change of changes) {
    if (change === undefined || isSharedPayload(change, sharedPayloadsUpTo)) continue
    const generation = encodeChange(operations, change, generations)
    if (generation !== undefined) ended.push(generation)
  }
  if (generations.last !== lastGeneration) encodeLastGeneration(operations, shard, generations.last)
  return ended
}

/** The shard does not know whether other shards need a payload from before the last redistribution. */
function isSharedPayload(change: StoredChange, sharedPayloadsUpTo: number): boolean {
  return change.change === 'delete' && change.key.kind === 'payload' && change.key.id <= sharedPayloadsUpTo
}
