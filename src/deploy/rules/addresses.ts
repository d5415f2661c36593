// IP addresses and networks as Kubernetes writes them.

import { parseAddress, parseAddressRange } from '../../config/index.ts'

/** Returns whether the text is an IPv4 or IPv6 address. */
export function isAddress(text: string): boolean {
  return parseAddress(text) !== undefined && !text.includes('%')
}

/** Returns whether the text is a network: address, slash, length of the prefix. */
export function isNetwork(text: string): boolean {
  return /^[0-9a-fA-F.:]+\/[0-9]{1,3}$/.test(text) && parseAddressRange(text) !== undefined
}

/** Returns whether the text is an address or a network. */
export function isAddressOrNetwork(text: string): boolean {
  return text.includes('/') ? isNetwork(text) : isAddress(text)
}
