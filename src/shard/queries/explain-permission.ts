// Explains the permission of a client, with the same rules as for its packets.

import { type BrokerCore, type Identity, toNamespacePrefix, createIdentity } from '../../core/index.ts'
import type { AccessControl } from '../../access/index.ts'
import { removeFilterPrefix, type TopicFilter } from '../../protocol/index.ts'
import type { ExplainQuery, Explanation } from '../messages/query-types.ts'

/** The parts of a shard that an explanation needs. */
export interface ExplainDependencies {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain'>
}

export function explain({ core, access }: ExplainDependencies, query: ExplainQuery, nowMs: number): Explanation {
  const { clientId, action, topic } = query
  const status = core.view.findClientStatus(clientId, nowMs)
  const identity = resolveIdentity(query, status?.identity)
  // The core checks filters without `$share/group/` and `$exclusive/`.
  const bare = action === 'subscribe' ? removeFilterPrefix(topic as TopicFilter) : topic
  return {
    client: {
      hasSession: status !== undefined,
      isConnected: status?.isConnected === true,
      username: identity.username,
      address: identity.peerAddress === '' ? undefined : identity.peerAddress,
      authenticatedBy: identity.authenticatedBy,
      isSuperuser: identity.isSuperuser,
    },
    decision: access.explain(identity, action, bare),
    obstacle: core.view.findObstacle(action, topic),
    topicHere: `${status?.mountpoint ?? toNamespacePrefix(identity.namespace)}${topic}`,
    quotas: status?.quotas ?? [],
  }
}

/** Returns the identity of the session, unless the query has another user name or an address. */
function resolveIdentity({ clientId, username, address }: ExplainQuery, known: Identity | undefined): Identity {
  if (known !== undefined && (username === undefined || username === known.username) && address === undefined)
    return known
  return createIdentity(clientId, username ?? known?.username, address ?? known?.peerAddress ?? '')
}
