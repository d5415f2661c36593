// A batch as parameters of statements. The server refuses two puts of a key in one statement, and a delete does not see a put beside
// it. So the last operation on each key counts, and puts and deletes are disjoint.
//
// A message to the server has less than 1 GiB, and the server copies it several times. So a large batch has several parts.

import type { OperationList } from '../database/operation-list.ts'
import { BinaryArray, encodeByteArrays } from './binary-arrays.ts'

/** Parameters of one statement, arrays in binary form. Undefined: none. */
export interface BatchPart {
  readonly deletedKeys: Buffer | undefined
  readonly keys: Buffer | undefined
  readonly values: Buffer | undefined
}

export interface EncodedBatch {
  /** At least one. */
  readonly parts: readonly BatchPart[]
  readonly puts: number
  readonly deletes: number
  readonly bytes: number
}

/** A part has at most this size, unless it has only one value. */
export const maxPartBytes = 16 * 1_024 * 1_024

interface Put {
  readonly key: Buffer
  readonly value: Buffer
}

/** Copies the operations. */
export function encodeOperations(operations: OperationList): EncodedBatch {
  const puts = new Map<string, Put>()
  const deletedKeys = new Map<string, Buffer>()
  operations.replay(
    (key, value) => {
      const name = key.toString('latin1')
      deletedKeys.delete(name)
      // A key that is put again moves to the end, so memory of all values is adjacent in their order.
      puts.delete(name)
      puts.set(name, { key, value })
    },
    (key) => {
      const name = key.toString('latin1')
      puts.delete(name)
      deletedKeys.set(name, key)
    },
  )
  const parts = divide([...puts.values()], [...deletedKeys.values()])
  const bytes = parts.reduce((sum, part) => sum + countPartBytes(part), 0)
  return { parts, puts: puts.size, deletes: deletedKeys.size, bytes }
}

function divide(puts: readonly Put[], deletedKeys: readonly Buffer[]): BatchPart[] {
  const keyGroups = groupByBytes(deletedKeys, (key) => key.length)
  const putGroups = groupByBytes(puts, ({ key, value }) => key.length + value.length)
  const parts: BatchPart[] = []
  // Most batches have one group of each, which are one statement.
  for (let index = 0; index < Math.max(keyGroups.length, putGroups.length, 1); index++) {
    const keys = keyGroups[index]
    const group = putGroups[index]
    parts.push({
      deletedKeys: keys === undefined ? undefined : encodeByteArrays(keys),
      ...(group === undefined ? { keys: undefined, values: undefined } : encodePuts(group)),
    })
  }
  return parts
}

function groupByBytes<Item>(items: readonly Item[], countBytes: (item: Item) => number): Item[][] {
  const groups: Item[][] = []
  let group: Item[] = []
  let bytes = 0
  for (const item of items) {
    const added = countBytes(item)
    if (group.length === 0 || bytes + added > maxPartBytes) {
      group = []
      groups.push(group)
      bytes = 0
    }
    group.push(item)
    bytes += added
  }
  return groups
}

function encodePuts(puts: readonly Put[]): { readonly keys: Buffer; readonly values: Buffer } {
  const valueBytes = puts.reduce((sum, { value }) => sum + value.length, 0)
  const values = new BinaryArray(puts.length, valueBytes)
  for (const { value } of puts) values.add(value)
  return { keys: encodeByteArrays(puts.map(({ key }) => key)), values: values.end() }
}

function countPartBytes({ deletedKeys, keys, values }: BatchPart): number {
  return (deletedKeys?.length ?? 0) + (keys?.length ?? 0) + (values?.length ?? 0)
}
