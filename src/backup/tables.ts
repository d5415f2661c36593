// The tables of an archive: one member for each. Existing archives must stay readable, so the name of a table never changes.

import type {
  AccountRecord,
  ApiKeyRecord,
  BanRecord,
  CredentialRecord,
  GatewayUserRecord,
  NamespaceRecord,
  PskRecord,
  RetainedRecord,
  RuleRecord,
  ScramRecord,
} from '../records/index.ts'

/** A plugin with its archive. */
export interface PluginBackupRecord {
  readonly kind: 'plugin'
  readonly name: string
  readonly version: string
  /** SHA-256 of the archive, in hexadecimal digits. */
  readonly sha256: string
  readonly isEnabled: boolean
  /** JSON. */
  readonly config: string
  readonly archive: Uint8Array
}

export type TableRecord =
  | PluginBackupRecord
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
  'plugins',
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
  plugins: ['plugins'],
  psk: ['pre-shared-keys'],
}

/** Tables with administrators and API keys. */
export const accountTables: readonly TableName[] = ['accounts', 'api-keys']

/** Tables that only the account of a global administrator reads and writes: they contain secrets, or code that the broker runs. */
export const guardedTables: readonly TableName[] = [...accountTables, 'plugins']

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
  plugins: 'plugin',
  'retained-messages': 'retained',
} as const satisfies Record<TableName, TableRecord['kind']>

export function toTableMember(table: TableName): string {
  return `tables/${table}.jsonl`
}

export function findMemberTable(member: string): TableName | undefined {
  return tableNames.find((table) => toTableMember(table) === member)
}

/** Returns a readable name of the record, which is unique in its table. */
export function formatRecordName(record: TableRecord): string {
  const prefix = 'namespace' in record && record.namespace !== undefined ? `${record.namespace}: ` : ''
  return `${prefix}${formatUnscopedName(record)}`
}

function formatUnscopedName(record: TableRecord): string {
  switch (record.kind) {
    case 'account':
    case 'namespace':
    case 'plugin':
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
