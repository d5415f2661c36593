// The rows of the tables of an archive: a record on each line. Existing archives must stay readable, so the meaning of a field never
// changes.

import type { MessageProperties } from '../protocol/index.ts'
import type {
  AccountRecord,
  ApiKeyRecord,
  BanRecord,
  CredentialRecord,
  GatewayUserRecord,
  StoredPassword,
  SecondFactor,
  NamespaceRecord,
  NamespaceRecordLimits,
  PskRecord,
  RuleRecord,
  ScramRecord,
  StoredMessage,
} from '../records/index.ts'
import { InvalidArchive } from '../archives/index.ts'
import { findRecordProblem } from './record-problems.ts'
import {
  boolean,
  bytes,
  type Field,
  timestamp,
  number,
  object,
  oneOf,
  optional,
  pairs,
  text,
  textOrNone,
} from './row-fields.ts'
import { kindOfTable, type PluginBackupRecord, type TableName, type TableRecord } from './tables.ts'

const name = text({ minBytes: 1 })
const hash = bytes(1_024)

const passwordHash: Field<StoredPassword> = object<StoredPassword>({
  algorithm: oneOf(['sha256', 'argon2id', 'scrypt']),
  // Each login costs the memory and time in the record, so excessive values in an archive are refused.
  memory: number({ min: 0, max: 1_048_576, isWhole: true }),
  passes: number({ min: 0, max: 64, isWhole: true }),
  lanes: number({ min: 0, max: 16, isWhole: true }),
  salt: hash,
  hash,
})

/** Omitted: the record belongs to no namespace. The name is checked with the complete record. */
const namespace: Field<string | undefined> = optional(text({ minBytes: 1, maxBytes: 128 }))

/** Maximum bytes of names. The API accepts 256 characters for names and 1,024 for descriptions. */
const maxNameBytes = 1_024
const maxDescriptionBytes = 4_096

/** Includes the time step of the last used code, so that used codes stay invalid after an import. */
const secondFactor: Field<SecondFactor> = object<SecondFactor>({
  secret: hash,
  isConfirmed: boolean,
  lastStep: number({ min: 0, max: Number.MAX_SAFE_INTEGER, isWhole: true }),
})

const accounts = object<Omit<AccountRecord, 'kind'>>({
  name: text({ minBytes: 1, maxBytes: maxNameBytes }),
  description: text({ maxBytes: maxDescriptionBytes }),
  role: oneOf(['administrator', 'viewer']),
  namespace,
  password: passwordHash,
  createdAtMs: timestamp,
  secondFactor: optional(secondFactor),
})

const apiKeys = object<Omit<ApiKeyRecord, 'kind'>>({
  id: text({ minBytes: 1, maxBytes: maxNameBytes }),
  name: text({ maxBytes: maxNameBytes }),
  description: text({ maxBytes: maxDescriptionBytes }),
  role: oneOf(['administrator', 'viewer', 'publisher']),
  namespace,
  isEnabled: boolean,
  expiresAtMs: optional(timestamp),
  secret: passwordHash,
  createdAtMs: timestamp,
})

/** -1: any number. */
const limit: Field<number | 'infinity' | undefined> = {
  write: (value) => (value === 'infinity' ? -1 : value),
  read: (written) => {
    if (written === undefined || written === null) return undefined
    return written === -1 ? 'infinity' : atLeastOne.read(written)
  },
}
const atLeastOne = number({ min: 1, max: 2_147_483_647, isWhole: true })

const namespaces = object<Omit<NamespaceRecord, 'kind'>>({
  name,
  createdAtMs: timestamp,
  limits: optional(
    object<NamespaceRecordLimits>({ clients: limit, retainedMessages: limit, messagesPerSecond: limit }),
  ),
})

const credentials = object<Omit<CredentialRecord, 'kind'>>({
  namespace,
  by: oneOf(['username', 'clientid']),
  id: name,
  algorithm: oneOf(['plain', 'md5', 'sha', 'sha256', 'sha512', 'pbkdf2_sha512']),
  saltPosition: oneOf(['prefix', 'suffix']),
  salt: hash,
  hash: bytes(65_535),
  isSuperuser: boolean,
  createdAtMs: timestamp,
})

const gatewayUsers = object<Omit<GatewayUserRecord, 'kind'>>({
  chain: text({ minBytes: 1, maxBytes: maxNameBytes }),
  id: name,
  algorithm: oneOf(['plain', 'md5', 'sha', 'sha256', 'sha512', 'pbkdf2_sha512']),
  saltPosition: oneOf(['prefix', 'suffix']),
  salt: hash,
  hash: bytes(65_535),
  isSuperuser: boolean,
  createdAtMs: timestamp,
})

const scramUsers = object<Omit<ScramRecord, 'kind'>>({
  namespace,
  username: name,
  algorithm: oneOf(['SCRAM-SHA-256', 'SCRAM-SHA-512']),
  salt: hash,
  iterations: number({ min: 1, max: 10_000_000, isWhole: true }),
  storedKey: hash,
  serverKey: hash,
  isSuperuser: boolean,
  createdAtMs: timestamp,
})

const preSharedKeys = object<Omit<PskRecord, 'kind'>>({
  namespace,
  identity: text({ minBytes: 1, maxBytes: 128 }),
  key: bytes(256),
})

const rules = object<Omit<RuleRecord, 'kind'>>({
  namespace,
  about: oneOf(['clientid', 'username', 'all']),
  who: text(),
  topic: text({ minBytes: 1 }),
  action: oneOf(['publish', 'subscribe', 'pubsub']),
  permit: oneOf(['allow', 'deny']),
  createdAtMs: timestamp,
})

const bans = object<Omit<BanRecord, 'kind'>>({
  namespace,
  as: oneOf(['clientid', 'username', 'peerhost']),
  who: name,
  reason: text(),
  by: text(),
  atMs: timestamp,
  untilMs: optional(timestamp),
})

const properties = object<MessageProperties>({
  payloadFormatIndicator: optional(oneOf([0, 1])),
  messageExpiryIntervalSeconds: optional(number({ min: 0, max: 4_294_967_295, isWhole: true })),
  contentType: optional(text()),
  responseTopic: optional(text()),
  correlationData: optional(bytes(65_535)),
  userProperties: optional(pairs(65_535)),
})

/** The largest payload of MQTT. */
const maxPayloadBytes = 268_435_455

const retainedMessages = object<Omit<StoredMessage, 'isRepeat' | 'retain'>>({
  topic: name,
  payload: bytes(maxPayloadBytes),
  qos: oneOf([0, 1, 2]),
  properties: optional(properties),
  publisher: text(),
  publisherUsername: optional(text()),
  isByOwnRight: boolean,
  publisherMountpoint: textOrNone(),
  publishedAtMs: timestamp,
  expiresAtMs: optional(timestamp),
})

/** More than plugins.max_archive allows. */
const maxArchiveBytes = 1_073_741_824
const maxConfigBytes = 16_777_216

/** In the order of their hooks. */
const plugins = object<Omit<PluginBackupRecord, 'kind'>>({
  name: text({ minBytes: 1, maxBytes: 64 }),
  version: text({ minBytes: 1, maxBytes: 64 }),
  sha256: text({ minBytes: 64, maxBytes: 64 }),
  isEnabled: boolean,
  config: text({ maxBytes: maxConfigBytes }),
  archive: bytes(maxArchiveBytes),
})

type Row = Readonly<Record<string, unknown>>

const shapes: Readonly<Record<TableName, Field<unknown>>> = {
  accounts,
  'api-keys': apiKeys,
  namespaces,
  credentials,
  'gateway-users': gatewayUsers,
  'scram-users': scramUsers,
  'pre-shared-keys': preSharedKeys,
  rules,
  bans,
  plugins,
  'retained-messages': retainedMessages,
}

/** Returns the line of a record, with its line end. */
export function writeRow(table: TableName, record: TableRecord): string {
  const value = record.kind === 'retained' ? record.message : record
  return `${JSON.stringify(shapes[table].write(value))}\n`
}

/** Returns the record in a line. Throws InvalidArchive. */
export function readRow(table: TableName, line: string): TableRecord {
  const value = shapes[table].read(parse(line)) as Row
  const record = (
    table === 'retained-messages'
      ? { kind: 'retained', message: { ...value, retain: true, isRepeat: false } }
      : { kind: kindOfTable[table], ...value }
  ) as TableRecord
  const problem = findRecordProblem(record)
  if (problem !== undefined) throw new InvalidArchive(problem)
  return record
}

function parse(line: string): unknown {
  try {
    return JSON.parse(line) as unknown
  } catch {
    // The message of V8 quotes the line, which may contain a secret.
    throw new InvalidArchive('is not valid JSON')
  }
}
