// The client of a request, as rules see it.

import { asTopicPart } from '../../protocol/index.ts'
import { isInRange, parseAddress, type AclSubject, type Address } from '../../config/index.ts'

/** The facts about a client that access rules compare. */
export interface RuleClient {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' if unknown. */
  readonly peerAddress: string
}

/** The values of a client that rules insert for placeholders: see `asTopicPart`. */
export interface Principal {
  /** Undefined if the client ID must not be inserted into a rule. */
  readonly clientId: string | undefined
  readonly username: string | undefined
}

export function principalOf({ clientId, username }: Pick<RuleClient, 'clientId' | 'username'>): Principal {
  return { clientId: asTopicPart(clientId), username: asTopicPart(username) }
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
