// Topics that clients cannot publish to, whatever the access rules say.

import { hasFilterPrefix } from '../../protocol/index.ts'
import { isInternalClient } from '../messages/internal-clients.ts'
import { isEventTopic, isReservedInNamespace } from '../messages/reserved-roots.ts'
import type { Parts } from '../state/parts.ts'
import { namespacesRoot } from '../namespaces/namespaced-names.ts'
import { isSourceClient, isSourceTopic } from '../messages/source-topics.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'

/**
 * Returns whether the topic is reserved: topics below `$SYS/` and `$event/` belong to the broker, and retained messages of disabled
 * namespaces belong to those namespaces. The same topics are reserved inside each namespace. No subscription matches topics like `$share/` and `$queue/`.
 */
export function isReservedTopic(state: Parts<'namespaces' | 'sessions'>, topic: string, publisher: string): boolean {
  if (isBrokerTopic(topic) || isEventTopic(topic) || hasFilterPrefix(topic)) return true
  if (isReservedInNamespace(topic)) return true
  if (isSourceTopic(topic)) return !isSourceClient(publisher)
  // With namespaces, the permissions have decided.
  if (state.namespaces.settings !== undefined || !topic.startsWith(namespacesRoot) || isInternalClient(publisher))
    return false
  return state.sessions.get(publisher)?.identity.isSuperuser !== true
}
