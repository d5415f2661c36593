// Addresses that no service of the operator's has, and that a name may point to all the same: other machines on
// the link, among them the place where clouds keep the credentials of the machine. Checked when a name has been looked up,
// and so after every change of mind of a name server.

import { lookup } from 'node:dns'
import { BlockList, isIP, type LookupFunction } from 'node:net'

const forbidden = new BlockList()
forbidden.addSubnet('169.254.0.0', 16, 'ipv4')
forbidden.addSubnet('0.0.0.0', 8, 'ipv4')
forbidden.addSubnet('224.0.0.0', 3, 'ipv4')
forbidden.addSubnet('fe80::', 10, 'ipv6')
forbidden.addSubnet('ff00::', 8, 'ipv6')
// The same place of a cloud, by IPv6.
forbidden.addAddress('fd00:ec2::254', 'ipv6')
forbidden.addAddress('::', 'ipv6')

/** Loopback, and networks that are of one house. */
const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1'],
  private: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

let denied = new BlockList()

/** The operator's own, for this thread: addresses, networks, `loopback`, `private`. In place of those that were said before. */
export function denyAddresses(ranges: readonly string[]): void {
  denied = new BlockList()
  for (const range of ranges.flatMap((word) => namedRanges[word] ?? [word])) {
    const [address = '', prefix] = range.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (prefix === undefined) denied.addAddress(address, family)
    else denied.addSubnet(address, Number(prefix), family)
  }
}

/** An address, with brackets or without, that is not asked. A name is none. */
export function isForbiddenAddress(host: string): boolean {
  const address = host.startsWith('[') ? host.slice(1, -1) : host
  const family = isIP(address)
  // IPv4 addresses that are written as IPv6 (::ffff:169.254.0.1) are found by the list itself.
  const kind = family === 6 ? 'ipv6' : 'ipv4'
  return family !== 0 && (forbidden.check(address, kind) || denied.check(address, kind))
}

/** As `dns.lookup`, without what is forbidden. */
export const safeLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, found) => {
    if (error !== null) return callback(error, '', 0)
    const allowed = found.filter(({ address }) => !isForbiddenAddress(address))
    if (allowed.length === 0) return callback(forbiddenAddressError(hostname), '', 0)
    if (options.all === true) return callback(null, allowed)
    return callback(null, allowed[0].address, allowed[0].family)
  })
}

function forbiddenAddressError(hostname: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${hostname} has only addresses that are not asked`), { code: 'EADDRNOTAVAIL' })
}
