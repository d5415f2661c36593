// Addresses that a configured name must not resolve to: link-local ones, which include the metadata services of clouds
// with the credentials of the machine. They are checked after each lookup, so a later change of DNS has no effect.

import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const forbidden = new BlockList()
forbidden.addSubnet('169.254.0.0', 16, 'ipv4')
forbidden.addSubnet('0.0.0.0', 8, 'ipv4')
forbidden.addSubnet('224.0.0.0', 3, 'ipv4')
forbidden.addSubnet('fe80::', 10, 'ipv6')
forbidden.addSubnet('ff00::', 8, 'ipv6')
// The IPv6 address of a metadata service.
forbidden.addAddress('fd00:ec2::254', 'ipv6')
forbidden.addAddress('::', 'ipv6')

/** Loopback, and private networks. */
const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

let denied = new BlockList()

/** Cached decisions, because an address is checked for each request to a service. */
const known = new Map<string, boolean>()
const maxKnown = 1_000

/**
 * Sets the denied addresses of the configuration for this thread: addresses, networks, `loopback`, `private`. Replaces
 * earlier ones.
 */
export function denyAddresses(ranges: readonly string[]): void {
  known.clear()
  denied = new BlockList()
  for (const range of ranges.flatMap((word) => namedRanges[word] ?? [word])) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) denied.addAddress(address, family)
    else denied.addSubnet(address, Number(prefix), family)
  }
}

/** Returns whether an address, with or without brackets, is forbidden. Returns false for a host name. */
export function isForbiddenAddress(host: string): boolean {
  let isForbidden = known.get(host)
  if (isForbidden !== undefined) return isForbidden
  isForbidden = isInLists(host)
  if (known.size >= maxKnown) known.clear()
  known.set(host, isForbidden)
  return isForbidden
}

function isInLists(host: string): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host
  const family = isIP(address)
  // The list itself finds IPv4 addresses in IPv6 form (::ffff:169.254.0.1).
  const kind = family === 6 ? 'ipv6' : 'ipv4'
  return family !== 0 && (forbidden.check(address, kind) || denied.check(address, kind))
}

/** Like `dns.lookup`, without forbidden addresses. */
export const lookUpAllowedAddresses: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, '', 0)
    const allowed = found.filter(({ address }) => !isForbiddenAddress(address))
    if (allowed.length === 0) return callback(createForbiddenAddressError(hostname), '', 0)
    if (options.all === true) return callback(null, allowed)
    return callback(null, allowed[0].address, allowed[0].family)
  })
}

function createForbiddenAddressError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has only denied addresses`), { code: 'EADDRNOTAVAIL' })
}
