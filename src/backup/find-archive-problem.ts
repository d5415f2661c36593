// Archives of EMQX 5: META.hocon, cluster.hocon, and tables below mnesia/ in the external term format of Erlang.
//
// They are refused whole. A part of them would open what the rest closed: the configuration allows clients that only a table bans or denies.

import type { CheckedArchive } from './check-archive.ts'
import { quoteText } from '../archives/index.ts'
import { ownProduct, findMetaProblem } from './meta.ts'

const foreignTables = 'mnesia/'
const maxNamedTables = 20

/** The content of tables of EMQX 5, by name. Tables of namespaces end in `_ns`. */
const contents: Readonly<Record<string, string>> = {
  emqx_acl: 'access rules',
  emqx_admin: 'administrators',
  emqx_app: 'API keys',
  emqx_authn_mnesia: 'passwords of clients',
  emqx_authn_scram_mnesia: 'SCRAM users',
  emqx_banned: 'bans',
  emqx_banned_rules: 'bans',
  emqx_enhanced_authn_scram_mnesia: 'SCRAM users',
  emqx_psk: 'pre-shared keys',
  emqx_retainer_message: 'retained messages',
}

/** Returns why a broker of `version` cannot import an archive; undefined: it can. */
export function findArchiveProblem(checked: CheckedArchive, version: string): string | undefined {
  const { meta, unknown, configuration } = checked
  const tables = unknown.filter((name) => name.startsWith(foreignTables))
  // An archive of Godwit with such members was changed, and its check has failed.
  if (meta.product === ownProduct || tables.length === 0) return findMetaProblem(meta, version)
  const from = meta.version === undefined ? 'EMQX 5' : `EMQX, version ${quoteText(meta.version)}`
  const others = unknown.filter((name) => !name.startsWith(foreignTables)).map((name) => quoteText(name))
  const named = [...tables.map(describeTable), ...others]
  const more = named.length > maxNamedTables ? [`${named.length - maxNamedTables} more`] : []
  const settings = configuration === undefined ? [] : ['the configuration (cluster.hocon)']
  const list = [...settings, ...named.slice(0, maxNamedTables), ...more].join(', ')
  return `the archive was written by ${from}, and its tables are in a format of Erlang, which Godwit does not read. Nothing was imported, also not: ${list}. Check cluster.hocon with "godwit config check", and create users, rules and bans with "godwit ctl" or the API`
}

function describeTable(member: string): string {
  const name = member.slice(foreignTables.length)
  const content = Object.hasOwn(contents, name) ? contents[name] : contents[name.replace(/_ns$/, '')]
  return content === undefined ? quoteText(name) : `${content} (${name})`
}
