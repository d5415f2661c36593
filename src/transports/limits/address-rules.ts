// Access rules by client address.

import { BlockList, isIPv6 } from 'node:net'
import type { AccessRule } from '../../config/index.ts'

interface Rule {
  readonly isAllowed: boolean
  /** Undefined: all addresses. */
  readonly addresses: BlockList | undefined
}

export class AddressRules {
  readonly #rules: readonly Rule[]

  /** The ranges must be valid. */
  constructor(rules: readonly AccessRule[]) {
    this.#rules = rules.map(({ isAllowed, range }) => ({
      isAllowed,
      addresses: range === undefined ? undefined : createBlockList(range),
    }))
  }

  /**
   * The first matching rule decides. Without a match the result is the opposite of the last rule: rules that allow one
   * network allow only that, rules that deny one allow the others.
   */
  allows(address: string): boolean {
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    for (const { isAllowed, addresses } of this.#rules) {
      if (addresses === undefined || addresses.check(address, family)) return isAllowed
    }
    return this.#rules.at(-1)?.isAllowed !== true
  }
}

function createBlockList(range: string): BlockList {
  const [address = '', prefix] = range.split('/')
  const list = new BlockList()
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  if (prefix === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(prefix), family)
  return list
}
