// Keys and values of access records: see record-keys.ts and record-values.ts.
//
//   credential    30  by u8, id ...
//   scram         31  username ...
//   psk           32  identity ...
//   rule          33  about u8, action u8, length of who u16, who, topic ...
//   ban           34  as u8, who ...
//   gateway-user  35  length of the chain u16, chain, id ...
//
// Records of a namespace have its name before their id, username or who: see namespaced-names.ts of the core.

import { toNamespacedName, splitNamespacedName } from '../../core/index.ts'
import type { AccessRecord, AccessRecordKey } from '../../records/index.ts'
import { DamagedRecord, type ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
import { decodeEnumCode, writeEnumCode } from './enum-codes.ts'

export type AccessRecordKind = AccessRecord['kind']

/** The first byte of each key. */
export const accessKindBytes = {
  credential: 0x30,
  scram: 0x31,
  psk: 0x32,
  rule: 0x33,
  ban: 0x34,
  'gateway-user': 0x35,
} as const satisfies Record<AccessRecordKind, number>

export const accessKinds = Object.keys(accessKindBytes) as readonly AccessRecordKind[]

// Values by their numbers on disk: a value is never moved or removed.
const credentialLists = ['username', 'clientid'] as const
const passwordHashes = ['plain', 'md5', 'sha', 'sha256', 'sha512', 'pbkdf2_sha512'] as const
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
      writeEnumCode(writer, credentialLists, key.by)
      return writer.rawText(toNamespacedName(key.namespace, key.id))
    case 'gateway-user':
      writer.uint16(Buffer.byteLength(key.chain))
      writer.rawText(key.chain)
      return writer.rawText(key.id)
    case 'scram':
      return writer.rawText(toNamespacedName(key.namespace, key.username))
    case 'psk':
      return writer.rawText(toNamespacedName(key.namespace, key.identity))
    case 'rule': {
      const who = toNamespacedName(key.namespace, key.who)
      writeEnumCode(writer, ruleSubjects, key.about)
      writeEnumCode(writer, ruleActions, key.action)
      writer.uint16(Buffer.byteLength(who))
      writer.rawText(who)
      return writer.rawText(key.topic)
    }
    case 'ban':
      writeEnumCode(writer, banSubjects, key.as)
      return writer.rawText(toNamespacedName(key.namespace, key.who))
    default:
      key satisfies never
  }
}

/** Appends the value of such a record, without version and checksum. */
export function writeAccessValue(writer: ByteWriter, record: AccessRecord): void {
  switch (record.kind) {
    case 'credential':
    case 'gateway-user':
      writeEnumCode(writer, passwordHashes, record.algorithm)
      writeEnumCode(writer, saltPositions, record.saltPosition)
      writer.blob(record.salt)
      writer.blob(record.hash)
      writer.byte(record.isSuperuser ? 1 : 0)
      return writer.float(record.createdAtMs)
    case 'scram':
      writeEnumCode(writer, scramAlgorithms, record.algorithm)
      writer.blob(record.salt)
      writer.varint(record.iterations)
      writer.blob(record.storedKey)
      writer.blob(record.serverKey)
      writer.byte(record.isSuperuser ? 1 : 0)
      return writer.float(record.createdAtMs)
    case 'psk':
      return writer.blob(record.key)
    case 'rule':
      writeEnumCode(writer, rulePermits, record.permit)
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
  const { namespace, name: id } = readName(key, 2)
  return {
    kind: 'credential',
    ...namespace,
    by: decodeEnumCode(credentialLists, key[1]),
    id,
    algorithm: decodeEnumCode(passwordHashes, reader.byte()),
    saltPosition: decodeEnumCode(saltPositions, reader.byte()),
    salt: reader.blob(),
    hash: reader.blob(),
    isSuperuser: reader.byte() !== 0,
    createdAtMs: reader.float(),
  }
}

const chainAt = 3

export function readGatewayUser1(key: Buffer, reader: ByteReader): AccessRecord {
  const idAt = key.length < chainAt ? Infinity : chainAt + key.readUInt16BE(chainAt - 2)
  if (idAt > key.length) throw new DamagedRecord('the key is too short')
  return {
    kind: 'gateway-user',
    chain: key.toString('utf8', chainAt, idAt),
    id: key.toString('utf8', idAt),
    algorithm: decodeEnumCode(passwordHashes, reader.byte()),
    saltPosition: decodeEnumCode(saltPositions, reader.byte()),
    salt: reader.blob(),
    hash: reader.blob(),
    isSuperuser: reader.byte() !== 0,
    createdAtMs: reader.float(),
  }
}

export function readScram1(key: Buffer, reader: ByteReader): AccessRecord {
  const { namespace, name: username } = readName(key, 1)
  return {
    kind: 'scram',
    ...namespace,
    username,
    algorithm: decodeEnumCode(scramAlgorithms, reader.byte()),
    salt: reader.blob(),
    iterations: reader.varint(),
    storedKey: reader.blob(),
    serverKey: reader.blob(),
    isSuperuser: reader.byte() !== 0,
    createdAtMs: reader.float(),
  }
}

export function readPsk1(key: Buffer, reader: ByteReader): AccessRecord {
  const { namespace, name: identity } = readName(key, 1)
  return { kind: 'psk', ...namespace, identity, key: reader.blob() }
}

const ruleSubjectAt = 5

export function readRule1(key: Buffer, reader: ByteReader): AccessRecord {
  if (key.length < ruleSubjectAt) throw new DamagedRecord('the key is too short')
  const topicAt = ruleSubjectAt + key.readUInt16BE(ruleSubjectAt - 2)
  if (topicAt > key.length) throw new DamagedRecord('the key is too short')
  const { namespace, name: who } = readName(key, ruleSubjectAt, topicAt)
  return {
    kind: 'rule',
    ...namespace,
    about: decodeEnumCode(ruleSubjects, key[1]),
    action: decodeEnumCode(ruleActions, key[2]),
    who,
    topic: key.toString('utf8', topicAt),
    permit: decodeEnumCode(rulePermits, reader.byte()),
    createdAtMs: reader.float(),
  }
}

export function readBan1(key: Buffer, reader: ByteReader): AccessRecord {
  const { namespace, name: who } = readName(key, 2)
  return {
    kind: 'ban',
    ...namespace,
    as: decodeEnumCode(banSubjects, key[1]),
    who,
    reason: reader.text(),
    by: reader.text(),
    atMs: reader.float(),
    untilMs: reader.byte() === 0 ? undefined : reader.float(),
  }
}

/** Returns the name in a key; `namespace` is a field of the record, empty if it has none. */
function readName(
  key: Buffer,
  start: number,
  end?: number,
): { readonly namespace: { readonly namespace?: string }; readonly name: string } {
  const { namespace, name } = splitNamespacedName(key.toString('utf8', start, end))
  return { namespace: namespace === undefined ? {} : { namespace }, name }
}
