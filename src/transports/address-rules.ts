// Who may connect, by address.

import { BlockList, isIPv6 } from 'node:net'

export interface AddressRule {
  readonly isAllowed: boolean
  /** An address, or a network such as `10.0.0.0/8`; undefined: every address. */
  readonly range: string | undefined
}

interface Rule {
  readonly isAllowed: boolean
  /** Undefined: all addresses are in it. */
  readonly addresses: BlockList | undefined
}

export class AddressRules {
  readonly #rules: readonly Rule[]

  /** The ranges are well formed. */
  constructor(rules: readonly AddressRule[]) {
    this.#rules = rules.map(({ isAllowed, range }) => ({
      isAllowed,
      addresses: range === undefined ? undefined : listOf(range),
    }))
  }

  /**
   * The first rule that fits decides; where none does, the opposite of the last: who allows one network means that one only,
   * who denies one means the others.
   */
  allows(address: string): boolean {
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    for (const { isAllowed, addresses } of this.#rules) {
      if (addresses === undefined || addresses.check(address, family)) return isAllowed
    }
    return this.#rules.at(-1)?.isAllowed !== true
  }
}

function listOf(range: string): BlockList {
  const [address = '', prefix] = range.split('/')
  const list = new BlockList()
  const family = isIPv6(address) ? 'ipv6' : 'ipv4'
  if (prefix === undefined) list.addAddress(address, family)
  else list.addSubnet(address, Number(prefix), family)
  return list
}
