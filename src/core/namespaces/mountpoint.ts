// A mount point is a prefix of all topics of a listener's clients: for them, the topics below the prefix are all topics.
// Inside the broker (subscriptions, queues, retained messages, records) all topics include it. It is added to received
// packets and removed from sent ones.
//
//   client: PUBLISH lamp  ──►  site-7/lamp  ──►  client of the same mount point: lamp,  other clients: site-7/lamp

import {
  removeFilterPrefix,
  fillTopicTemplate,
  parseTopicFilter,
  parseTopicName,
  type Topic,
  type TopicFilter,
  type TopicTable,
} from '../../protocol/index.ts'

/**
 * Returns the mount point of one client. Undefined if a placeholder has no value, or one that would give access to other topics: see
 * `fillTopicTemplate`.
 */
export function resolveMountpoint(
  pattern: string,
  client: { readonly clientId: string; readonly username: string | undefined },
): string | undefined {
  return fillTopicTemplate(pattern, { clientid: client.clientId, username: client.username })
}

/** Undefined if the result exceeds the length of a topic. */
export function addMountpoint(topics: TopicTable, mountpoint: string, topic: Topic): Topic | undefined {
  const name = parseTopicName(mountpoint + topic.name)
  return name === undefined ? undefined : topics.internName(name)
}

/**
 * Adds the mount point after `$share/group/` or `$exclusive/`. Undefined if the result exceeds the length of a filter.
 */
export function addFilterMountpoint(mountpoint: string, filter: TopicFilter): TopicFilter | undefined {
  if (mountpoint === '') return filter
  const bare = removeFilterPrefix(filter)
  return parseTopicFilter(`${filter.slice(0, filter.length - bare.length)}${mountpoint}${bare}`)
}

/** Returns the topic without the mount point; a topic outside of it stays complete. */
export function removeMountpoint(topics: TopicTable, mountpoint: string, topic: Topic): Topic {
  if (mountpoint === '' || !topic.name.startsWith(mountpoint)) return topic
  const name = parseTopicName(topic.name.slice(mountpoint.length))
  return name === undefined ? topic : topics.internName(name)
}
