// Keys and values of records of the management API's users: see record-keys.ts and record-values.ts.
//
//   account       38  name ...
//   api key       39  id ...
//   namespace     3a  name ...

import type { StoredPassword, NamespaceRecord, AdminRecord, AdminRecordKey, SecondFactor } from '../../records/index.ts'
import type { ByteReader } from './record-byte-reader.ts'
import type { ByteWriter } from './record-byte-writer.ts'
import { decodeEnumCode, writeEnumCode } from './enum-codes.ts'

export type AdminRecordKind = AdminRecord['kind']

/** The first byte of each key. */
export const adminKindBytes = { account: 0x38, 'api-key': 0x39, namespace: 0x3a } as const satisfies Record<
  AdminRecordKind,
  number
>

export const adminKinds = Object.keys(adminKindBytes) as readonly AdminRecordKind[]

// A value is never moved or removed.
const algorithms = ['sha256', 'argon2id', 'scrypt'] as const
const roles = ['administrator', 'viewer', 'publisher'] as const

/** Appends the key of such a record. */
export function writeAdminKey(writer: ByteWriter, key: AdminRecordKey): void {
  writer.byte(adminKindBytes[key.kind])
  writer.rawText(key.kind === 'api-key' ? key.id : key.name)
}

/** Appends the value of such a record, without version and checksum. */
export function writeAdminValue(writer: ByteWriter, record: AdminRecord): void {
  if (record.kind === 'namespace') return writeNamespace(writer, record)
  writeEnumCode(writer, roles, record.role)
  writer.float(record.createdAtMs)
  writer.byte(record.namespace === undefined ? 0 : 1)
  if (record.namespace !== undefined) writer.text(record.namespace)
  writer.text(record.description)
  if (record.kind === 'account') {
    writePassword(writer, record.password)
    return writeSecondFactor(writer, record.secondFactor)
  }
  writer.text(record.name)
  writer.byte(record.isEnabled ? 1 : 0)
  writer.byte(record.expiresAtMs === undefined ? 0 : 1)
  if (record.expiresAtMs !== undefined) writer.float(record.expiresAtMs)
  writePassword(writer, record.secret)
}

const limitNames = ['clients', 'retainedMessages', 'messagesPerSecond'] as const
/** Special values of a number. */
const [unset, infinite] = [0, -1]

function writeNamespace(writer: ByteWriter, { createdAtMs, limits }: NamespaceRecord): void {
  writer.float(createdAtMs)
  for (const name of limitNames) {
    const limit = limits?.[name] ?? unset
    writer.float(limit === 'infinity' ? infinite : limit)
  }
}

export function readNamespace2(key: Buffer, reader: ByteReader): AdminRecord {
  const plain = readNamespace1(key, reader)
  const stored = limitNames.map(() => reader.float())
  if (plain.kind !== 'namespace' || stored.every((limit) => limit === unset)) return plain
  const [clients, retainedMessages, messagesPerSecond] = stored.map((limit) =>
    limit === unset ? undefined : limit === infinite ? ('infinity' as const) : limit,
  )
  return { ...plain, limits: { clients, retainedMessages, messagesPerSecond } }
}

export function readNamespace1(key: Buffer, reader: ByteReader): AdminRecord {
  return { kind: 'namespace', name: key.toString('utf8', 1), createdAtMs: reader.float() }
}

export function readAccount1(key: Buffer, reader: ByteReader): AdminRecord {
  return {
    kind: 'account',
    name: key.toString('utf8', 1),
    description: '',
    namespace: undefined,
    role: decodeEnumCode(roles, reader.byte()),
    createdAtMs: reader.float(),
    password: readPassword(reader),
  }
}

export function readAccount2(key: Buffer, reader: ByteReader): AdminRecord {
  return {
    kind: 'account',
    name: key.toString('utf8', 1),
    role: decodeEnumCode(roles, reader.byte()),
    createdAtMs: reader.float(),
    namespace: reader.byte() === 0 ? undefined : reader.text(),
    description: reader.text(),
    password: readPassword(reader),
  }
}

export function readAccount3(key: Buffer, reader: ByteReader): AdminRecord {
  const plain = readAccount2(key, reader)
  const secondFactor = readSecondFactor(reader)
  return plain.kind !== 'account' || secondFactor === undefined ? plain : { ...plain, secondFactor }
}

export function readApiKey1(key: Buffer, reader: ByteReader): AdminRecord {
  return {
    kind: 'api-key',
    id: key.toString('utf8', 1),
    namespace: undefined,
    role: decodeEnumCode(roles, reader.byte()),
    createdAtMs: reader.float(),
    name: reader.text(),
    description: reader.text(),
    isEnabled: reader.byte() !== 0,
    expiresAtMs: reader.byte() === 0 ? undefined : reader.float(),
    secret: readPassword(reader),
  }
}

export function readApiKey2(key: Buffer, reader: ByteReader): AdminRecord {
  return {
    kind: 'api-key',
    id: key.toString('utf8', 1),
    role: decodeEnumCode(roles, reader.byte()),
    createdAtMs: reader.float(),
    namespace: reader.byte() === 0 ? undefined : reader.text(),
    description: reader.text(),
    name: reader.text(),
    isEnabled: reader.byte() !== 0,
    expiresAtMs: reader.byte() === 0 ? undefined : reader.float(),
    secret: readPassword(reader),
  }
}

function writeSecondFactor(writer: ByteWriter, factor: SecondFactor | undefined): void {
  writer.byte(factor === undefined ? 0 : 1)
  if (factor === undefined) return
  writer.blob(factor.secret)
  writer.byte(factor.isConfirmed ? 1 : 0)
  writer.float(factor.lastStep)
}

function readSecondFactor(reader: ByteReader): SecondFactor | undefined {
  if (reader.byte() === 0) return undefined
  return { secret: reader.blob(), isConfirmed: reader.byte() !== 0, lastStep: reader.float() }
}

function writePassword(writer: ByteWriter, { algorithm, memory, passes, lanes, salt, hash }: StoredPassword): void {
  writeEnumCode(writer, algorithms, algorithm)
  writer.varint(memory)
  writer.varint(passes)
  writer.varint(lanes)
  writer.blob(salt)
  writer.blob(hash)
}

function readPassword(reader: ByteReader): StoredPassword {
  return {
    algorithm: decodeEnumCode(algorithms, reader.byte()),
    memory: reader.varint(),
    passes: reader.varint(),
    lanes: reader.varint(),
    salt: reader.blob(),
    hash: reader.blob(),
  }
}
