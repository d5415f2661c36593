// What the subscriptions of one session cost: their bytes, and how many of them one topic can match.
//
// Of the filters with wildcards in the same places and with the same levels, a topic matches one at most: its own levels say which.
//
//   a/+/c   b/+/c   x/+/y     one pattern  .+.     a topic matches one of them
//   a/b/+                     another      ..+
//
// So the number of patterns bounds how many of a session's subscriptions a message can match, however many there are. A shared
// subscription delivers for each of its groups, so a pattern counts once for each group.

import { bareFilter, splitSharedFilter, type TopicFilter } from '../../../protocol/index.ts'

export class SubscriptionUsage {
  /** Of filters in UTF-8. */
  bytes = 0
  readonly #patterns = new Map<string, number>()

  /** Subscriptions of the session that one topic can match, at most. */
  get overlapping(): number {
    return this.#patterns.size
  }

  /** Whether the filter has a pattern that no other has. */
  isNewPattern(filter: TopicFilter): boolean {
    return !this.#patterns.has(patternOf(filter))
  }

  add(filter: TopicFilter): void {
    const pattern = patternOf(filter)
    this.bytes += Buffer.byteLength(filter)
    this.#patterns.set(pattern, (this.#patterns.get(pattern) ?? 0) + 1)
  }

  remove(filter: TopicFilter): void {
    const pattern = patternOf(filter)
    const count = this.#patterns.get(pattern)
    if (count === undefined) return
    this.bytes -= Buffer.byteLength(filter)
    if (count === 1) this.#patterns.delete(pattern)
    else this.#patterns.set(pattern, count - 1)
  }
}

/** Group, and the places of wildcards. All filters without wildcards are one pattern: a topic is equal to one of them at most. */
function patternOf(filter: TopicFilter): string {
  const group = splitSharedFilter(filter)?.group ?? ''
  const bare = bareFilter(filter)
  if (!bare.includes('+') && !bare.includes('#')) return group
  let pattern = `${group}/`
  for (const level of bare.split('/')) pattern += level === '+' || level === '#' ? level : '.'
  return pattern
}
