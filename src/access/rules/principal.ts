// The client of a request, as rules see it.

import { isInRange, parseAddress, type AclSubject, type Address } from '../../config/index.ts'

/** The parts of an identity that rules use. */
export interface Caller {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' if unknown. */
  readonly peerAddress: string
}

/** A client with its values for placeholders. */
export interface Principal {
  /** Undefined if the client ID must not be inserted into a rule. */
  readonly clientId: string | undefined
  readonly username: string | undefined
}

export function principalOf({ clientId, username }: Pick<Caller, 'clientId' | 'username'>): Principal {
  return { clientId: placeholderValue(clientId), username: placeholderValue(username) }
}

/**
 * A client chooses its names: wildcards and separators in them would make a rule match other topics, and so would a
 * name that turns the first level into a topic of the broker (`$SYS`).
 */
function placeholderValue(value: string | undefined): string | undefined {
  return value === undefined || value === '' || /[+#/\0]/.test(value) || value.startsWith('$') ? undefined : value
}

/** Returns the parsed address; undefined if unknown. */
export function addressOf({ peerAddress }: Caller): Address | undefined {
  return parseAddress(peerAddress)
}

/** Returns whether a rule for `who` concerns this client. For an unknown address the result is `ifUnknown`. */
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
