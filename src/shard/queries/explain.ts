// Why a client may or may not do something: by the same rules that are asked when it does.

import { type BrokerCore, type Identity, namespaceTopics, plainIdentity } from '../../core/index.ts'
import type { AccessControl } from '../../access/index.ts'
import { bareFilter, type TopicFilter } from '../../protocol/index.ts'
import type { ExplainQuery, Explanation } from '../messages/query-types.ts'

/** What a shard has of it. */
export interface ExplainDependencies {
  readonly core: BrokerCore
  readonly access: Pick<AccessControl, 'explain'>
}

export function explain({ core, access }: ExplainDependencies, asked: ExplainQuery, nowMs: number): Explanation {
  const { clientId, action, topic } = asked
  const standing = core.view.clientStatus(clientId, nowMs)
  const who = identityFor(asked, standing?.identity)
  // As the core asks it: without what says how it is subscribed to.
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

/** Who is there is who it is. Of others is assumed what the caller says. */
function identityFor({ clientId, username, address }: ExplainQuery, known: Identity | undefined): Identity {
  if (known !== undefined && (username === undefined || username === known.username) && address === undefined)
    return known
  return plainIdentity(clientId, username ?? known?.username, address ?? known?.peerAddress ?? '')
}
