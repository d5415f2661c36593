// Turns the changes of one batch into operations on the database.

import { newestVersion, writeChecksum } from '../encoding/checked-value.ts'
import type { StoredChange, StoredRecord } from '../../records/index.ts'
import type { OperationList } from './operation-list.ts'
import {
  encodeLastGenerationKey,
  isSessionKind,
  writeKey,
  writeKeyOfRecord,
  writeSessionPrefix,
  writeTextKey,
} from '../encoding/record-keys.ts'
import { writeValue } from '../encoding/record-values.ts'
import type { SessionGenerations } from './session-generations.ts'
import type { Generation } from '../encoding/record-keys.ts'

/**
 * Appends the operations of one change. The generations of its sessions are known. Returns the generation that it
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
      if (generation === undefined) return undefined // Without a generation the session has no records.
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

/** Appends the record with the generation of a session. */
export function encodeGeneration(operations: OperationList, clientId: string, generation: Generation): void {
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endKey()
  operations.writer.byte(newestVersion)
  operations.writer.uint48(generation)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends the tombstone of an ended generation, whose records must be deleted. */
export function encodeTombstone(operations: OperationList, generation: Generation): void {
  operations.begin()
  writeSessionPrefix(operations.writer, 'tombstone', generation)
  operations.endKey()
  operations.writer.byte(newestVersion)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends the last generation that a shard used. It uses no lower one again, even if no record of it is left. */
export function encodeLastGeneration(operations: OperationList, shard: number, generation: Generation): void {
  operations.begin()
  operations.writer.rawBytes(encodeLastGenerationKey(shard))
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
 * Records with the generation as key are not moved. If `to` has a generation, this batch was written before and is
 * committed again: earlier puts of it are in that generation, and the one that these puts have just started is unused.
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
