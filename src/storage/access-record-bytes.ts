// Keys and values of what is kept of who may come in and what they may do: see record-keys.ts and record-values.ts.
//
//   credential    30  by u8, id ...
//   scram         31  username ...
//   psk           32  identity ...
//   rule          33  about u8, action u8, length of who u16, who, topic ...
//   ban           34  as u8, who ...

import type { AccessRecord, AccessRecordKey } from '../core/index.ts'
import { DamagedRecord, type ByteReader } from './byte-reader.ts'
import type { ByteWriter } from './byte-writer.ts'
import { wordOf, writeWord } from './words.ts'

export type AccessRecordKind = AccessRecord['kind']

/** The first byte of each key. */
export const accessKindBytes = {
  credential: 0x30,
  scram: 0x31,
  psk: 0x32,
  rule: 0x33,
  ban: 0x34,
} as const satisfies Record<AccessRecordKind, number>

export const accessKinds = Object.keys(accessKindBytes) as readonly AccessRecordKind[]

// Words by the numbers that stand for them on disk: a word is never moved and never taken out.
const credentialLists = ['username', 'clientid'] as const
const passwordHashes = ['plain', 'md5', 'sha', 'sha256', 'sha512'] as const
const saltPositions = ['prefix', 'suffix'] as const
const scramAlgorithms = ['SCRAM-SHA-256', 'SCRAM-SHA-512'] as const
const ruleSubjects = ['clientid', 'username', 'all'] as const
const ruleActions = ['publish', 'subscribe', 'pubsub'] as const
const rulePermits = ['allow', 'deny'] as const
const banSubjects = ['clientid', 'username', 'peerhost'] as const

/** Appends the key of such a record. */
export function writeAccessKey(writer: ByteWriter, key: AccessRecordKey): void {
  writer.byte(accessKindBytes[key.kind])
  switch (key.kind) {
    case 'credential':
      writeWord(writer, credentialLists, key.by)
      return writer.rawText(key.id)
    case 'scram':
      return writer.rawText(key.username)
    case 'psk':
      return writer.rawText(key.identity)
    case 'rule':
      writeWord(writer, ruleSubjects, key.about)
      writeWord(writer, ruleActions, key.action)
      writer.uint16(Buffer.byteLength(key.who))
      writer.rawText(key.who)
      return writer.rawText(key.topic)
    case 'ban':
      writeWord(writer, banSubjects, key.as)
      return writer.rawText(key.who)
    default:
      key satisfies never
  }
}

/** Appends the value of such a record, without version and checksum. */
export function writeAccessValue(writer: ByteWriter, record: AccessRecord): void {
  switch (record.kind) {
    case 'credential':
      writeWord(writer, passwordHashes, record.algorithm)
      writeWord(writer, saltPositions, record.saltPosition)
      writer.blob(record.salt)
      writer.blob(record.hash)
      writer.byte(record.isSuperuser ? 1 : 0)
      return writer.float(record.createdAtMs)
    case 'scram':
      writeWord(writer, scramAlgorithms, record.algorithm)
      writer.blob(record.salt)
      writer.varint(record.iterations)
      writer.blob(record.storedKey)
      writer.blob(record.serverKey)
      writer.byte(record.isSuperuser ? 1 : 0)
      return writer.float(record.createdAtMs)
    case 'psk':
      return writer.blob(record.key)
    case 'rule':
      writeWord(writer, rulePermits, record.permit)
      return writer.float(record.createdAtMs)
    case 'ban':
      writer.text(record.reason)
      writer.text(record.by)
      writer.float(record.atMs)
      writer.byte(record.untilMs === undefined ? 0 : 1)
      if (record.untilMs !== undefined) writer.float(record.untilMs)
      return
    default:
      record satisfies never
  }
}

export function readCredential1(key: Buffer, reader: ByteReader): AccessRecord {
  return {
    kind: 'credential',
    by: wordOf(credentialLists, key[1]),
    id: key.toString('utf8', 2),
    algorithm: wordOf(passwordHashes, reader.byte()),
    saltPosition: wordOf(saltPositions, reader.byte()),
    salt: reader.blob(),
    hash: reader.blob(),
    isSuperuser: reader.byte() !== 0,
    createdAtMs: reader.float(),
  }
}

export function readScram1(key: Buffer, reader: ByteReader): AccessRecord {
  return {
    kind: 'scram',
    username: key.toString('utf8', 1),
    algorithm: wordOf(scramAlgorithms, reader.byte()),
    salt: reader.blob(),
    iterations: reader.varint(),
    storedKey: reader.blob(),
    serverKey: reader.blob(),
    isSuperuser: reader.byte() !== 0,
    createdAtMs: reader.float(),
  }
}

export function readPsk1(key: Buffer, reader: ByteReader): AccessRecord {
  return { kind: 'psk', identity: key.toString('utf8', 1), key: reader.blob() }
}

const ruleWhoAt = 5

export function readRule1(key: Buffer, reader: ByteReader): AccessRecord {
  if (key.length < ruleWhoAt) throw new DamagedRecord('the key is too short')
  const topicAt = ruleWhoAt + key.readUInt16BE(ruleWhoAt - 2)
  if (topicAt > key.length) throw new DamagedRecord('the key is too short')
  return {
    kind: 'rule',
    about: wordOf(ruleSubjects, key[1]),
    action: wordOf(ruleActions, key[2]),
    who: key.toString('utf8', ruleWhoAt, topicAt),
    topic: key.toString('utf8', topicAt),
    permit: wordOf(rulePermits, reader.byte()),
    createdAtMs: reader.float(),
  }
}

export function readBan1(key: Buffer, reader: ByteReader): AccessRecord {
  return {
    kind: 'ban',
    as: wordOf(banSubjects, key[1]),
    who: key.toString('utf8', 2),
    reason: reader.text(),
    by: reader.text(),
    atMs: reader.float(),
    untilMs: reader.byte() === 0 ? undefined : reader.float(),
  }
}
