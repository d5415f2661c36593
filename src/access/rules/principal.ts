// Who asks, as rules see it.

import { isInRange, parseAddress, type AclSubject, type Address } from '../../config/index.ts'

/** What of an identity rules look at. */
export interface Caller {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' where it is not known. */
  readonly peerAddress: string
}

/** A client with its values for placeholders. */
export interface Principal {
  /** Undefined: the client is called something that must not be put into a rule. */
  readonly clientId: string | undefined
  readonly username: string | undefined
}

export function principalOf({ clientId, username }: Pick<Caller, 'clientId' | 'username'>): Principal {
  return { clientId: placeholderValue(clientId), username: placeholderValue(username) }
}

/**
 * A client chooses what it is called: wildcards and separators in it would make a rule match what it was not written
 * for, and so would a name that turns the first level into one of the broker's own (`$SYS`).
 */
function placeholderValue(value: string | undefined): string | undefined {
  return value === undefined || value === '' || /[+#/\0]/.test(value) || value.startsWith('$') ? undefined : value
}

/** The address in numbers; undefined where it is not known. */
export function addressOf({ peerAddress }: Caller): Address | undefined {
  return parseAddress(peerAddress)
}

/** Whether a rule for `who` is about this client. Of an address that is not known what `ifUnknown` says: that nothing holds. */
export function appliesTo(who: AclSubject, caller: Caller, address: Address | undefined, ifUnknown = false): boolean {
  switch (who.is) {
    case 'anybody':
      return true
    case 'username':
      return who.username === caller.username
    case 'clientid':
      return who.clientId === caller.clientId
    case 'address':
      return address === undefined ? ifUnknown : who.ranges.some((range) => isInRange(address, range))
    case 'all-of':
      return who.parts.every((part) => appliesTo(part, caller, address, ifUnknown))
    case 'any-of':
      return who.parts.some((part) => appliesTo(part, caller, address, ifUnknown))
    default:
      return who satisfies never
  }
}
