// The tables of an archive: one member for each, a record on each line. Existing archives must stay readable, so the name of a table
// and the meaning of a field never change.

import { parseAddressRange, readAclTopic } from '../config/index.ts'
import { isNamespaceName } from '../core/index.ts'
import { type MessageProperties, parseTopicName } from '../protocol/index.ts'
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
  RetainedRecord,
  RuleRecord,
  ScramRecord,
  StoredMessage,
} from '../records/index.ts'
import { maxPbkdf2Iterations, pbkdf2HashBytes } from '../records/index.ts'
import { InvalidArchive } from './invalid-archive.ts'
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

export type TableRecord =
  | AccountRecord
  | ApiKeyRecord
  | NamespaceRecord
  | CredentialRecord
  | GatewayUserRecord
  | ScramRecord
  | PskRecord
  | RuleRecord
  | BanRecord
  | RetainedRecord

export const tableNames = [
  'accounts',
  'api-keys',
  'namespaces',
  'credentials',
  'gateway-users',
  'scram-users',
  'pre-shared-keys',
  'rules',
  'bans',
  'retained-messages',
] as const

export type TableName = (typeof tableNames)[number]

/** The tables of each table set in requests. */
export const tableSets: Readonly<Record<string, readonly TableName[]>> = {
  api_keys: ['api-keys'],
  banned: ['bans'],
  builtin_authn: ['credentials', 'gateway-users', 'scram-users'],
  builtin_authz: ['rules'],
  builtin_retainer: ['retained-messages'],
  dashboard_users: ['accounts'],
  mt: ['namespaces'],
  psk: ['pre-shared-keys'],
}

/** Tables with administrators and API keys. */
export const accountTables: readonly TableName[] = ['accounts', 'api-keys']

export const kindOfTable = {
  accounts: 'account',
  'api-keys': 'api-key',
  namespaces: 'namespace',
  credentials: 'credential',
  'gateway-users': 'gateway-user',
  'scram-users': 'scram',
  'pre-shared-keys': 'psk',
  rules: 'rule',
  bans: 'ban',
  'retained-messages': 'retained',
} as const satisfies Record<TableName, TableRecord['kind']>

export function memberOfTable(table: TableName): string {
  return `tables/${table}.jsonl`
}

export function tableOfMember(member: string): TableName | undefined {
  return tableNames.find((table) => memberOfTable(table) === member)
}

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
  const problem = problemOf(record)
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

/** Refuses well-formed records that the API would not create. */
function problemOf(record: TableRecord): string | undefined {
  if ('namespace' in record && record.namespace !== undefined && !isNamespaceName(record.namespace)) {
    return 'namespace is not a valid namespace name'
  }
  const invalidField = invalidTextIn(record)
  return invalidField === undefined ? problemOfKind(record) : `${invalidField} contains U+0000`
}

const nameFields = ['name', 'chain', 'id', 'username', 'identity', 'who', 'topic'] as const

/** [MQTT-1.5.3-2] [MQTT5-1.5.4-2] U+0000 is not valid in MQTT strings, and separates parts of names inside the broker. */
function invalidTextIn(record: TableRecord): string | undefined {
  if (record.kind === 'retained') return undefined
  return nameFields.find(
    (name) => (record as { readonly [Key in (typeof nameFields)[number]]?: string })[name]?.includes('\0') === true,
  )
}

function problemOfKind(record: TableRecord): string | undefined {
  switch (record.kind) {
    case 'retained': {
      const { topic, payload } = record.message
      if (parseTopicName(topic) === undefined) return 'topic is not a topic name'
      return payload.length === 0 ? 'payload is empty: an empty retained message is not stored' : undefined
    }
    case 'rule': {
      const topic = readAclTopic(record.topic)
      if ('problem' in topic) return `topic is not valid in a rule: ${topic.problem}`
      return (record.about === 'all') === (record.who === '')
        ? undefined
        : 'who must be empty if about is all, and must not be empty otherwise'
    }
    case 'ban':
      return record.as === 'peerhost' && parseAddressRange(record.who) === undefined
        ? 'who is not an address or an address range'
        : undefined
    case 'account':
      return problemOfPassword(record.password)
    case 'api-key':
      return problemOfPassword(record.secret)
    case 'namespace':
      return isNamespaceName(record.name) ? undefined : 'name is not a valid namespace name'
    case 'psk':
      return record.key.length < minKeyBytes ? `key is shorter than ${minKeyBytes} bytes` : undefined
    case 'scram': {
      const { storedKey, serverKey, algorithm } = record
      const isGood = [storedKey, serverKey].every((key) => key.length === hashBytes[algorithm])
      return isGood ? undefined : `storedKey or serverKey is not a ${algorithm} key`
    }
    case 'credential':
    case 'gateway-user':
      return record.algorithm === 'pbkdf2_sha512' ? problemOfPbkdf2(record) : undefined
    default:
      return record satisfies never
  }
}

function problemOfPbkdf2({ salt, hash: digest }: CredentialRecord | GatewayUserRecord): string | undefined {
  const iterations = salt.length < 5 ? 0 : Buffer.from(salt).readUInt32BE(0)
  const isGood = iterations >= 1 && iterations <= maxPbkdf2Iterations && digest.length === pbkdf2HashBytes
  return isGood
    ? undefined
    : `salt or hash is not valid for pbkdf2_sha512: it needs a salt, 1 to ${maxPbkdf2Iterations} iterations and a hash of ${pbkdf2HashBytes} bytes`
}

const minKeyBytes = 8
const hashBytes = { 'SCRAM-SHA-256': 32, 'SCRAM-SHA-512': 64, sha256: 32 } as const

/** Returns why OpenSSL cannot check the password. */
function problemOfPassword({
  algorithm,
  memory,
  passes,
  lanes,
  salt,
  hash: digest,
}: StoredPassword): string | undefined {
  if (algorithm === 'sha256') {
    return digest.length === hashBytes.sha256
      ? undefined
      : `password is not a SHA-256 hash: it must have ${hashBytes.sha256} bytes`
  }
  const isPower = memory > 1 && Number.isInteger(Math.log2(memory))
  const isScrypt = isPower && passes > 0 && lanes > 0 && memory * passes <= 1_048_576
  const isArgon = memory >= 8 * lanes && passes > 0 && lanes > 0 && salt.length >= 8
  const isGood = algorithm === 'scrypt' ? isScrypt : isArgon
  return isGood ? undefined : `password has cost parameters that are invalid for ${algorithm}`
}

/** Returns a readable name of the record, which is unique in its table. */
export function nameOfRecord(record: TableRecord): string {
  const prefix = 'namespace' in record && record.namespace !== undefined ? `${record.namespace}: ` : ''
  return `${prefix}${ownNameOf(record)}`
}

function ownNameOf(record: TableRecord): string {
  switch (record.kind) {
    case 'account':
    case 'namespace':
      return record.name
    case 'api-key':
      return record.id
    case 'credential':
      return `${record.by} ${record.id}`
    case 'gateway-user':
      return `${record.chain} ${record.id}`
    case 'scram':
      return record.username
    case 'psk':
      return record.identity
    case 'rule':
      return `${record.about === 'all' ? 'all' : `${record.about} ${record.who}`}, ${record.action} ${record.topic}`
    case 'ban':
      return `${record.as} ${record.who}`
    case 'retained':
      return record.message.topic
    default:
      return record satisfies never
  }
}
