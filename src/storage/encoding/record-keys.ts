// The keys of the database. One byte is the kind. Records of a session then have the *generation* of the session: a number that is
// used when the first record of a session is put, and never again. Its highest byte is the shard that chose it. Numbers are
// big-endian, so they sort.
//
//   journal       01  shard u8, slot u16             numbers of batches
//   life          02  client ID ...                  the current generation of a session
//   tombstone     03  generation u48                 an ended generation that is not deleted yet
//   begun         04  shard u8                       the last generation that was used
//   session       10  generation u48
//   subscription  11  generation u48, filter ...
//   queued        12  generation u48, sequence u64
//   outgoing      13  generation u48, packet id u16
//   incoming      14  generation u48, packet id u16
//   will          15  generation u48
//   payload       20  id u64                         a shared payload
//   retained      21  topic ...
//   fact          22  name ...
//   forwarded     23  shard u8, packet id u16, publisher ...
//   handoff       24  shard u8, name ...             a handoff
//   access        30 to 34: see access-record-bytes.ts
//   admin         38 to 3a: see admin-record-bytes.ts
//
// So deleting a session is one change, whatever its size: its generation record is replaced by a tombstone. Then the old records are
// unreachable, also for a new session with the same client ID, and are deleted in the background.

import type { RecordKey, RecordKind, StoredRecord } from '../../records/index.ts'
import type { SessionRecordKind } from '../store.ts'
import { accessKindBytes, accessKinds, writeAccessKey } from './access-record-bytes.ts'
import { adminKindBytes, adminKinds, writeAdminKey } from './admin-record-bytes.ts'
import { ByteReader, DamagedRecord } from './record-byte-reader.ts'
import { ByteWriter } from './record-byte-writer.ts'

/** Identifies a generation of a session. */
export type Generation = number

/** No generation. */
export const noGeneration: Generation = 0

/** The first byte of each key. */
export const kindBytes = {
  journal: 0x01,
  life: 0x02,
  tombstone: 0x03,
  begun: 0x04,
  session: 0x10,
  subscription: 0x11,
  queued: 0x12,
  outgoing: 0x13,
  incoming: 0x14,
  will: 0x15,
  payload: 0x20,
  retained: 0x21,
  fact: 0x22,
  forwarded: 0x23,
  handoff: 0x24,
  ...accessKindBytes,
  ...adminKindBytes,
} as const satisfies Record<RecordKind | 'journal' | 'life' | 'tombstone' | 'begun', number>

/** Kinds that are deleted with their session. */
export const sessionKinds: readonly SessionRecordKind[] = [
  'session',
  'subscription',
  'queued',
  'outgoing',
  'incoming',
  'will',
]

/** Kinds that the core stores. */
export const recordKinds: readonly RecordKind[] = [
  ...sessionKinds,
  'payload',
  'retained',
  'fact',
  'forwarded',
  'handoff',
  ...accessKinds,
  ...adminKinds,
]

const kindOfByte: readonly (RecordKind | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  recordKinds.find((kind) => kindBytes[kind] === byte),
)

const generationsPerShard = 2 ** 40

/** A shard number is one byte, in keys of batch numbers and in generations. */
export const shardNumbers = 256

/** Keys from `gte` (inclusive) to `lt` (exclusive). */
export interface KeyRange {
  readonly gte: Buffer
  readonly lt: Buffer
}

/** Length of the key prefix of a session: kind and generation. */
export const sessionPrefixBytes = 7

/** Returns the kind of record of a key; undefined for internal keys of the store and for unknown ones. */
export function readKeyKind(key: Uint8Array): RecordKind | undefined {
  return kindOfByte[key[0] ?? 0]
}

/** Returns whether records of this kind are deleted with their session. */
export function isSessionKind(kind: RecordKind): kind is SessionRecordKind {
  return kindBytes[kind] < kindBytes.payload
}

/** Appends the key of a record. `generation` is that of its session, 0 if it belongs to none. */
export function writeKeyOfRecord(writer: ByteWriter, record: StoredRecord, generation: number): void {
  if (record.kind === 'retained') writeTextKey(writer, 'retained', record.message.topic)
  else writeKey(writer, record, generation)
}

/** Appends a key. `generation` is that of its session, 0 if it belongs to none. */
export function writeKey(writer: ByteWriter, key: RecordKey, generation: number): void {
  switch (key.kind) {
    case 'queued':
      writeSessionPrefix(writer, 'queued', generation)
      return writer.uint64(key.sequence)
    case 'session':
    case 'will':
      return writeSessionPrefix(writer, key.kind, generation)
    case 'subscription':
      writeSessionPrefix(writer, 'subscription', generation)
      return writer.rawText(key.filter)
    case 'outgoing':
    case 'incoming':
      writeSessionPrefix(writer, key.kind, generation)
      return writer.uint16(key.packetId)
    case 'payload':
      writer.byte(kindBytes.payload)
      return writer.uint64(key.id)
    case 'retained':
      return writeTextKey(writer, 'retained', key.topic)
    case 'fact':
      return writeTextKey(writer, 'fact', key.name)
    case 'forwarded':
      writer.byte(kindBytes.forwarded)
      writer.byte(key.shard)
      writer.uint16(key.packetId)
      return writer.rawText(key.publisher)
    case 'handoff':
      writer.byte(kindBytes.handoff)
      writer.byte(key.shard)
      return writer.rawText(key.name)
    case 'credential':
    case 'gateway-user':
    case 'scram':
    case 'psk':
    case 'rule':
    case 'ban':
      return writeAccessKey(writer, key)
    case 'account':
    case 'api-key':
    case 'namespace':
      return writeAdminKey(writer, key)
    default:
      key satisfies never
  }
}

/** Appends kind and generation. */
export function writeSessionPrefix(
  writer: ByteWriter,
  kind: SessionRecordKind | 'tombstone',
  generation: number,
): void {
  writer.byte(kindBytes[kind])
  writer.uint48(generation)
}

/** Appends a kind and a text that extends to the end of the key. */
export function writeTextKey(writer: ByteWriter, kind: 'retained' | 'fact' | 'life', text: string): void {
  writer.byte(kindBytes[kind])
  writer.rawText(text)
}

/** Returns the generation in a key of a session kind or of a tombstone. */
export function readKeyGeneration(key: Buffer): number {
  if (key.length < sessionPrefixBytes) throw new DamagedRecord('the key is too short')
  return key.readUIntBE(1, 6)
}

/** Appends the key of a slot of a shard's batch sequence. */
export function writeBatchSlotKey(writer: ByteWriter, shard: number, slot: number): void {
  writer.byte(kindBytes.journal)
  writer.byte(shard)
  writer.uint16(slot)
}

/** Returns all keys of a kind. */
export function createKindRange(kind: keyof typeof kindBytes): KeyRange {
  return { gte: Buffer.of(kindBytes[kind]), lt: Buffer.of(kindBytes[kind] + 1) }
}

/** Returns the keys of a shard's batch sequence. */
export function createBatchSequenceRange(shard: number): KeyRange {
  const { lt } = createKindRange('journal')
  const isLast = shard + 1 === shardNumbers
  return { gte: Buffer.of(kindBytes.journal, shard), lt: isLast ? lt : Buffer.of(kindBytes.journal, shard + 1) }
}

/** Returns the generations of a shard: from `first` (inclusive) to `end` (exclusive). */
export function computeShardGenerations(shard: number): { readonly first: number; readonly end: number } {
  return { first: shard * generationsPerShard, end: (shard + 1) * generationsPerShard }
}

/** Returns the shard that numbers this generation. The last shard also has those behind its end. */
export function computeGenerationShard(generation: Generation): number {
  return Math.min(Math.floor(generation / generationsPerShard), shardNumbers - 1)
}

/** Returns the keys of a kind with generations of a shard. */
export function createShardRange(kind: SessionRecordKind | 'tombstone', shard: number): KeyRange {
  const { first, end } = computeShardGenerations(shard)
  const isLast = shard + 1 === shardNumbers
  return {
    gte: encodeSessionPrefix(kind, first),
    lt: isLast ? createKindRange(kind).lt : encodeSessionPrefix(kind, end),
  }
}

/** Returns the keys of payloads with IDs up to this one, inclusive. */
export function createPayloadRange(id: number): KeyRange {
  return { gte: Buffer.of(kindBytes.payload), lt: encodePayloadKey(id + 1) }
}

/** Returns the keys of batch sequences of shard `first` and all later ones. */
export function createBatchSequencesRange(first: number): KeyRange {
  return { gte: Buffer.of(kindBytes.journal, first), lt: Buffer.of(kindBytes.journal + 1) }
}

/** Returns the key of a fact. */
export function encodeFactKey(name: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(name))
  writeTextKey(writer, 'fact', name)
  return writer.bytes
}

/** Returns the key of the retained message of a topic. */
export function encodeRetainedKey(topic: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(topic))
  writeTextKey(writer, 'retained', topic)
  return writer.bytes
}

/** Returns the key of the last generation that a shard used. */
export function encodeLastGenerationKey(shard: number): Buffer {
  return Buffer.of(kindBytes.begun, shard)
}

/** Returns the key of a shared payload. */
export function encodePayloadKey(id: number): Buffer {
  const writer = new ByteWriter(9)
  writeKey(writer, { kind: 'payload', id }, 0)
  return writer.bytes
}

/** Returns the key of the generation record of a session. */
export function encodeGenerationKey(clientId: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(clientId))
  writeTextKey(writer, 'life', clientId)
  return writer.bytes
}

/** Returns the first possible key of a kind and a session, or with `generation + 1` the first after them. */
export function encodeSessionPrefix(kind: SessionRecordKind | 'tombstone', generation: number): Buffer {
  const writer = new ByteWriter(sessionPrefixBytes)
  writeSessionPrefix(writer, kind, generation)
  return writer.bytes
}

/** Returns the key of a queued record. */
export function encodeQueuedKey(generation: number, sequence: number): Buffer {
  const writer = new ByteWriter(sessionPrefixBytes + 8)
  writeSessionPrefix(writer, 'queued', generation)
  writer.uint64(sequence)
  return writer.bytes
}

/** Returns the sequence number in the key of a queued record. */
export function readKeySequence(key: Buffer): number {
  return readKeyNumber(key, sessionPrefixBytes)
}

/** Returns the ID in the key of a payload. */
export function readKeyPayloadId(key: Buffer): number {
  return readKeyNumber(key, 1)
}

/** Returns the packet identifier in the key of an outgoing or incoming record. */
export function readKeyPacketId(key: Buffer): number {
  if (key.length !== sessionPrefixBytes + 2) throw new DamagedRecord('the key has a wrong length')
  return key.readUInt16BE(sessionPrefixBytes)
}

/** Returns the fields of a forwarded record, which are all in its key. */
export function readForwardedKey(key: Buffer): { shard: number; publisher: string; packetId: number } {
  if (key.length < 4) throw new DamagedRecord('the key is too short')
  return { shard: key.readUInt8(1), packetId: key.readUInt16BE(2), publisher: key.toString('utf8', 4) }
}

/** Returns the shard and the name in the key of a handoff record. */
export function readHandoffKey(key: Buffer): { shard: number; name: string } {
  if (key.length < 2) throw new DamagedRecord('the key is too short')
  return { shard: key.readUInt8(1), name: key.toString('utf8', 2) }
}

function readKeyNumber(key: Buffer, at: number): number {
  const reader = new ByteReader(key, at)
  const value = reader.uint64()
  reader.expectEnd()
  return value
}
