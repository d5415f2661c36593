// First levels of topics that are the broker's own, and what a change of a topic must not lead to.

import { delayedTopicPrefix, filterPrefixes, hasFixedRoot } from '../../protocol/index.ts'
import { namespacesRoot, removeNamespacePrefix } from '../namespaces/namespaced-names.ts'
import { bridgeMarksRoot } from './internal-clients.ts'
import { brokerNameTopic } from './internal-client-options.ts'
import { sourcesRoot } from './source-topics.ts'

/**
 * Topics of messages that only the broker publishes: events (`event_message`, and names of events in rules), and the state of bridges. A
 * receiver must be able to rely on the broker as the origin of these messages.
 */
const eventRoots = ['$event/', '$events/', bridgeMarksRoot, brokerNameTopic]

/** Topics that cannot be the result of a change, because they would lead out of the topics of the client or mean something else. */
const rootsNotAsResult = [...eventRoots, ...filterPrefixes, namespacesRoot, delayedTopicPrefix]

/** Returns whether the topic is one of `$event/`, `$events/`, `$bridge/` and `$godwit/broker`, which only the broker uses. */
export function isEventTopic(topic: string): boolean {
  return eventRoots.some((root) => topic.startsWith(root))
}

/** Topics below these, and `$SYS`, are refused inside a namespace or mount point too: nothing but the broker may use them. */
const rootsNotInside = [...eventRoots, ...filterPrefixes, sourcesRoot, namespacesRoot, '$SYS/']

/**
 * Returns whether no client may publish to the topic below a mount point, or in a namespace. For its clients, the broker is one of their own, in
 * which the topics of the broker are reserved.
 */
export function isReservedInside(topic: string): boolean {
  return topic.startsWith('$') && (topic === '$SYS' || rootsNotInside.some((root) => topic.startsWith(root)))
}

/** Returns whether the topic is in a namespace, and reserved there: see `isReservedInside`. */
export function isReservedInNamespace(topic: string): boolean {
  const inside = removeNamespacePrefix(topic)
  return inside !== undefined && isReservedInside(inside)
}

/**
 * Returns whether a topic or filter may be the result of a rewrite rule. `template` is the rule's `dest_topic`. The access rules have seen the
 * client's topic only, so the result must not be in another namespace, and must begin with `$` only if the template does.
 */
export function isValidRewriteResult(text: string, template: string): boolean {
  if (!text.startsWith('$')) return true
  return hasFixedRoot(template, text) && !rootsNotAsResult.some((root) => text.startsWith(root))
}
