// Topics that clients cannot publish to, whatever the access rules say.

import { isBridgeClient } from '../messages/bridge-client-id.ts'
import type { Parts } from '../state/parts.ts'
import { namespacesRoot } from '../namespaces/namespaced-names.ts'
import { isSourceClient, isSourceTopic } from '../messages/source-topics.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'

/**
 * Prefixes of filters with a special meaning. No subscription matches such a topic, and its retained message could not
 * be deleted.
 */
const beginningsOfFilters = ['$share/', '$exclusive/']

/**
 * Returns whether the topic is reserved: topics below `$SYS/` belong to the broker, and retained messages of disabled
 * namespaces belong to those namespaces.
 */
export function isReservedTopic(state: Parts<'namespaces' | 'sessions'>, topic: string, publisher: string): boolean {
  if (isBrokerTopic(topic) || beginningsOfFilters.some((beginning) => topic.startsWith(beginning))) return true
  if (isSourceTopic(topic)) return !isSourceClient(publisher)
  // With namespaces, the permissions have decided.
  if (state.namespaces.settings !== undefined || !topic.startsWith(namespacesRoot) || isBridgeClient(publisher))
    return false
  return state.sessions.get(publisher)?.identity.isSuperuser !== true
}
