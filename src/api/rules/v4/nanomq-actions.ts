// Actions of rules in the form of NanoMQ's API: each contains the address of its service. It becomes a connector and an
// action of the configuration, which belong to the rule.

import { formatCreateTableStatement, formatInsertStatement, isTableName, parseServer } from '../../../config/index.ts'
import { type ApiError, refuse } from '../../../management/index.ts'
import { listSelectedNames } from '../../../rules/index.ts'
import { sinkTypes } from '../../../sinks/index.ts'
import { type ConfiguredAction, nanoMqPrefix, type SentAction } from './v4-actions.ts'

/** An action with its own connector. */
export interface NanoMqAction {
  readonly connector: ConfiguredAction
  readonly action: ConfiguredAction
}

interface Kind {
  readonly type: string
  readonly required: readonly string[]
  readonly optional: readonly string[]
}

const database = { required: ['table', 'username', 'password', 'host'], optional: ['database', 'port'] } as const
const kinds: Readonly<Record<string, Kind>> = {
  repub: {
    type: 'mqtt',
    required: ['topic', 'address'],
    optional: ['proto_ver', 'keepalive', 'clientid', 'username', 'password', 'clean_start'],
  },
  sqlite: { type: 'sqlite', required: ['table'], optional: [] },
  mysql: { type: 'mysql', ...database },
  postgresql: { type: 'pgsql', ...database },
  timescaledb: { type: 'timescale', ...database },
}
/** Path of the database file, relative to the data directory. */
const sqliteFile = 'rule_engine.db'

/** Returns whether a rule has the form of NanoMQ. */
export function isForNanoMq(actions: readonly SentAction[] | undefined): boolean {
  return actions?.some(({ name }) => Object.hasOwn(kinds, name)) === true
}

/** Reads the actions of rule `number`, or returns why they are invalid. */
export function readNanoMqActions(
  actions: readonly SentAction[],
  { number, sql }: { readonly number: number; readonly sql: string },
): readonly NanoMqAction[] | ApiError {
  const read: NanoMqAction[] = []
  for (const [place, { name, params = {} }] of actions.entries()) {
    const kind = Object.hasOwn(kinds, name) ? kinds[name] : undefined
    if (kind === undefined || !Object.hasOwn(sinkTypes, kind.type))
      return refuse('pluginClosed', `${JSON.stringify(name)} is not an action that this broker has`)
    const problem = checkParams(name, kind, params)
    if (problem !== undefined) return problem
    const own = `${nanoMqPrefix}${number}_${place}`
    const fields = listSelectedNames(sql)
    const service = kind.type === 'mqtt' ? createRepublish(params) : createTable(kind.type, params, fields)
    read.push({
      connector: { type: kind.type, name: own, settings: service.connector },
      action: { type: kind.type, name: own, settings: { connector: own, parameters: service.parameters } },
    })
  }
  return read
}

function checkParams(
  name: string,
  { required, optional }: Kind,
  params: Readonly<Record<string, unknown>>,
): ApiError | undefined {
  const missing = required.find((key) => params[key] === undefined)
  if (missing !== undefined) return refuse('missingParameter', `${name} needs ${missing} in params`)
  const unknown = Object.keys(params).find((key) => !required.includes(key) && !optional.includes(key))
  if (unknown !== undefined) return refuse('invalidParameter', `${name} has no parameter ${JSON.stringify(unknown)}`)
  const { table } = params
  if (table === undefined || (typeof table === 'string' && isTableName(table))) return undefined
  return refuse('invalidParameter', 'table is up to 63 letters, digits and _')
}

interface Service {
  readonly connector: Readonly<Record<string, unknown>>
  readonly parameters: Readonly<Record<string, unknown>>
}

/** The connector always connects with a clean start, whatever `clean_start` is. */
function createRepublish(params: Readonly<Record<string, unknown>>): Service {
  const { topic, address, clientid, clean_start: _, ...rest } = params
  const id = clientid === undefined ? {} : { clientid_prefix: clientid }
  const { server, ssl } = parseServer(String(address))
  return { connector: { server, ssl: { enable: ssl }, ...id, ...rest }, parameters: { topic, payload: '${.}' } }
}

function createTable(
  type: string,
  { table, host, port, ...rest }: Readonly<Record<string, unknown>>,
  fields: readonly (readonly string[])[] | undefined,
): Service {
  const row = { table: String(table), fields }
  const sql = formatInsertStatement(row)
  if (type === 'sqlite')
    return { connector: { path: sqliteFile }, parameters: { sql, create_table: formatCreateTableStatement(row) } }
  const server = typeof host === 'string' && typeof port === 'number' ? `${host}:${port}` : host
  return { connector: { server, ...rest }, parameters: { sql } }
}
