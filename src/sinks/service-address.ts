// Addresses and TLS settings of services in connectors.

import { readFileSync } from 'node:fs'
import { type ConnectorsConfig, isPeerVerified } from '../config/index.ts'
import { isForbiddenAddress } from '../transports/index.ts'
import type { NamedValue } from './sink.ts'

/** The same for all connectors. */
export type TlsSettings = NamedValue<ConnectorsConfig['http']>['ssl']

/** Begins with the name of the setting. */
export function findServerProblem(
  { server }: { readonly server: string | undefined },
  defaultPort: number,
): string | undefined {
  if (server === undefined) return `server: write the address of the server, such as 127.0.0.1:${defaultPort}`
  const { host, port } = parseHostAndPort(server, defaultPort)
  if (host === '' || !Number.isInteger(port) || port < 1 || port > 65_535)
    return `server: ${JSON.stringify(server)} is not an address such as 127.0.0.1:${defaultPort}`
  if (isForbiddenAddress(host)) return `server: the address ${host} is denied by node.denied_addresses`
  return undefined
}

/** `host`, `host:port`, `[::1]:port`. */
export function parseHostAndPort(
  server: string,
  defaultPort: number,
): { readonly host: string; readonly port: number } {
  const found = /^(?:\[(?<six>[0-9A-Fa-f:.]+)\]|(?<host>[^:[\]]*))(?::(?<port>\d+))?$/.exec(server)
  if (found === null) return { host: '', port: 0 }
  const { six, host = '', port } = found.groups ?? {}
  return { host: six ?? host, port: port === undefined ? defaultPort : Number(port) }
}

/** TLS options in the form of Node.js. */
export type ServiceTls = {
  readonly rejectUnauthorized: boolean
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
}

/** Undefined: without TLS. */
export function toServiceTls(ssl: TlsSettings): ServiceTls | undefined {
  if (!ssl.enable) return undefined
  const [ca, cert, key] = [read(ssl.cacertfile), read(ssl.certfile), read(ssl.keyfile)]
  return {
    rejectUnauthorized: isPeerVerified(ssl),
    ...(ca === undefined ? {} : { ca }),
    ...(cert === undefined ? {} : { cert }),
    ...(key === undefined ? {} : { key }),
    ...(ssl.key_password === undefined ? {} : { passphrase: ssl.key_password }),
  }
}

function read(file: string | undefined): string | undefined {
  return file === undefined || file === '' ? undefined : readFileSync(file, 'utf8')
}
