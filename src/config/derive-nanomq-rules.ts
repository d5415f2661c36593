// The section rules of NanoMQ as connectors, actions and rules, so that what it sends has the spool and the promises of actions.

import { type DerivedAction, type DerivedRule, type DerivedRules, createDefaultValues } from './derived-rules.ts'
import type { NanoMqRulesConfig } from './godwit-config.ts'
import { formatCreateTableStatement, formatInsertStatement, isTableName, type TableRow } from './insert-statement.ts'
import { parseServerUrl } from './schema/server-url.ts'
import { sqlAction, sqlConnector } from './settings/sinks/database-settings.ts'
import { mqttAction, mqttConnector } from './settings/sinks/mqtt-settings.ts'
import { sqliteAction, sqliteConnector } from './settings/sinks/sqlite-settings.ts'

export interface NanoMqDependencies {
  /** Paths that the SQL selects; undefined: everything, or it is not valid, which is found later. */
  findSelectedFields(sql: string): TableRow['fields']
}

type Fields = ReadonlyMap<string, unknown>
type Database = 'mysql' | 'postgresql' | 'timescaledb'

/** Types of actions, by the names of sections. */
const databaseTypes = { mysql: 'mysql', postgresql: 'pgsql', timescaledb: 'timescale' } as const
/** Below the data directory. */
const defaultFile = 'rule_engine.db'

/** An action and its rule for each rule of the section. */
export function deriveNanoMqRules(rules: NanoMqRulesConfig, dependencies: NanoMqDependencies): DerivedRules | Problem {
  const parts: (readonly [DerivedAction, DerivedRule])[] = []
  for (const [index, rule] of rules.sqlite.rules.entries()) {
    const row = toTableRow(rule, dependencies)
    const key = `rules.sqlite.rules.${index}`
    if (row === undefined) return createTableProblem(key)
    parts.push(pairWithRule(createSqliteAction(rules.sqlite.path, row, index), { key, rule }))
  }
  for (const database of Object.keys(databaseTypes) as Database[]) {
    for (const [name, { conn, rules: all }] of rules[database].named) {
      for (const [index, rule] of all.entries()) {
        const key = `rules.${database}.${name}.rules.${index}`
        const row = toTableRow(rule, dependencies)
        if (row === undefined) return createTableProblem(key)
        // An @ stands in front of a namespace.
        const id = `$${name.replaceAll('@', '_')}_${index}`
        parts.push(pairWithRule(createSqlAction(databaseTypes[database], conn, row, id), { key, rule }))
      }
    }
  }
  for (const [index, rule] of rules.repub.rules.entries())
    parts.push(pairWithRule(createRepublishAction(rule, index), { key: `rules.repub.rules.${index}`, rule }))
  return { actions: parts.map(([action]) => action), rules: parts.map(([, rule]) => rule) }
}

interface Problem {
  readonly problem: string
}

function createTableProblem(key: string): Problem {
  return { problem: `${key}.table: write the name of the table, with up to 63 letters, digits and _` }
}

function toTableRow(rule: Fields, dependencies: NanoMqDependencies): TableRow | undefined {
  const table = readText(rule, 'table')
  return isTableName(table) ? { table, fields: dependencies.findSelectedFields(readText(rule, 'sql')) } : undefined
}

type Unplaced = DerivedAction extends infer Action
  ? Action extends DerivedAction
    ? Omit<Action, 'key'>
    : never
  : never

function pairWithRule(
  action: Unplaced,
  { key, rule }: { readonly key: string; readonly rule: Fields },
): readonly [DerivedAction, DerivedRule] {
  const { id } = action
  const own = { id: `$rules_${id.replace(':$', '_')}`, key: `${key}.sql`, sql: readText(rule, 'sql') }
  return [
    { ...action, key },
    { ...own, actions: [{ kind: 'action', id }] },
  ]
}

function createSqliteAction(path: string | undefined, row: TableRow, index: number): Unplaced {
  const action = createDefaultValues(sqliteAction)
  const parameters = {
    ...action.parameters,
    sql: formatInsertStatement(row),
    create_table: formatCreateTableStatement(row),
  }
  return {
    id: `sqlite:$rules_${index}`,
    type: 'sqlite',
    connector: { ...createDefaultValues(sqliteConnector), path: path ?? defaultFile },
    action: { ...action, parameters },
  }
}

function createSqlAction(
  type: (typeof databaseTypes)[Database],
  conn: NanoMqRulesConfig['mysql']['named'] extends ReadonlyMap<string, { readonly conn: infer Conn }> ? Conn : never,
  row: TableRow,
  name: string,
): Unplaced {
  const { host = '127.0.0.1', port, username, password, database } = conn
  const server = port === undefined ? host : `${host}:${port}`
  const action = createDefaultValues(sqlAction)
  return {
    id: `${type}:${name}`,
    type,
    connector: { ...createDefaultValues(sqlConnector), server, username, password, database },
    action: { ...action, parameters: { ...action.parameters, sql: formatInsertStatement(row) } },
  }
}

/** All columns as JSON go to a topic of another broker. */
function createRepublishAction(rule: Fields, index: number): Unplaced {
  const { server, ssl } = parseServer(readText(rule, 'server'))
  const usual = createDefaultValues(mqttConnector)
  const keepalive = rule.get('keepalive')
  const clientId = readText(rule, 'clientid')
  const version = `v${readText(rule, 'proto_ver') || '4'}` as 'v3' | 'v4' | 'v5'
  const action = createDefaultValues(mqttAction)
  return {
    id: `mqtt:$repub_${index}`,
    type: 'mqtt',
    connector: {
      ...usual,
      server: server === '' ? undefined : server,
      ssl: { ...usual.ssl, enable: ssl },
      proto_ver: version,
      clientid_prefix: clientId === '' ? undefined : clientId,
      keepalive: typeof keepalive === 'number' ? keepalive : usual.keepalive,
      username: readText(rule, 'username') || undefined,
      password: readText(rule, 'password') || undefined,
    },
    action: { ...action, parameters: { ...action.parameters, topic: readText(rule, 'topic') } },
  }
}

/** Returns the server of a URL. A text that an action cannot use stays unchanged, and is refused later as an address. */
export function parseServer(text: string): { readonly server: string; readonly ssl: boolean } {
  const parsed = text.includes('://') ? parseServerUrl(text) : undefined
  if (parsed === undefined || 'problem' in parsed) return { server: text, ssl: false }
  const { scheme, host, port } = parsed.url
  if (scheme !== 'tcp' && scheme !== 'tls') return { server: text, ssl: false }
  return { server: host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`, ssl: scheme === 'tls' }
}

function readText(fields: Fields, name: string): string {
  const value = fields.get(name)
  return typeof value === 'string' ? value : ''
}
