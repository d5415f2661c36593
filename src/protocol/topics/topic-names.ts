// Topic names and topic filters (section 4.7 of both standards), as types that only the parsers create.

/** Prefix of topics for delayed messages, before the delay in seconds and the topic: `$delayed/10/a/b`. */
export const delayedTopicPrefix = '$delayed/'

/** Topic of a message: 1 to 65,535 bytes of UTF-8, without wildcards and U+0000. */
export type TopicName = string & { readonly made: 'topic-name' }

/** Filter of a subscription, with valid wildcards; a shared one begins with `$share/group/`. */
export type TopicFilter = string & { readonly made: 'topic-filter' }

const maxTopicBytes = 65_535
const sharePrefix = '$share/'
/** Not in the standard: `$queue/filter` is the shared subscription of one group of this name. EMQX has it as well. */
const queuePrefix = '$queue/'
const queueGroup = '$queue'
/** Not in the standard: prefix of a subscription that one session has at a time. The filter after it is not shared. */
const exclusivePrefix = '$exclusive/'

/** Returns undefined if `text` is not a topic name [MQTT-3.3.2-2] [MQTT-4.7.3-1..3] [MQTT5-3.3.2-2] [MQTT5-4.7.3-1..3]. */
export function parseTopicName(text: string): TopicName | undefined {
  return isTopicText(text) && !hasWildcard(text) ? (text as TopicName) : undefined
}

/**
 * Returns undefined if `text` is not a topic filter: `+` is the whole level [MQTT-4.7.1-3], `#` the whole last level
 * [MQTT-4.7.1-2]. A shared filter needs a group without wildcards and a filter [MQTT5-4.8.2-1, -2]. Clients of 3.1 and
 * 3.1.1 may use shared subscriptions as well. `$queue/filter` becomes `$share/$queue/filter`, so that both are one subscription.
 */
export function parseTopicFilter(text: string): TopicFilter | undefined {
  if (!isTopicText(text)) return undefined
  if (text.startsWith(queuePrefix))
    return parseTopicFilter(`${sharePrefix}${queueGroup}/${text.slice(queuePrefix.length)}`)
  if (text.startsWith(exclusivePrefix)) return isExclusiveFilter(text) ? (text as TopicFilter) : undefined
  if (!text.startsWith(sharePrefix)) return hasValidWildcards(text) ? (text as TopicFilter) : undefined
  const groupEnd = text.indexOf('/', sharePrefix.length)
  const group = text.slice(sharePrefix.length, groupEnd === -1 ? undefined : groupEnd)
  const filter = groupEnd === -1 ? '' : text.slice(groupEnd + 1)
  const isShared = group !== '' && !hasWildcard(group) && filter !== '' && hasValidWildcards(filter)
  // The filter of a shared subscription cannot be shared itself.
  return isShared && !hasFilterPrefix(filter) ? (text as TopicFilter) : undefined
}

/** Prefixes of filters, after which another filter follows. No subscription matches topics that begin so. */
export const filterPrefixes: readonly string[] = [sharePrefix, queuePrefix, exclusivePrefix]

/** Returns whether the text has one of `filterPrefixes`. */
export function hasFilterPrefix(text: string): boolean {
  return filterPrefixes.some((prefix) => text.startsWith(prefix))
}

/** Returns a filter as clients and the API write it: `$queue/filter` for the group of that name. */
export function writeFilter(filter: TopicFilter): string {
  const start = `${sharePrefix}${queueGroup}/`
  return filter.startsWith(start) ? `${queuePrefix}${filter.slice(start.length)}` : filter
}

function isExclusiveFilter(text: string): boolean {
  const filter = text.slice(exclusivePrefix.length)
  return filter !== '' && !hasFilterPrefix(filter) && hasValidWildcards(filter)
}

/** Returns the group and the filter of a shared subscription; undefined if the filter is not shared. */
export function splitSharedFilter(filter: TopicFilter): { group: string; filter: TopicFilter } | undefined {
  if (!filter.startsWith(sharePrefix)) return undefined
  const groupEnd = filter.indexOf('/', sharePrefix.length)
  return { group: filter.slice(sharePrefix.length, groupEnd), filter: filter.slice(groupEnd + 1) as TopicFilter }
}

/** Returns the filter of an exclusive subscription without `$exclusive/`; undefined if the filter is not exclusive. */
export function splitExclusiveFilter(filter: TopicFilter): TopicFilter | undefined {
  return filter.startsWith(exclusivePrefix) ? (filter.slice(exclusivePrefix.length) as TopicFilter) : undefined
}

/** Returns the filter that topics are compared with: without `$share/group/` and `$exclusive/`. */
export function removeFilterPrefix(filter: TopicFilter): TopicFilter {
  return splitSharedFilter(filter)?.filter ?? splitExclusiveFilter(filter) ?? filter
}

/** Returns whether `text` contains `+` or `#`. */
export function hasWildcard(text: string): boolean {
  return text.includes('+') || text.includes('#')
}

/** Returns the number of levels, which is one more than the number of separators. */
export function countLevels(text: string): number {
  let levels = 1
  for (let at = text.indexOf('/'); at !== -1; at = text.indexOf('/', at + 1)) levels++
  return levels
}

/**
 * Returns whether a subscription to `filter` (without `$share/group/`) receives messages of `topic`. It is slow and
 * simple: faster implementations are tested against it. A wildcard in the first level never matches a topic that begins with `$`
 * [MQTT-4.7.2-1] [MQTT5-4.7.2-1].
 */
export function matchesFilter(filter: string, topic: string): boolean {
  return matchesLevels(filter.split('/'), topic)
}

/** Does the same as `matchesFilter`, with the levels of a filter that is compared with many topics. */
export function matchesLevels(filterLevels: readonly string[], topic: string): boolean {
  const given = topic.split('/')
  if (topic.startsWith('$') && (filterLevels[0] === '+' || filterLevels[0] === '#')) return false
  for (const [index, level] of filterLevels.entries()) {
    // `#` also stands for the level above it: `sport/#` matches `sport` [section 4.7.1.2].
    if (level === '#') return true
    if (index >= given.length) return false
    if (level !== '+' && level !== given[index]) return false
  }
  return filterLevels.length === given.length
}

function isTopicText(text: string): boolean {
  if (text === '' || text.includes('\0')) return false
  // The cheap check comes first: a unit of UTF-16 has at most three bytes in UTF-8.
  return (text.length * 3 <= maxTopicBytes || Buffer.byteLength(text) <= maxTopicBytes) && text.isWellFormed()
}

function hasValidWildcards(text: string): boolean {
  if (!hasWildcard(text)) return true
  const levels = text.split('/')
  return levels.every((level, index) => {
    if (level === '+') return true
    if (level === '#') return index === levels.length - 1
    return !hasWildcard(level)
  })
}
