// Topic names and topic filters (section 4.7 of both standards), as types that only parsing can make.

/** In front of the delay and the topic of a message that is published later: `$delayed/10/a/b`. */
export const delayedTopicPrefix = '$delayed/'

/** A topic that a message may be published to: 1 to 65,535 bytes of UTF-8, no wildcards, no U+0000. */
export type TopicName = string & { readonly made: 'topic-name' }

/** A filter that a client may subscribe to, wildcards in their places; with `$share/group/` in front if shared. */
export type TopicFilter = string & { readonly made: 'topic-filter' }

const maxTopicBytes = 65_535
const sharePrefix = '$share/'
/** Not of the standard: a subscription that no second session may have. Any filter may stand behind it but a shared one. */
const exclusivePrefix = '$exclusive/'

/** `undefined` where `text` is no topic name [MQTT-3.3.2-2] [MQTT-4.7.3-1..3] [MQTT5-3.3.2-2] [MQTT5-4.7.3-1..3]. */
export function parseTopicName(text: string): TopicName | undefined {
  return isTopicText(text) && !hasWildcard(text) ? (text as TopicName) : undefined
}

/**
 * `undefined` where `text` is no topic filter: `+` stands alone in its level [MQTT-4.7.1-3], `#` alone in the last
 * [MQTT-4.7.1-2]. What begins with `$share/` needs a group without wildcards and a filter behind it
 * [MQTT5-4.8.2-1, -2], in 3.1 and 3.1.1 as well: shared subscriptions are served to them too.
 */
export function parseTopicFilter(text: string): TopicFilter | undefined {
  if (!isTopicText(text)) return undefined
  if (text.startsWith(exclusivePrefix)) return isExclusiveFilter(text) ? (text as TopicFilter) : undefined
  if (!text.startsWith(sharePrefix)) return areWildcardsValid(text) ? (text as TopicFilter) : undefined
  const groupEnd = text.indexOf('/', sharePrefix.length)
  const group = text.slice(sharePrefix.length, groupEnd === -1 ? undefined : groupEnd)
  const filter = groupEnd === -1 ? '' : text.slice(groupEnd + 1)
  const isShared = group !== '' && !hasWildcard(group) && filter !== '' && areWildcardsValid(filter)
  // A share of a share would be a filter of its own kind behind the prefix: there is no such thing.
  return isShared && !filter.startsWith(sharePrefix) ? (text as TopicFilter) : undefined
}

function isExclusiveFilter(text: string): boolean {
  const filter = text.slice(exclusivePrefix.length)
  const isOfAKind = filter.startsWith(sharePrefix) || filter.startsWith(exclusivePrefix)
  return filter !== '' && !isOfAKind && areWildcardsValid(filter)
}

/** The group and the filter of a shared subscription, `undefined` where the filter is not shared. */
export function splitSharedFilter(filter: TopicFilter): { group: string; filter: TopicFilter } | undefined {
  if (!filter.startsWith(sharePrefix)) return undefined
  const groupEnd = filter.indexOf('/', sharePrefix.length)
  return { group: filter.slice(sharePrefix.length, groupEnd), filter: filter.slice(groupEnd + 1) as TopicFilter }
}

/** The topic filter of an exclusive subscription, `$exclusive/` taken off; `undefined` where the filter is not exclusive. */
export function splitExclusiveFilter(filter: TopicFilter): TopicFilter | undefined {
  return filter.startsWith(exclusivePrefix) ? (filter.slice(exclusivePrefix.length) as TopicFilter) : undefined
}

/** What topics are compared with: without `$share/group/` and without `$exclusive/`. */
export function bareFilter(filter: TopicFilter): TopicFilter {
  return splitSharedFilter(filter)?.filter ?? splitExclusiveFilter(filter) ?? filter
}

/** Whether `+` or `#` stands anywhere in `text`. */
export function hasWildcard(text: string): boolean {
  return text.includes('+') || text.includes('#')
}

/** How many levels `text` has: one more than separators. */
export function countLevels(text: string): number {
  let levels = 1
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels++
  return levels
}

/**
 * Whether a subscription to `filter` (without `$share/group/`) receives what is published to `topic`. Slow and
 * plain: what faster ways must agree with. A wildcard in the first level never matches a topic that begins with `$`
 * [MQTT-4.7.2-1] [MQTT5-4.7.2-1].
 */
export function matchesFilter(filter: string, topic: string): boolean {
  return levelsMatch(filter.split('/'), topic)
}

/** The same, for a filter that is compared with many topics: its levels. */
export function levelsMatch(wanted: readonly string[], topic: string): boolean {
  const given = topic.split('/')
  if (topic.startsWith('$') && (wanted[0] === '+' || wanted[0] === '#')) return false
  for (const [index, level] of wanted.entries()) {
    // `#` also stands for the level above it: `sport/#` matches `sport` [section 4.7.1.2].
    if (level === '#') return true
    if (index >= given.length) return false
    if (level !== '+' && level !== given[index]) return false
  }
  return wanted.length === given.length
}

function isTopicText(text: string): boolean {
  if (text === '' || text.includes('\0')) return false
  // Cheap first: no character takes more than three bytes for each unit of UTF-16.
  return (text.length * 3 <= maxTopicBytes || Buffer.byteLength(text) <= maxTopicBytes) && text.isWellFormed()
}

function areWildcardsValid(text: string): boolean {
  if (!hasWildcard(text)) return true
  const levels = text.split('/')
  return levels.every((level, index) => {
    if (level === '+') return true
    if (level === '#') return index === levels.length - 1
    return !hasWildcard(level)
  })
}
