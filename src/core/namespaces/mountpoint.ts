// A mount point is put before the topics of the clients of a listener: they live in a part of the topic tree and take it
// for the whole. Everything in the broker (subscriptions, queues, retained messages, records) has the topics with it; it
// is put on where a packet comes in, and taken off where one goes out.
//
//   client: PUBLISH lamp  ──►  site-7/lamp  ──►  client of the same mount point: lamp,  other clients: site-7/lamp

import {
  bareFilter,
  parseTopicFilter,
  parseTopicName,
  type Topic,
  type TopicFilter,
  type TopicTable,
} from '../../protocol/index.ts'

const placeholders = /\$\{(clientid|username)\}/g

/**
 * The mount point of one client; undefined where a placeholder has no value, or one with `+`, `#` or `/` in it, with
 * which the client would get into the part of another; or one that begins with `$` at the very front, with which it would
 * get among what is the broker's.
 */
export function mountpointFor(
  pattern: string,
  who: { readonly clientId: string; readonly username: string | undefined },
): string | undefined {
  let isSound = true
  const filled = pattern.replace(placeholders, (_, name: string) => {
    const value = name === 'clientid' ? who.clientId : (who.username ?? '')
    if (value === '' || /[+#/\0]/.test(value)) isSound = false
    return value
  })
  const isAmongOwn = filled.startsWith('$') && pattern.startsWith('${')
  return isSound && !isAmongOwn ? filled : undefined
}

/** Undefined where both together are longer than a topic may be. */
export function mountedTopic(topics: TopicTable, mountpoint: string, topic: Topic): Topic | undefined {
  const name = parseTopicName(mountpoint + topic.name)
  return name === undefined ? undefined : topics.named(name)
}

/** Behind `$share/group/` and `$exclusive/`. Undefined where both together are longer than a filter may be. */
export function mountedFilter(mountpoint: string, filter: TopicFilter): TopicFilter | undefined {
  if (mountpoint === '') return filter
  const bare = bareFilter(filter)
  return parseTopicFilter(`${filter.slice(0, filter.length - bare.length)}${mountpoint}${bare}`)
}

/** As a client of this mount point knows the topic; one that lies elsewhere has its whole name. */
export function topicBelow(topics: TopicTable, mountpoint: string, topic: Topic): Topic {
  if (mountpoint === '' || !topic.name.startsWith(mountpoint)) return topic
  const name = parseTopicName(topic.name.slice(mountpoint.length))
  return name === undefined ? topic : topics.named(name)
}
