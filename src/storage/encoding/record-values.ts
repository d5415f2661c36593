// The values of the records in the database: their fields, between version and checksum (checked-value.ts).
//
// Each kind has its own version. Readers of every released version remain in `readers` forever; only the newest is written.

import type { RecordKind, StoredRecord } from '../../records/index.ts'
import {
  readBan1,
  readCredential1,
  readGatewayUser1,
  readPsk1,
  readRule1,
  readScram1,
  writeAccessValue,
} from './access-record-bytes.ts'
import { type ByteReader, DamagedRecord, RecordTooNew } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
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
import { newestVersion, openValue } from './checked-value.ts'
import {
  createForwardedReader,
  createIncomingReader,
  type MessageReader,
  createQueuedReader,
  readAssignments,
  readHandoff1,
  readIncoming3,
  readNothing,
  readOutgoing1,
  readPayloadIdOfQueued,
  type RecordReader,
  writeAssignments,
  writeQueued,
} from './delivery-record-bytes.ts'
import { readMessage, readMessage2, writeMessage } from './message-bytes.ts'
import { readOptionalTime, writeOptionalTime } from './optional-time.ts'
import { type Generation, readKeyKind, readKeyPayloadId } from './record-keys.ts'
import { readRemaining, writeRemaining } from './remaining-receivers-bytes.ts'
import {
  readSession1,
  readSession2,
  readSession3,
  readSubscription1,
  writeSession,
  writeSubscription,
} from './session-record-bytes.ts'

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
  const kind = readKeyKind(key)
  if (kind === undefined) throw new DamagedRecord(`there is no kind ${key[0]}`)
  const { version, reader } = openValue(key, value)
  const read = readers[kind][version - 1]
  if (read === undefined) throw new RecordTooNew(`version ${version} of a ${kind} record is newer than this Godwit`)
  const record = read(key, reader, clientId)
  reader.expectEnd()
  return record
}

/** Reads only the ID of the shared payload of a queued record. Throws DamagedRecord, RecordTooNew. */
export function readPayloadId(key: Buffer, value: Buffer): number | undefined {
  const { version, reader } = openValue(key, value)
  if (version > readers.queued.length)
    throw new RecordTooNew(`version ${version} of a queued record is newer than this Godwit`)
  return readPayloadIdOfQueued(reader)
}

/** Returns the generation in a generation record. Throws DamagedRecord, RecordTooNew. */
export function readGeneration(key: Buffer, value: Buffer): Generation {
  const { version, reader } = openValue(key, value)
  if (version > newestVersion) throw new RecordTooNew(`version ${version} of a life record is newer than this Godwit`)
  return reader.uint48()
}

/** Version 2 added the publisher's user name with a flag that version 1 never set, so one reader reads both. */
const messageReaders = [readMessage2, readMessage2, readMessage] as const

/** Readers of each kind, version 1 first. A new version is added at the end; none is ever removed. */
const readers: { readonly [kind in RecordKind]: readonly RecordReader[] } = {
  session: [readSession1, readSession2, readSession3],
  subscription: [readSubscription1],
  queued: [...messageReaders, readMessage].map(createQueuedReader),
  outgoing: [readOutgoing1],
  incoming: [createIncomingReader(readNothing), createIncomingReader(readAssignments), readIncoming3],
  will: [...messageReaders.map(createWillReader), readWill4],
  payload: messageReaders.map(createPayloadReader),
  retained: messageReaders.map(createRetainedReader),
  fact: [(key, reader) => ({ kind: 'fact', name: key.toString('utf8', 1), value: reader.text() })],
  forwarded: [createForwardedReader(readNothing), createForwardedReader(readAssignments)],
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

function createWillReader(readOne: MessageReader): RecordReader {
  return (_key, reader, clientId) => {
    const delaySeconds = reader.varint()
    const dueAtMs = readOptionalTime(reader)
    return { kind: 'will', clientId, message: readOne(reader), delaySeconds, dueAtMs }
  }
}

/** Version 4 added what remains after a change of the number of shards. */
function readWill4(key: Buffer, reader: ByteReader, clientId: string): StoredRecord {
  const record = createWillReader(readMessage)(key, reader, clientId)
  return { ...record, ...readRemaining(reader) }
}

function createPayloadReader(readOne: MessageReader): RecordReader {
  return (key, reader) => ({ kind: 'payload', id: readKeyPayloadId(key), message: readOne(reader) })
}

function createRetainedReader(readOne: MessageReader): RecordReader {
  return (key, reader) => {
    const message = readOne(reader)
    if (message.topic !== key.toString('utf8', 1)) throw new DamagedRecord('the topic is not that of the key')
    return { kind: 'retained', message }
  }
}
