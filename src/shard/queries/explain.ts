// Explains the permission of a client, with the same rules as for its packets.

import { type BrokerCore, type Identity, namespaceTopics, plainIdentity } from '../../core/index.ts'
import type { AccessControl } from '../../access/index.ts'
import { bareFilter, type TopicFilter } from '../../protocol/index.ts'
import type { ExplainQuery, Explanation } from '../messages/query-types.ts'

/** State of a shard that it needs. */
export interface ExplainDependencies {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain'>
}

export function explain({ core, access }: ExplainDependencies, asked: ExplainQuery, nowMs: number): Explanation {
  const { clientId, action, topic } = asked
  const standing = core.view.clientStatus(clientId, nowMs)
  const who = identityFor(asked, standing?.identity)
  // As the core checks it: without prefixes of subscriptions.
  const bare = action === 'subscribe' ? bareFilter(topic as TopicFilter) : topic
  return {
    client: {
      hasSession: standing !== undefined,
      isConnected: standing?.isConnected === true,
      username: who.username,
      address: who.peerAddress === '' ? undefined : who.peerAddress,
      authenticatedBy: who.authenticatedBy,
      isSuperuser: who.isSuperuser,
    },
    decision: access.explain(who, action, bare),
    obstacle: core.view.obstacle(action, topic),
    topicHere: `${standing?.mountpoint ?? namespaceTopics(who.namespace)}${topic}`,
    quotas: standing?.quotas ?? [],
  }
}

/** The identity of a connected client; for others the identity of the query. */
function identityFor({ clientId, username, address }: ExplainQuery, known: Identity | undefined): Identity {
  if (known !== undefined && (username === undefined || username === known.username) && address === undefined)
    return known
  return plainIdentity(clientId, username ?? known?.username, address ?? known?.peerAddress ?? '')
}
