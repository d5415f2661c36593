// The keys of the database. One byte says the kind; what belongs to a session then names the session's *life*: a number
// that is given out when the first record of a session is put, and never again. Its highest byte is the shard that gave
// it out. Numbers are big-endian, so they sort.
//
//   journal       01  shard u8, slot u16             running numbers of batches
//   life          02  client id ...                  the present life of a session
//   grave         03  life u48                       a life that has ended and is not swept yet
//   begun         04  shard u8                       the last life that was given out
//   session       10  life u48
//   subscription  11  life u48, filter ...
//   queued        12  life u48, sequence u64
//   outgoing      13  life u48, packet id u16
//   incoming      14  life u48, packet id u16
//   will          15  life u48
//   body          20  id u64
//   retained      21  topic ...
//   fact          22  name ...
//   forwarded     23  shard u8, packet id u16, publisher ...
//   moving        24  shard u8, name ...
//   access        30 to 34: see access-record-bytes.ts
//   operators     38 to 39: see admin-record-bytes.ts
//
// Deleting a session is therefore one change, however much it owns: its life record goes and a grave comes. Nothing
// reaches the old records any more, not even a new session of the same client id; they are swept away in the
// background.

import type { RecordKey, RecordKind, StoredRecord } from '../records/index.ts'
import type { SessionRecordKind } from './store.ts'
import { accessKindBytes, accessKinds, writeAccessKey } from './access-record-bytes.ts'
import { adminKindBytes, adminKinds, writeAdminKey } from './admin-record-bytes.ts'
import { ByteReader, DamagedRecord } from './byte-reader.ts'
import { ByteWriter } from './byte-writer.ts'

/** Names a life. */
export type Generation = number

/** Names none. */
export const noGeneration: Generation = 0

/** The first byte of each key. */
export const kindBytes = {
  journal: 0x01,
  life: 0x02,
  grave: 0x03,
  begun: 0x04,
  session: 0x10,
  subscription: 0x11,
  queued: 0x12,
  outgoing: 0x13,
  incoming: 0x14,
  will: 0x15,
  body: 0x20,
  retained: 0x21,
  fact: 0x22,
  forwarded: 0x23,
  moving: 0x24,
  ...accessKindBytes,
  ...adminKindBytes,
} as const satisfies Record<RecordKind | 'journal' | 'life' | 'grave' | 'begun', number>

/** What goes when a session goes. */
export const sessionKinds: readonly SessionRecordKind[] = [
  'session',
  'subscription',
  'queued',
  'outgoing',
  'incoming',
  'will',
]

/** What the core stores. */
export const recordKinds: readonly RecordKind[] = [
  ...sessionKinds,
  'body',
  'retained',
  'fact',
  'forwarded',
  'moving',
  ...accessKinds,
  ...adminKinds,
]

const kindOfByte: readonly (RecordKind | undefined)[] = Array.from({ length: 256 }, (_, byte) =>
  recordKinds.find((kind) => kindBytes[kind] === byte),
)

const generationsPerShard = 2 ** 40

/** Shards are numbered in one byte, in keys of journals and in lives. */
export const shardNumbers = 256

/** Keys from `gte` (inclusive) to `lt` (exclusive). */
export interface KeyRange {
  readonly gte: Buffer
  readonly lt: Buffer
}

/** The length of a key's front that names a session: kind and life. */
export const sessionPrefixBytes = 7

/** The kind of record that a key names; undefined for keys of the store's own and for unknown ones. */
export function kindOfKey(key: Uint8Array): RecordKind | undefined {
  return kindOfByte[key[0] ?? 0]
}

/** Is it one of the kinds that go with their session? */
export function isSessionKind(kind: RecordKind): kind is SessionRecordKind {
  return kindBytes[kind] < kindBytes.body
}

/** Appends the key of a record. `life` is that of its session, 0 where it belongs to none. */
export function writeKeyOfRecord(writer: ByteWriter, record: StoredRecord, generation: number): void {
  if (record.kind === 'retained') writeTextKey(writer, 'retained', record.message.topic)
  else writeKey(writer, record, generation)
}

/** Appends a key. `life` is that of its session, 0 where it belongs to none. */
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
    case 'body':
      writer.byte(kindBytes.body)
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
    case 'moving':
      writer.byte(kindBytes.moving)
      writer.byte(key.shard)
      return writer.rawText(key.name)
    case 'credential':
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

/** Appends kind and life. */
export function writeSessionPrefix(writer: ByteWriter, kind: SessionRecordKind | 'grave', generation: number): void {
  writer.byte(kindBytes[kind])
  writer.uint48(generation)
}

/** Appends a kind and a text that lasts to the end of the key. */
export function writeTextKey(writer: ByteWriter, kind: 'retained' | 'fact' | 'life', text: string): void {
  writer.byte(kindBytes[kind])
  writer.rawText(text)
}

/** The life in a key of a session kind or of a grave. */
export function generationOfKey(key: Buffer): number {
  if (key.length < sessionPrefixBytes) throw new DamagedRecord('the key is too short')
  return key.readUIntBE(1, 6)
}

/** Appends the key of a slot of a shard's journal. */
export function writeBatchSlotKey(writer: ByteWriter, shard: number, slot: number): void {
  writer.byte(kindBytes.journal)
  writer.byte(shard)
  writer.uint16(slot)
}

/** All keys of a kind. */
export function rangeOfKind(kind: keyof typeof kindBytes): KeyRange {
  return { gte: Buffer.of(kindBytes[kind]), lt: Buffer.of(kindBytes[kind] + 1) }
}

/** The keys of a shard's journal. */
export function rangeOfBatchSequence(shard: number): KeyRange {
  const { lt } = rangeOfKind('journal')
  const isLast = shard + 1 === shardNumbers
  return { gte: Buffer.of(kindBytes.journal, shard), lt: isLast ? lt : Buffer.of(kindBytes.journal, shard + 1) }
}

/** The lives that a shard gives out: from `first` (inclusive) to `end` (exclusive). */
export function generationsOfShard(shard: number): { readonly first: number; readonly end: number } {
  return { first: shard * generationsPerShard, end: (shard + 1) * generationsPerShard }
}

/** The keys of a kind with lives that a shard has given out. */
export function rangeOfShard(kind: SessionRecordKind | 'grave', shard: number): KeyRange {
  const { first, end } = generationsOfShard(shard)
  const isLast = shard + 1 === shardNumbers
  return { gte: sessionPrefix(kind, first), lt: isLast ? rangeOfKind(kind).lt : sessionPrefix(kind, end) }
}

/** The keys of the bodies with ids up to this one, inclusive. */
export function rangeOfPayloadsUpTo(id: number): KeyRange {
  return { gte: Buffer.of(kindBytes.body), lt: payloadKey(id + 1) }
}

/** The shards in whose journals something may stand: `first` and all after it. */
export function rangeOfBatchSequencesFrom(first: number): KeyRange {
  return { gte: Buffer.of(kindBytes.journal, first), lt: Buffer.of(kindBytes.journal + 1) }
}

/** The key of a fact. */
export function factKey(name: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(name))
  writeTextKey(writer, 'fact', name)
  return writer.bytes
}

/** The key of the retained message of a topic. */
export function retainedKey(topic: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(topic))
  writeTextKey(writer, 'retained', topic)
  return writer.bytes
}

/** The key of the last life that a shard has given out. */
export function lastGenerationKey(shard: number): Buffer {
  return Buffer.of(kindBytes.begun, shard)
}

/** The key of a shared body. */
export function payloadKey(id: number): Buffer {
  const writer = new ByteWriter(9)
  writeKey(writer, { kind: 'body', id }, 0)
  return writer.bytes
}

/** The key of the record that says which life a session is in. */
export function generationKey(clientId: string): Buffer {
  const writer = new ByteWriter(1 + Buffer.byteLength(clientId))
  writeTextKey(writer, 'life', clientId)
  return writer.bytes
}

/** The first key that records of one kind and one session can have, or with `life + 1` the first that they cannot. */
export function sessionPrefix(kind: SessionRecordKind | 'grave', generation: number): Buffer {
  const writer = new ByteWriter(sessionPrefixBytes)
  writeSessionPrefix(writer, kind, generation)
  return writer.bytes
}

/** The key of a queued record. */
export function queuedKey(generation: number, sequence: number): Buffer {
  const writer = new ByteWriter(sessionPrefixBytes + 8)
  writeSessionPrefix(writer, 'queued', generation)
  writer.uint64(sequence)
  return writer.bytes
}

/** The sequence in the key of a queued record. */
export function sequenceOfKey(key: Buffer): number {
  return wholeNumberAt(key, sessionPrefixBytes)
}

/** The id in the key of a body. */
export function payloadIdOfKey(key: Buffer): number {
  return wholeNumberAt(key, 1)
}

/** The packet id in the key of an outgoing or incoming record. */
export function packetIdOfKey(key: Buffer): number {
  if (key.length !== sessionPrefixBytes + 2) throw new DamagedRecord('the key has a wrong length')
  return key.readUInt16BE(sessionPrefixBytes)
}

/** What the key of a forwarded record says: all that there is of it. */
export function forwardedOfKey(key: Buffer): { shard: number; publisher: string; packetId: number } {
  if (key.length < 4) throw new DamagedRecord('the key is too short')
  return { shard: key.readUInt8(1), packetId: key.readUInt16BE(2), publisher: key.toString('utf8', 4) }
}

/** The shard and the name in the key of a moving record. */
export function handoffOfKey(key: Buffer): { shard: number; name: string } {
  if (key.length < 2) throw new DamagedRecord('the key is too short')
  return { shard: key.readUInt8(1), name: key.toString('utf8', 2) }
}

function wholeNumberAt(key: Buffer, at: number): number {
  const reader = new ByteReader(key, at)
  const value = reader.uint64()
  reader.finish()
  return value
}
