// Topics that are not for clients to publish to, also where nobody is denied anything by rules.

import { isBridgeClient } from '../model/bridge-client-id.ts'
import type { BrokerState } from '../state/broker-state.ts'
import { namespacesRoot } from '../namespaces/namespaced-names.ts'
import { isSourceClient, isSourceTopic } from '../model/source-topics.ts'
import { isBrokerTopic } from '../retained/retained-messages.ts'

/** With these a filter says how it is subscribed to: no filter leads to a topic that begins so, and none could take away what it remembers. */
const beginningsOfFilters = ['$share/', '$exclusive/']

/** What begins with `$SYS/` is the broker's own, and what namespaces have left behind that are switched off is theirs. */
export function isReservedTopic(state: BrokerState, topic: string, publisher: string): boolean {
  if (isBrokerTopic(topic) || beginningsOfFilters.some((beginning) => topic.startsWith(beginning))) return true
  if (isSourceTopic(topic)) return !isSourceClient(publisher)
  // Where there are namespaces, permissions have said who may.
  if (state.namespaces !== undefined || !topic.startsWith(namespacesRoot) || isBridgeClient(publisher)) return false
  return state.sessions.get(publisher)?.identity.isSuperuser !== true
}
