// The values of records about deliveries: queued messages, QoS 2 exchanges, and messages for other shards.

import type { QueuedRecord, ShardAssignment, StoredMessage, StoredRecord } from '../../records/index.ts'
import type { ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
import { toQoS, readMessage, writeMessage } from './message-bytes.ts'
import { readForwardedKey, readHandoffKey, readKeyPacketId, readKeySequence } from './record-keys.ts'
import { readRemaining } from './remaining-receivers-bytes.ts'

/** Returns the record of key and value. `clientId` is that of the key's session, '' for kinds without one. */
export type RecordReader = (key: Buffer, reader: ByteReader, clientId: string) => StoredRecord
/** Reads a message of a version of its kind. */
export type MessageReader = (reader: ByteReader) => StoredMessage

const queuedFlags = { retain: 0x04, identifiers: 0x08, sharesPayload: 0x10, sharedFilter: 0x20 } as const

export function writeQueued(writer: ByteWriter, record: QueuedRecord): void {
  const { message, subscriptionIdentifiers, sharedFilter } = record
  let flags: number = record.qos
  if (record.retain) flags |= queuedFlags.retain
  if (subscriptionIdentifiers !== undefined) flags |= queuedFlags.identifiers
  if (typeof message === 'number') flags |= queuedFlags.sharesPayload
  if (sharedFilter !== undefined) flags |= queuedFlags.sharedFilter
  writer.byte(flags)
  if (subscriptionIdentifiers !== undefined) {
    writer.varint(subscriptionIdentifiers.length)
    for (const identifier of subscriptionIdentifiers) writer.varint(identifier)
  }
  if (typeof message === 'number') writer.varint(message)
  else writeMessage(writer, message)
  if (sharedFilter !== undefined) writer.text(sharedFilter)
}

/** Before version 4 no flag says that a shared filter follows. */
export function createQueuedReader(readOne: MessageReader): RecordReader {
  return (key, reader, clientId) => {
    const flags = reader.byte()
    const identifiers = (flags & queuedFlags.identifiers) === 0 ? undefined : readIdentifiers(reader)
    const message = (flags & queuedFlags.sharesPayload) === 0 ? readOne(reader) : reader.varint()
    return {
      kind: 'queued',
      clientId,
      sequence: readKeySequence(key),
      qos: toQoS(flags & 0x03),
      retain: (flags & queuedFlags.retain) !== 0,
      subscriptionIdentifiers: identifiers,
      sharedFilter: (flags & queuedFlags.sharedFilter) === 0 ? undefined : reader.text(),
      message,
    }
  }
}

function readIdentifiers(reader: ByteReader): number[] {
  const identifiers: number[] = []
  for (let left = reader.varint(); left > 0; left--) identifiers.push(reader.varint())
  return identifiers
}

/** Reads only the ID of the shared payload, at the start of the fields of a queued record. */
export function readPayloadIdOfQueued(reader: ByteReader): number | undefined {
  const flags = reader.byte()
  if ((flags & queuedFlags.sharesPayload) === 0) return undefined
  if ((flags & queuedFlags.identifiers) !== 0) readIdentifiers(reader)
  return reader.varint()
}

export function readOutgoing1(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const sequence = reader.varint()
  const stage = reader.byte() === 0 ? 'sent' : 'received'
  return { kind: 'outgoing', clientId, packetId: readKeyPacketId(key), sequence, stage }
}

export function readHandoff1(key: Buffer, reader: ByteReader): StoredRecord {
  const to = reader.byte()
  const filter = reader.text()
  return { kind: 'handoff', ...readHandoffKey(key), to, filter, message: readMessage(reader) }
}

type AssignmentReader = (reader: ByteReader) => readonly ShardAssignment[] | undefined

/** Version 1 has no fields. */
export function readNothing(): undefined {
  return undefined
}

export function createIncomingReader(read: AssignmentReader): RecordReader {
  return (key, reader, clientId) => ({
    kind: 'incoming',
    clientId,
    packetId: readKeyPacketId(key),
    assignments: read(reader),
  })
}

/** Version 3 added what remains after a change of the number of shards. */
export function readIncoming3(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const record = createIncomingReader(readAssignments)(key, reader, clientId)
  const isPartial = reader.byte() !== 0
  return { ...record, ...(isPartial && { isPartial }), ...readRemaining(reader) }
}

export function createForwardedReader(read: AssignmentReader): RecordReader {
  return (key, reader) => ({ kind: 'forwarded', ...readForwardedKey(key), assignments: read(reader) })
}

export function writeAssignments(writer: ByteWriter, assignments: readonly ShardAssignment[]): void {
  writer.varint(assignments.length)
  for (const { filter, to } of assignments) {
    writer.text(filter)
    writer.byte(to)
  }
}

export function readAssignments(reader: ByteReader): ShardAssignment[] {
  const assignments: ShardAssignment[] = []
  for (let count = reader.varint(); count > 0; count--) assignments.push({ filter: reader.text(), to: reader.byte() })
  return assignments
}
