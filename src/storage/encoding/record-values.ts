// The values of the database:
//
//   version u8 | fields of the kind | CRC-32 of key, version and fields
//
// Each kind has its own version. Readers of every released version remain in `readers` forever; only the newest is written. The
// checksum includes the key: a value under a wrong key is damaged, too.

import { crc32 } from 'node:zlib'
import type { ProtocolVersion, RetainHandling } from '../../protocol/index.ts'
import type {
  ShardAssignment,
  QueuedRecord,
  RecordKind,
  SessionRecord,
  StoredMessage,
  StoredRecord,
  SubscriptionRecord,
} from '../../records/index.ts'
import {
  readBan1,
  readCredential1,
  readGatewayUser1,
  readPsk1,
  readRule1,
  readScram1,
  writeAccessValue,
} from './access-record-bytes.ts'
import { ByteReader, DamagedRecord, RecordTooNew } from './byte-reader.ts'
import type { Generation } from './record-keys.ts'
import type { ByteWriter } from './byte-writer.ts'
import {
  readAccount1,
  readAccount2,
  readAccount3,
  readApiKey1,
  readApiKey2,
  readNamespace1,
  readNamespace2,
  writeAdminValue,
} from './admin-record-bytes.ts'
import { asQoS, readMessage, readMessage2, writeMessage } from './message-bytes.ts'
import { readRemaining, writeRemaining } from './remaining-receivers-bytes.ts'
import {
  payloadIdOfKey,
  forwardedOfKey,
  kindOfKey,
  handoffOfKey,
  packetIdOfKey,
  sequenceOfKey,
  sessionPrefixBytes,
} from './record-keys.ts'

/**
 * Version of internal entries: generations and batch numbers. Records are written in the newest version of `readers`.
 */
export const newestVersion = 1

const checksumBytes = 4

/** Completes a value whose key starts at `keyStart`: appends the checksum. */
export function writeChecksum(writer: ByteWriter, keyStart: number): void {
  writer.uint32(crc32(writer.bytes.subarray(keyStart, writer.length)))
}

/** Throws DamagedRecord if the checksum at the end of the value does not match key and value. */
export function verifyChecksum(key: Buffer, value: Buffer): void {
  const bodyBytes = value.length - checksumBytes
  if (bodyBytes < 1) throw new DamagedRecord('the value is too short')
  const found = crc32(value.subarray(0, bodyBytes), crc32(key))
  if (found !== value.readUInt32BE(bodyBytes)) throw new DamagedRecord('the checksum is wrong')
}

/** Returns a reader of the fields, after checking version and checksum. Throws DamagedRecord, RecordTooNew. */
export function openValue(key: Buffer, value: Buffer): { version: number; reader: ByteReader } {
  verifyChecksum(key, value)
  const version = value[0] ?? 0
  return { version, reader: new ByteReader(value, 1, value.length - checksumBytes) }
}

/** Appends the value of a record without its checksum. */
export function writeValue(writer: ByteWriter, record: StoredRecord): void {
  writer.byte(readers[record.kind].length)
  switch (record.kind) {
    case 'queued':
      return writeQueued(writer, record)
    case 'session':
      return writeSession(writer, record)
    case 'subscription':
      return writeSubscription(writer, record)
    case 'payload':
    case 'retained':
      return writeMessage(writer, record.message)
    case 'outgoing':
      writer.varint(record.sequence)
      return writer.byte(record.stage === 'sent' ? 0 : 1)
    case 'incoming':
      writeAssignments(writer, record.assignments ?? [])
      writer.byte(record.isPartial === true ? 1 : 0)
      return writeRemaining(writer, record.remaining)
    case 'forwarded':
      return writeAssignments(writer, record.assignments ?? [])
    case 'handoff':
      writer.byte(record.to)
      writer.text(record.filter)
      return writeMessage(writer, record.message)
    case 'will':
      writer.varint(record.delaySeconds)
      writeOptionalTime(writer, record.dueAtMs)
      writeMessage(writer, record.message)
      return writeRemaining(writer, record.remaining)
    case 'fact':
      return writer.text(record.value)
    case 'credential':
    case 'gateway-user':
    case 'scram':
    case 'psk':
    case 'rule':
    case 'ban':
      return writeAccessValue(writer, record)
    case 'account':
    case 'api-key':
    case 'namespace':
      return writeAdminValue(writer, record)
    default:
      record satisfies never
  }
}

/**
 * Returns the record of key and value. `clientId` is that of the key's session, '' for kinds without one. Throws
 * DamagedRecord, RecordTooNew.
 */
export function readRecord(key: Buffer, value: Buffer, clientId: string): StoredRecord {
  const kind = kindOfKey(key)
  if (kind === undefined) throw new DamagedRecord(`there is no kind ${key[0]}`)
  const { version, reader } = openValue(key, value)
  const read = readers[kind][version - 1]
  if (read === undefined) throw new RecordTooNew(`version ${version} of a ${kind} record is newer than this Godwit`)
  const record = read(key, reader, clientId)
  reader.finish()
  return record
}

/** Reads only the ID of the shared payload of a queued record. Throws DamagedRecord, RecordTooNew. */
export function readPayloadId(key: Buffer, value: Buffer): number | undefined {
  const { version, reader } = openValue(key, value)
  if (version > readers.queued.length)
    throw new RecordTooNew(`version ${version} of a queued record is newer than this Godwit`)
  const flags = reader.byte()
  if ((flags & queuedFlags.sharesPayload) === 0) return undefined
  if ((flags & queuedFlags.identifiers) !== 0) readIdentifiers(reader)
  return reader.varint()
}

/** Returns the generation in a generation record. Throws DamagedRecord, RecordTooNew. */
export function readGeneration(key: Buffer, value: Buffer): Generation {
  const { version, reader } = openValue(key, value)
  if (version > newestVersion) throw new RecordTooNew(`version ${version} of a life record is newer than this Godwit`)
  return reader.uint48()
}

type RecordReader = (key: Buffer, reader: ByteReader, clientId: string) => StoredRecord
type MessageReader = (reader: ByteReader) => StoredMessage

/** Version 2 added the publisher's user name with a flag that version 1 never set, so one reader reads both. */
const messageReaders = [readMessage2, readMessage2, readMessage] as const

/** Readers of each kind, version 1 first. A new version is added at the end; none is ever removed. */
const readers: { readonly [kind in RecordKind]: readonly RecordReader[] } = {
  session: [readSession1, readSession2, readSession3],
  subscription: [readSubscription1],
  queued: [...messageReaders, readMessage].map(queuedReader),
  outgoing: [readOutgoing1],
  incoming: [incomingReader(readNothing), incomingReader(readAssignments), readIncoming3],
  will: [...messageReaders.map(willReader), readWill4],
  payload: messageReaders.map(payloadReader),
  retained: messageReaders.map(retainedReader),
  fact: [(key, reader) => ({ kind: 'fact', name: key.toString('utf8', 1), value: reader.text() })],
  forwarded: [forwardedReader(readNothing), forwardedReader(readAssignments)],
  handoff: [readHandoff1],
  credential: [readCredential1],
  'gateway-user': [readGatewayUser1],
  scram: [readScram1],
  psk: [readPsk1],
  rule: [readRule1],
  ban: [readBan1],
  account: [readAccount1, readAccount2, readAccount3],
  'api-key': [readApiKey1, readApiKey2],
  namespace: [readNamespace1, readNamespace2],
}

type AssignmentReader = (reader: ByteReader) => readonly ShardAssignment[] | undefined

/** Version 1 has no fields. */
function readNothing(): undefined {
  return undefined
}

function incomingReader(read: AssignmentReader): RecordReader {
  return (key, reader, clientId) => ({
    kind: 'incoming',
    clientId,
    packetId: packetIdOfKey(key),
    assignments: read(reader),
  })
}

/** Version 3 added what remains after a change of the number of shards. */
function readIncoming3(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const record = incomingReader(readAssignments)(key, reader, clientId)
  const isPartial = reader.byte() !== 0
  return { ...record, ...(isPartial && { isPartial }), ...readRemaining(reader) }
}

function forwardedReader(read: AssignmentReader): RecordReader {
  return (key, reader) => ({ kind: 'forwarded', ...forwardedOfKey(key), assignments: read(reader) })
}

function writeAssignments(writer: ByteWriter, assignments: readonly ShardAssignment[]): void {
  writer.varint(assignments.length)
  for (const { filter, to } of assignments) {
    writer.text(filter)
    writer.byte(to)
  }
}

function readAssignments(reader: ByteReader): ShardAssignment[] {
  const assignments: ShardAssignment[] = []
  for (let count = reader.varint(); count > 0; count--) assignments.push({ filter: reader.text(), to: reader.byte() })
  return assignments
}

const queuedFlags = { retain: 0x04, identifiers: 0x08, sharesPayload: 0x10, sharedFilter: 0x20 } as const

function writeQueued(writer: ByteWriter, record: QueuedRecord): void {
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
function queuedReader(readOne: MessageReader): RecordReader {
  return (key, reader, clientId) => {
    const flags = reader.byte()
    const identifiers = (flags & queuedFlags.identifiers) === 0 ? undefined : readIdentifiers(reader)
    const message = (flags & queuedFlags.sharesPayload) === 0 ? readOne(reader) : reader.varint()
    return {
      kind: 'queued',
      clientId,
      sequence: sequenceOfKey(key),
      qos: asQoS(flags & 0x03),
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

/** The value contains the client ID too, so that a lost generation record can be created again. */
function writeSession(writer: ByteWriter, record: SessionRecord): void {
  writer.text(record.clientId)
  writer.byte(record.version)
  writer.byte(record.username === undefined ? 0 : 1)
  if (record.username !== undefined) writer.text(record.username)
  writer.float(record.createdAtMs)
  writer.varint(record.expirySeconds)
  writeOptionalTime(writer, record.disconnectedAtMs)
  writer.varint(record.queueHead)
  writer.varint(record.sentBelow)
  writer.varint(record.receiveMaximum)
  writer.byte(record.isSuperuser ? 1 : 0)
  writer.text(record.mountpoint)
  writer.text(record.principal ?? '')
}

function readSession1(_key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  return { ...readSessionStart(reader, clientId), isSuperuser: false, mountpoint: '', principal: undefined }
}

function readSession2(_key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  const start = readSessionStart(reader, clientId)
  return { ...start, isSuperuser: reader.byte() !== 0, mountpoint: reader.text(), principal: undefined }
}

function readSession3(key: Buffer, reader: ByteReader, clientId: string): SessionRecord {
  const earlier = readSession2(key, reader, clientId)
  const principal = reader.text()
  return { ...earlier, principal: principal === '' ? undefined : principal }
}

function readSessionStart(
  reader: ByteReader,
  clientId: string,
): Omit<SessionRecord, 'isSuperuser' | 'mountpoint' | 'principal'> {
  const written = reader.text()
  return {
    kind: 'session',
    // One string for all records of a session: client IDs may be long.
    clientId: written === clientId ? clientId : written,
    version: asVersion(reader.byte()),
    username: reader.byte() === 0 ? undefined : reader.text(),
    createdAtMs: reader.float(),
    expirySeconds: reader.varint(),
    disconnectedAtMs: readOptionalTime(reader),
    queueHead: reader.varint(),
    sentBelow: reader.varint(),
    receiveMaximum: reader.varint(),
  }
}

function asVersion(value: number): ProtocolVersion {
  if (value !== 3 && value !== 4 && value !== 5) throw new DamagedRecord(`${value} is not a protocol version`)
  return value
}

const subscriptionFlags = { noLocal: 0x04, retainAsPublished: 0x08, identifier: 0x10 } as const

function writeSubscription(writer: ByteWriter, record: SubscriptionRecord): void {
  let flags: number = record.qos
  if (record.noLocal) flags |= subscriptionFlags.noLocal
  if (record.retainAsPublished) flags |= subscriptionFlags.retainAsPublished
  if (record.identifier !== undefined) flags |= subscriptionFlags.identifier
  writer.byte(flags)
  writer.byte(record.retainHandling)
  if (record.identifier !== undefined) writer.varint(record.identifier)
}

function readSubscription1(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const flags = reader.byte()
  return {
    kind: 'subscription',
    clientId,
    filter: key.toString('utf8', sessionPrefixBytes),
    qos: asQoS(flags & 0x03),
    noLocal: (flags & subscriptionFlags.noLocal) !== 0,
    retainAsPublished: (flags & subscriptionFlags.retainAsPublished) !== 0,
    retainHandling: asRetainHandling(reader.byte()),
    identifier: (flags & subscriptionFlags.identifier) === 0 ? undefined : reader.varint(),
  }
}

function asRetainHandling(value: number): RetainHandling {
  if (value !== 0 && value !== 1 && value !== 2) throw new DamagedRecord(`${value} is not a valid retain handling`)
  return value
}

function readOutgoing1(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const sequence = reader.varint()
  const stage = reader.byte() === 0 ? 'sent' : 'received'
  return { kind: 'outgoing', clientId, packetId: packetIdOfKey(key), sequence, stage }
}

function readHandoff1(key: Buffer, reader: ByteReader): StoredRecord {
  const to = reader.byte()
  const filter = reader.text()
  return { kind: 'handoff', ...handoffOfKey(key), to, filter, message: readMessage(reader) }
}

function willReader(readOne: MessageReader): RecordReader {
  return (_key, reader, clientId) => {
    const delaySeconds = reader.varint()
    const dueAtMs = readOptionalTime(reader)
    return { kind: 'will', clientId, message: readOne(reader), delaySeconds, dueAtMs }
  }
}

/** Version 4 added what remains after a change of the number of shards. */
function readWill4(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const record = willReader(readMessage)(key, reader, clientId)
  return { ...record, ...readRemaining(reader) }
}

function payloadReader(readOne: MessageReader): RecordReader {
  return (key, reader) => ({ kind: 'payload', id: payloadIdOfKey(key), message: readOne(reader) })
}

function retainedReader(readOne: MessageReader): RecordReader {
  return (key, reader) => {
    const message = readOne(reader)
    if (message.topic !== key.toString('utf8', 1)) throw new DamagedRecord('the topic is not that of the key')
    return { kind: 'retained', message }
  }
}

function writeOptionalTime(writer: ByteWriter, timeMs: number | undefined): void {
  writer.byte(timeMs === undefined ? 0 : 1)
  if (timeMs !== undefined) writer.float(timeMs)
}

function readOptionalTime(reader: ByteReader): number | undefined {
  return reader.byte() === 0 ? undefined : reader.float()
}
