// The client of a request, as rules see it.

import { toTopicPart } from '../../protocol/index.ts'
import { isInRange, parseAddress, type AclSubject, type Address } from '../../config/index.ts'

/** The facts about a client that access rules compare. */
export interface RuleClient {
  readonly namespace?: string | undefined
  readonly clientId: string
  readonly username: string | undefined
  /** '' if unknown. */
  readonly peerAddress: string
}

/** The values of a client that rules insert for placeholders: see `toTopicPart`. */
export interface Principal {
  /** Undefined if the client ID must not be inserted into a rule. */
  readonly clientId: string | undefined
  readonly username: string | undefined
}

export function toPrincipal({ clientId, username }: Pick<RuleClient, 'clientId' | 'username'>): Principal {
  return { clientId: toTopicPart(clientId), username: toTopicPart(username) }
}

/** Returns the parsed address; undefined if unknown. */
export function parseClientAddress({ peerAddress }: RuleClient): Address | undefined {
  return parseAddress(peerAddress)
}

/** Returns whether a rule for `who` concerns this client. For an unknown address the result is `ifUnknown`. */
export function matchesSubject(
  subject: AclSubject,
  client: RuleClient,
  address: Address | undefined,
  ifUnknown = false,
): boolean {
  switch (subject.is) {
    case 'anybody':
      return true
    case 'username':
      return subject.username === client.username
    case 'clientid':
      return subject.clientId === client.clientId
    case 'address':
      return address === undefined ? ifUnknown : subject.ranges.some((range) => isInRange(address, range))
    case 'all-of':
      return subject.parts.every((part) => matchesSubject(part, client, address, ifUnknown))
    case 'any-of':
      return subject.parts.some((part) => matchesSubject(part, client, address, ifUnknown))
    default:
      return subject satisfies never
  }
}
