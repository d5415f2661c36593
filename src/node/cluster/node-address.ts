// The address of a node as the database has it: `host:port`, an IPv6 address in brackets.

import type { NodeAddress } from '../../links/index.ts'

const pattern = /^(?:\[(?<ipv6>[^\]]+)\]|(?<host>[^:[\]]+)):(?<port>\d{1,5})$/
/** Heartbeat connections use the next port. */
const maxPort = 65_534

export function formatNodeAddress({ host, port }: NodeAddress): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
}

/** Returns undefined if the text is not an address. */
export function parseNodeAddress(text: string): NodeAddress | undefined {
  const found = pattern.exec(text)?.groups
  const host = found?.['ipv6'] ?? found?.['host']
  const port = Number(found?.['port'])
  return host === undefined || port < 1 || port > maxPort ? undefined : { host, port }
}
