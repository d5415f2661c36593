// Converts an address from a proxy into the canonical form.

import { isIP, isIPv4, SocketAddress } from 'node:net'

/**
 * IPv4 in IPv6 form becomes IPv4. Undefined if it is not an address, or has a zone (`%eth0`), which is meaningful only
 * on the proxy's machine.
 */
export function parseProxiedAddress(text: string): string | undefined {
  const family = isIP(text)
  if (family === 0 || text.includes('%')) return undefined
  if (family === 4) return text
  const { address } = new SocketAddress({ family: 'ipv6', address: text })
  const mapped = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : ''
  return isIPv4(mapped) ? mapped : address
}
