// An address that a proxy has written down, in the one spelling in which clients are known.

import { isIP, isIPv4, SocketAddress } from 'node:net'

/**
 * IPv4 in the clothes of IPv6 is IPv4. Undefined: it is no address, or one with a zone (`%eth0`), which is of the machine of
 * the proxy and means nothing here.
 */
export function proxiedAddress(text: string): string | undefined {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return undefined
  if (family === 4) return text
  const { address } = new SocketAddress({ family: 'ipv6', address: text })
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : ''
  return isIPv4(mapped) ? mapped : address
}
