// Turns the changes of one batch into operations on the database.

import type { StoredChange, StoredRecord } from '../records/index.ts'
import type { OperationList } from './operation-list.ts'
import {
  lastGenerationKey,
  isSessionKind,
  writeKey,
  writeKeyOfRecord,
  writeSessionPrefix,
  writeTextKey,
} from './record-keys.ts'
import { newestVersion, writeChecksum, writeValue } from './record-values.ts'
import type { SessionGenerations } from './session-generations.ts'
import type { Generation } from './record-keys.ts'

/**
 * Appends what one change does. The lives of all sessions that it names have been learned. Returns the life that it
 * ended, if any.
 */
export function encodeChange(
  operations: OperationList,
  change: StoredChange,
  generations: SessionGenerations,
): Generation | undefined {
  switch (change.change) {
    case 'put':
      return encodePut(operations, change.record, generations)
    case 'delete': {
      const generation =
        isSessionKind(change.key.kind) && 'clientId' in change.key ? generations.find(change.key.clientId) : 0
      if (generation === undefined) return undefined // A session without a life has no records.
      operations.begin()
      writeKey(operations.writer, change.key, generation)
      operations.endDelete()
      return undefined
    }
    case 'delete-session':
      return encodeDeleteSession(operations, change.clientId, generations)
    case 'rename-session':
      return encodeRenameSession(operations, change, generations)
    default:
      return change satisfies never
  }
}

/** Appends the record that says which life a session is in. */
export function encodeGeneration(operations: OperationList, clientId: string, generation: Generation): void {
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endKey()
  operations.writer.byte(newestVersion)
  operations.writer.uint48(generation)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends that a life has ended and what is left of it waits to be swept. */
export function encodeTombstone(operations: OperationList, generation: Generation): void {
  operations.begin()
  writeSessionPrefix(operations.writer, 'grave', generation)
  operations.endKey()
  operations.writer.byte(newestVersion)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends which life a shard has given out last: none up to it is given out again, even if nothing is left of it. */
export function encodeLastGeneration(operations: OperationList, shard: number, generation: Generation): void {
  operations.begin()
  operations.writer.bytesOf(lastGenerationKey(shard))
  operations.endKey()
  operations.writer.byte(newestVersion)
  operations.writer.uint48(generation)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

function encodePut(operations: OperationList, record: StoredRecord, generations: SessionGenerations): undefined {
  let generation = 0
  if (isSessionKind(record.kind) && 'clientId' in record) {
    const found = generations.find(record.clientId)
    generation = found ?? generations.startGeneration(record.clientId)
    if (found === undefined) encodeGeneration(operations, record.clientId, generation)
  }
  operations.begin()
  writeKeyOfRecord(operations.writer, record, generation)
  operations.endKey()
  writeValue(operations.writer, record)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

function encodeDeleteSession(
  operations: OperationList,
  clientId: string,
  generations: SessionGenerations,
): Generation | undefined {
  const generation = generations.find(clientId)
  if (generation === undefined) return undefined
  generations.endGeneration(clientId)
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endDelete()
  encodeTombstone(operations, generation)
  return generation
}

/**
 * What is keyed by the life stays where it is. Where `to` has a life the batch is there and is committed once more: what it puts
 * before this is in that life, and the one that these puts have begun now is nobody's.
 */
function encodeRenameSession(
  operations: OperationList,
  { clientId, to }: { readonly clientId: string; readonly to: string },
  generations: SessionGenerations,
): Generation | undefined {
  if (generations.find(to) !== undefined) return encodeDeleteSession(operations, clientId, generations)
  const generation = generations.find(clientId)
  if (generation === undefined) return undefined
  generations.rename(clientId, to, generation)
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endDelete()
  encodeGeneration(operations, to, generation)
  return undefined
}
