// The cost of the subscriptions of one session: their bytes, and how many of them one topic can match.
//
// Of filters with wildcards at the same levels and the same number of levels, a topic matches at most one.
//
//   a/+/c   b/+/c   x/+/y     one pattern  .+.     a topic matches one of them
//   a/b/+                     another      ..+
//
// So the number of patterns limits how many of a session's subscriptions a message can match. Each shared subscription
// group receives its own copy, so a pattern counts once for each group.

import { removeFilterPrefix, splitSharedFilter, type TopicFilter } from '../../../protocol/index.ts'

export class SubscriptionUsage {
  /** Bytes of the filters in UTF-8. */
  bytes = 0
  readonly #patterns = new Map<string, number>()

  /** Maximum number of subscriptions of the session that one topic can match. */
  get overlapping(): number {
    return this.#patterns.size
  }

  /** Returns whether no other filter has this pattern. */
  isNewPattern(filter: TopicFilter): boolean {
    return !this.#patterns.has(toPattern(filter))
  }

  add(filter: TopicFilter): void {
    const pattern = toPattern(filter)
    this.bytes += Buffer.byteLength(filter)
    this.#patterns.set(pattern, (this.#patterns.get(pattern) ?? 0) + 1)
  }

  remove(filter: TopicFilter): void {
    const pattern = toPattern(filter)
    const count = this.#patterns.get(pattern)
    if (count === undefined) return
    this.bytes -= Buffer.byteLength(filter)
    if (count === 1) this.#patterns.delete(pattern)
    else this.#patterns.set(pattern, count - 1)
  }
}

/**
 * The group and the levels of wildcards. All filters without wildcards are one pattern: a topic equals at most one of
 * them.
 */
function toPattern(filter: TopicFilter): string {
  const group = splitSharedFilter(filter)?.group ?? ''
  const bare = removeFilterPrefix(filter)
  if (!bare.includes('+') && !bare.includes('#')) return group
  let pattern = `${group}/`
  for (const level of bare.split('/')) pattern += level === '+' || level === '#' ? level : '.'
  return pattern
}
