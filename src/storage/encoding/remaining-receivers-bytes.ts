// Bytes of `RemainingReceivers`. A list that may be missing starts with its length and 1; 0: there is no list.

import type { FormerShard, RemainingReceivers } from '../../records/index.ts'
import type { ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'

export function writeRemaining(writer: ByteWriter, remaining: RemainingReceivers | undefined): void {
  writer.byte(remaining === undefined ? 0 : 1)
  if (remaining === undefined) return
  writeList(writer, remaining.subscribersOf, writeShard)
  writeList(writer, remaining.doneOn, writeShard)
  writeList(writer, remaining.groups, writeText)
  writeList(writer, remaining.doneGroups, writeText)
  writer.byte(remaining.isDoneHere ? 1 : 0)
}

/** Returns an object with the field `remaining`, or without fields. */
export function readRemaining(reader: ByteReader): { remaining?: RemainingReceivers } {
  if (reader.byte() === 0) return {}
  const subscribersOf = readList(reader, readShard)
  const doneOn = readList(reader, readShard) ?? []
  const groups = readList(reader, readText)
  const doneGroups = readList(reader, readText) ?? []
  const isDoneHere = reader.byte() !== 0
  return { remaining: { subscribersOf, doneOn, groups, doneGroups, isDoneHere } }
}

type WriteItem<Item> = (writer: ByteWriter, item: Item) => void

function writeList<Item>(writer: ByteWriter, list: readonly Item[] | undefined, write: WriteItem<Item>): void {
  writer.varint(list === undefined ? 0 : list.length + 1)
  for (const item of list ?? []) write(writer, item)
}

function readList<Item>(reader: ByteReader, read: (reader: ByteReader) => Item): Item[] | undefined {
  const length = reader.varint()
  if (length === 0) return undefined
  const list: Item[] = []
  for (let left = length - 1; left > 0; left--) list.push(read(reader))
  return list
}

function writeShard(writer: ByteWriter, { shard, of }: FormerShard): void {
  writer.varint(shard)
  writer.varint(of)
}

function readShard(reader: ByteReader): FormerShard {
  return { shard: reader.varint(), of: reader.varint() }
}

function writeText(writer: ByteWriter, text: string): void {
  writer.text(text)
}

function readText(reader: ByteReader): string {
  return reader.text()
}
