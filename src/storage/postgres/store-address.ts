// The address of a PostgreSQL of the cluster: one entry of `cluster.stores`.
//
//   postgres://user:password@db1:5432,db2:5432/godwit?sslmode=verify-full&sslrootcert=/etc/ssl/db.pem
//
// As in libpq, several hosts are the members of one replicated database. Only a member that accepts writes is used.

import { isIP } from 'node:net'
import { isLoopback } from '../../transports/index.ts'

export interface StoreHost {
  readonly host: string
  readonly port: number
}

export type SslMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

export interface StoreAddress {
  /** In the order in which they are tried. */
  readonly hosts: readonly StoreHost[]
  readonly database: string
  readonly user: string
  readonly password: string | undefined
  readonly sslMode: SslMode
  /** Paths of PEM files; undefined: the certificates of Node.js, no client certificate. */
  readonly rootCertificateFile: string | undefined
  readonly certificateFile: string | undefined
  readonly keyFile: string | undefined
}

const defaultPort = 5_432
const maxHosts = 16
const sslModes: readonly SslMode[] = ['disable', 'require', 'verify-ca', 'verify-full']
/** Values that mean what is done anyway. */
const sessionAttributes: readonly string[] = ['read-write', 'primary']
const knownParameters: readonly string[] = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'target_session_attrs']
const urlPattern =
  /^postgres(?:ql)?:\/\/(?:(?<user>[^:@/?#]*)(?::(?<password>[^@/?#]*))?@)?(?<hosts>[^/?#]*)(?:\/(?<database>[^/?#]*))?(?:\?(?<query>[^#]*))?$/

/** Returns the address, or why the URL is not accepted. The problem contains no password. */
export function parseStoreUrl(url: string): StoreAddress | { readonly problem: string } {
  const found = urlPattern.exec(url)?.groups
  if (found === undefined) return { problem: 'is not a URL such as postgres://user:password@host:5432/database' }
  const { user, password, hosts: hostList = '', database, query } = found
  const hosts: StoreHost[] = []
  for (const text of hostList.split(',')) {
    const host = parseStoreHost(text)
    if (host === undefined) return { problem: `has an invalid host: ${JSON.stringify(text)}; write host or host:port` }
    hosts.push(host)
  }
  if (hosts.length > maxHosts) return { problem: `has ${hosts.length} hosts; maximum ${maxHosts}` }
  if (user === undefined || user === '') return { problem: 'has no user; write postgres://user@host/database' }
  if (database === undefined || database === '') {
    return { problem: 'has no database; write postgres://user@host/database' }
  }
  const parameters = new URLSearchParams(query)
  const problem = findParameterProblem(parameters)
  if (problem !== undefined) return { problem }
  try {
    return {
      hosts,
      database: decodeURIComponent(database),
      user: decodeURIComponent(user),
      password: password === undefined ? undefined : decodeURIComponent(password),
      sslMode: sslModes.find((mode) => mode === parameters.get('sslmode')) ?? chooseSslMode(hosts),
      rootCertificateFile: parameters.get('sslrootcert') ?? undefined,
      certificateFile: parameters.get('sslcert') ?? undefined,
      keyFile: parameters.get('sslkey') ?? undefined,
    }
  } catch {
    return { problem: 'has an invalid percent encoding in user, password or database' }
  }
}

/** Returns hosts and database, without secrets, for messages. */
export function formatStoreAddress({ hosts, database }: StoreAddress): string {
  return `${hosts.map(formatStoreHost).join(',')}/${database}`
}

export function formatStoreHost({ host, port }: StoreHost): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`
}

function parseStoreHost(text: string): StoreHost | undefined {
  const found = /^(?:\[(?<six>[0-9A-Fa-f:.]+)\]|(?<name>[^:[\]\s]+))(?::(?<port>\d{1,5}))?$/.exec(text)?.groups
  const host = found?.['six'] ?? found?.['name']
  const port = found?.['port'] === undefined ? defaultPort : Number(found['port'])
  return host === undefined || port < 1 || port > 65_535 ? undefined : { host, port }
}

/** Without `sslmode`, only connections within this machine are not encrypted. */
function chooseSslMode(hosts: readonly StoreHost[]): SslMode {
  return hosts.every(({ host }) => host === 'localhost' || (isIP(host) !== 0 && isLoopback(host)))
    ? 'disable'
    : 'verify-full'
}

function findParameterProblem(parameters: URLSearchParams): string | undefined {
  for (const [name, value] of parameters) {
    if (!knownParameters.includes(name)) {
      return `has the unknown parameter ${JSON.stringify(name)}; known are ${knownParameters.join(', ')}`
    }
    if (name === 'sslmode' && !sslModes.some((mode) => mode === value)) {
      return `has an unknown sslmode: ${JSON.stringify(value)}; known are ${sslModes.join(', ')}`
    }
    if (name === 'target_session_attrs' && !sessionAttributes.includes(value)) {
      return `has target_session_attrs=${JSON.stringify(value)}; only a server that accepts writes can be used: remove it`
    }
  }
  return undefined
}
