// Turns the changes of one batch into operations on the database.

import type { StoredChange, StoredRecord } from '../records/index.ts'
import type { OperationList } from './operation-list.ts'
import { begunKey, isSessionKind, writeKey, writeKeyOfRecord, writeSessionPrefix, writeTextKey } from './record-keys.ts'
import { newestVersion, writeChecksum, writeValue } from './record-values.ts'
import type { SessionLives } from './session-generations.ts'
import type { Life } from './record-keys.ts'

/**
 * Appends what one change does. The lives of all sessions that it names have been learned. Returns the life that it
 * ended, if any.
 */
export function encodeChange(operations: OperationList, change: StoredChange, lives: SessionLives): Life | undefined {
  switch (change.change) {
    case 'put':
      return encodePut(operations, change.record, lives)
    case 'delete': {
      const life = isSessionKind(change.key.kind) && 'clientId' in change.key ? lives.find(change.key.clientId) : 0
      if (life === undefined) return undefined // A session without a life has no records.
      operations.begin()
      writeKey(operations.writer, change.key, life)
      operations.endDelete()
      return undefined
    }
    case 'delete-session':
      return encodeDeleteSession(operations, change.clientId, lives)
    case 'rename-session':
      return encodeRenameSession(operations, change, lives)
    default:
      return change satisfies never
  }
}

/** Appends the record that says which life a session is in. */
export function encodeLife(operations: OperationList, clientId: string, life: Life): void {
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endKey()
  operations.writer.byte(newestVersion)
  operations.writer.uint48(life)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends that a life has ended and what is left of it waits to be swept. */
export function encodeGrave(operations: OperationList, life: Life): void {
  operations.begin()
  writeSessionPrefix(operations.writer, 'grave', life)
  operations.endKey()
  operations.writer.byte(newestVersion)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

/** Appends which life a shard has given out last: none up to it is given out again, even if nothing is left of it. */
export function encodeBegun(operations: OperationList, shard: number, life: Life): void {
  operations.begin()
  operations.writer.bytesOf(begunKey(shard))
  operations.endKey()
  operations.writer.byte(newestVersion)
  operations.writer.uint48(life)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

function encodePut(operations: OperationList, record: StoredRecord, lives: SessionLives): undefined {
  let life = 0
  if (isSessionKind(record.kind) && 'clientId' in record) {
    const found = lives.find(record.clientId)
    life = found ?? lives.begin(record.clientId)
    if (found === undefined) encodeLife(operations, record.clientId, life)
  }
  operations.begin()
  writeKeyOfRecord(operations.writer, record, life)
  operations.endKey()
  writeValue(operations.writer, record)
  writeChecksum(operations.writer, operations.keyStart)
  operations.endValue()
}

function encodeDeleteSession(operations: OperationList, clientId: string, lives: SessionLives): Life | undefined {
  const life = lives.find(clientId)
  if (life === undefined) return undefined
  lives.end(clientId)
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endDelete()
  encodeGrave(operations, life)
  return life
}

/**
 * What is keyed by the life stays where it is. Where `to` has a life the batch is there and is committed once more: what it puts
 * before this is in that life, and the one that these puts have begun now is nobody's.
 */
function encodeRenameSession(
  operations: OperationList,
  { clientId, to }: { readonly clientId: string; readonly to: string },
  lives: SessionLives,
): Life | undefined {
  if (lives.find(to) !== undefined) return encodeDeleteSession(operations, clientId, lives)
  const life = lives.find(clientId)
  if (life === undefined) return undefined
  lives.rename(clientId, to, life)
  operations.begin()
  writeTextKey(operations.writer, 'life', clientId)
  operations.endDelete()
  encodeLife(operations, to, life)
  return undefined
}
