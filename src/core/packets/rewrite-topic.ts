// From the client's topic to the topic within the broker: topic_rewrite, rate limits, mount point.

import { reasonCodes } from '../../protocol/index.ts'
import { endConnection } from '../connect/close-connection.ts'
import { countPublish } from '../connect/rate-limit.ts'
import { addMountpoint } from '../namespaces/mountpoint.ts'
import { splitNamespacedName } from '../namespaces/namespaced-names.ts'
import { isRewrittenWhenDue, rewritePublication } from '../publish/resolve-publication.ts'
import type { BrokerState } from '../state/broker-state.ts'
import type { Parts } from '../state/parts.ts'
import type { PublishAttempt } from '../state/publish-attempt.ts'

/** Applies topic_rewrite. A message whose topic would be invalid or reserved is denied. Topics of bridges are not rewritten. */
export function rewriteTopic(state: Parts<'matchRegex' | 'settings' | 'topics'>, attempt: PublishAttempt): void {
  const { connection, open, topic, delay } = attempt
  attempt.target = topic
  if (connection.listener.isInternal === true) return
  const { clientId, identity } = open.session
  const rewritten = rewritePublication(state, topic, {
    clientId: splitNamespacedName(clientId).name,
    username: identity.username,
  })
  if (rewritten === undefined) attempt.isDenied = true
  else if (delay === undefined || !isRewrittenWhenDue(identity)) attempt.target = rewritten
}

/** For clients with rate limits, a namespace or a mount point: counts the message, and adds the mount point. Returns false if the connection is closed. */
export function mountTopic(state: BrokerState, attempt: PublishAttempt): boolean {
  const { connection, packet } = attempt
  countPublish(state, connection, packet)
  if (connection.mountpoint === '') return true
  const mounted = addMountpoint(state.topics, connection.mountpoint, attempt.target)
  if (mounted === undefined) {
    const text = 'the topic is too long with its mount point'
    endConnection(state, connection, { reason: reasonCodes.topicNameInvalid, text, publishWill: true })
    return false
  }
  attempt.target = mounted
  return true
}
