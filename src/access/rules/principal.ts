// The client of a request, as rules see it.

import { isInRange, parseAddress, type AclSubject, type Address } from '../../config/index.ts'

/** The facts about a client that access rules compare. */
export interface RuleClient {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' if unknown. */
  readonly peerAddress: string
}

/** The values of a client that rules insert for placeholders. */
export interface Principal {
  /** Undefined if the client ID must not be inserted into a rule. */
  readonly clientId: string | undefined
  readonly username: string | undefined
}

export function principalOf({ clientId, username }: Pick<RuleClient, 'clientId' | 'username'>): Principal {
  return { clientId: placeholderValue(clientId), username: placeholderValue(username) }
}

/**
 * Returns the value that rules insert; undefined if it is empty, contains a wildcard, `/` or NUL, or begins with `$`. A
 * client chooses its names, and could otherwise change which topics a rule matches.
 */
function placeholderValue(value: string | undefined): string | undefined {
  return value === undefined || value === '' || /[+#/\0]/.test(value) || value.startsWith('$') ? undefined : value
}

/** Returns the parsed address; undefined if unknown. */
export function addressOf({ peerAddress }: RuleClient): Address | undefined {
  return parseAddress(peerAddress)
}

/** Returns whether a rule for `who` concerns this client. For an unknown address the result is `ifUnknown`. */
export function appliesTo(
  who: AclSubject,
  client: RuleClient,
  address: Address | undefined,
  ifUnknown = false,
): boolean {
  switch (who.is) {
    case 'anybody':
      return true
    case 'username':
      return who.username === client.username
    case 'clientid':
      return who.clientId === client.clientId
    case 'address':
      return address === undefined ? ifUnknown : who.ranges.some((range) => isInRange(address, range))
    case 'all-of':
      return who.parts.every((part) => appliesTo(part, client, address, ifUnknown))
    case 'any-of':
      return who.parts.some((part) => appliesTo(part, client, address, ifUnknown))
    default:
      return who satisfies never
  }
}
