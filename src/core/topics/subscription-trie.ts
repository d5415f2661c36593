// Filters without wildcards are looked up directly; the others are in a trie of their levels. A level `+` is an ordinary child.
// `#` is not a child but a second set of subscribers at the node before it, because nothing can follow.
//
//   exact:  'sensors/3/temperature' ──► { session 4 }
//
//   root ── 'sensors' ── '+' ── 'temperature' ── here: { session 7 }              sensors/+/temperature
//     │         │
//     │         └─ below: { session 2, session 9, group 'workers' }               sensors/#
//     └─ below: { session 1 }                                                     #
//
// Empty nodes are removed. Matching looks up two children per level, so filters that share no level with a topic cost nothing. All
// walks are loops, so deep filters need no stack.

import { hasWildcard, splitSharedFilter, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import { namespaceLevels, removeNamespacePrefix } from '../namespaces/namespaced-names.ts'
import { FilterSubscribers, WildcardSubscribers } from './filter-subscribers.ts'
import { LargeMap } from './large-map.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import { pruneUpwards, TrieNode } from './trie-node.ts'

/** All subscriptions, found by the topics that they match. */
export class SubscriptionTrie<S extends object, O = SubscriptionOptions> {
  readonly #exact: LargeMap<FilterSubscribers<S, O>> = new LargeMap()
  readonly #root: TrieNode<S, O> = new TrieNode('')
  #filters = 0

  /** Number of different filters with subscribers; those of shared subscriptions without their groups. */
  get filters(): number {
    return this.#filters
  }

  /** Returns whether no node exists. */
  get isEmpty(): boolean {
    return this.#exact.size === 0 && this.#root.isEmpty
  }

  /**
   * Returns true if the subscription is new; false if it existed and has new options [MQTT-3.8.4-3] [MQTT5-3.8.4-3].
   */
  add(filter: TopicFilter, subscriber: S, options: O): boolean {
    const shared = splitSharedFilter(filter)
    const filterSubscribers = this.#getOrAddSubscribers(shared?.filter ?? filter)
    if (filterSubscribers.isEmpty) this.#filters++
    if (shared === undefined) return filterSubscribers.add(subscriber, options)
    return filterSubscribers.addShared({ name: shared.group, filter: shared.filter }, subscriber, options)
  }

  /** Returns true if the subscription existed. */
  remove(filter: TopicFilter, subscriber: S): boolean {
    const shared = splitSharedFilter(filter)
    const removeFrom = (filterSubscribers: FilterSubscribers<S, O>): boolean =>
      shared === undefined
        ? filterSubscribers.remove(subscriber)
        : filterSubscribers.removeShared(shared.group, subscriber)
    const plainFilter = shared?.filter ?? filter
    return hasWildcard(plainFilter)
      ? this.#removeFromTrie(plainFilter, removeFrom)
      : this.#removeExact(plainFilter, removeFrom)
  }

  /**
   * Returns the subscribers of the filter that equals the topic. An empty object stays empty; another may replace it.
   */
  findExactSubscribers(topic: TopicName): FilterSubscribers<S, O> | undefined {
    return this.#exact.get(topic)
  }

  /** Appends the subscribers of each matching filter with wildcards to `found`. */
  addWildcardSubscribers(topic: TopicName, found: FilterSubscribers<S, O>[]): void {
    if (!this.#root.isEmpty) addMatches(this.#root, topic, found)
  }

  /** Returns the subscribers of all matching filters. */
  findSubscribers(topic: TopicName): FilterSubscribers<S, O>[] {
    const exact = this.#exact.get(topic)
    const found = exact === undefined ? [] : [exact]
    this.addWildcardSubscribers(topic, found)
    return found
  }

  /** Returns the subscribers of all matching filters, each with its filter. Slower, for diagnosis. */
  *walkMatching(
    topic: TopicName,
  ): IterableIterator<readonly [filter: string, filterSubscribers: FilterSubscribers<S, O>]> {
    const exact = this.#exact.get(topic)
    if (exact !== undefined) yield [topic, exact]
    const levels = topic.split('/')
    const isWildcardAt = createWildcardCheck(topic)
    const open = [{ node: this.#root, path: [] as readonly string[] }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node, path } = next
      const isWildcardAllowed = isWildcardAt(path.length)
      if (node.below !== undefined && isWildcardAllowed) yield [[...path, '#'].join('/'), node.below]
      if (path.length === levels.length) {
        if (node.here !== undefined) yield [path.join('/'), node.here]
        continue
      }
      const level = levels[path.length]
      for (const name of isWildcardAllowed ? ['+', level] : [level]) {
        const child = node.getChild(name)
        if (child !== undefined) open.push({ node: child, path: [...path, name] })
      }
    }
  }

  /** The shared subscription `$share/name/filter`, if it has members. */
  findGroup(name: string, filter: TopicFilter): SharedGroup<S, O> | undefined {
    return this.findFilterSubscribers(filter)?.group(name)
  }

  /**
   * Returns whether a subscriber that `isMeant` selects has exactly this filter (without `$share/name/`), alone or in a
   * group.
   */
  hasSubscriber(filter: TopicFilter, isMeant: (subscriber: S) => boolean): boolean {
    const filterSubscribers = this.findFilterSubscribers(filter)
    if (filterSubscribers === undefined) return false
    for (const [subscriber] of filterSubscribers.entries()) if (isMeant(subscriber)) return true
    let isHeld = false
    filterSubscribers.walkGroups((group) => {
      for (const { subscriber } of group.iterateMembers()) isHeld ||= isMeant(subscriber)
    })
    return isHeld
  }

  /** Returns the subscribers of exactly this filter, which is without `$share/name/`. */
  findFilterSubscribers(filter: TopicFilter): FilterSubscribers<S, O> | undefined {
    if (!hasWildcard(filter)) return this.#exact.get(filter)
    let node: TrieNode<S, O> | undefined = this.#root
    for (const level of filter.split('/')) {
      if (level === '#') return node.below
      node = node.getChild(level)
      if (node === undefined) return undefined
    }
    return node.here
  }

  #getOrAddSubscribers(filter: TopicFilter): FilterSubscribers<S, O> {
    if (!hasWildcard(filter)) {
      let filterSubscribers = this.#exact.get(filter)
      if (filterSubscribers === undefined) {
        filterSubscribers = new FilterSubscribers()
        this.#exact.set(filter, filterSubscribers)
      }
      return filterSubscribers
    }
    let node = this.#root
    for (const level of filter.split('/')) {
      if (level === '#') return (node.below ??= new WildcardSubscribers(filter))
      node = node.getChild(level) ?? node.addChild(level)
    }
    return (node.here ??= new WildcardSubscribers(filter))
  }

  #removeExact(filter: TopicFilter, removeFrom: (filterSubscribers: FilterSubscribers<S, O>) => boolean): boolean {
    const filterSubscribers = this.#exact.get(filter)
    if (filterSubscribers === undefined) return false
    const wasThere = removeFrom(filterSubscribers)
    if (filterSubscribers.isEmpty && this.#exact.delete(filter)) this.#filters--
    return wasThere
  }

  #removeFromTrie(filter: TopicFilter, removeFrom: (filterSubscribers: FilterSubscribers<S, O>) => boolean): boolean {
    const path = [this.#root]
    for (const level of filter.split('/')) {
      if (level === '#') break
      const child = path[path.length - 1].getChild(level)
      if (child === undefined) return false
      path.push(child)
    }
    const last = path[path.length - 1]
    const place = filter.endsWith('#') ? 'below' : 'here'
    const filterSubscribers = last[place]
    if (filterSubscribers === undefined) return false
    const wasThere = removeFrom(filterSubscribers)
    if (filterSubscribers.isEmpty) {
      last[place] = undefined
      this.#filters--
    }
    pruneUpwards(path)
    return wasThere
  }
}

/**
 * [MQTT-4.7.2-1] A filter that begins with a wildcard does not match a topic that begins with $. The same applies to the topics of a
 * namespace, as its clients see them. Returns whether a wildcard may match the level at a depth.
 */
function createWildcardCheck(topic: TopicName): (depth: number) => boolean {
  if (!topic.startsWith('$')) return () => true
  const hiddenDepth = removeNamespacePrefix(topic)?.startsWith('$') === true ? namespaceLevels : 0
  return (depth) => depth > 0 && depth !== hiddenDepth
}

function addMatches<S extends object, O>(
  root: TrieNode<S, O>,
  topic: TopicName,
  found: FilterSubscribers<S, O>[],
): void {
  const levels = topic.split('/')
  const nodes: TrieNode<S, O>[] = [root]
  const depths: number[] = [0]
  const isWildcardAt = createWildcardCheck(topic)
  for (;;) {
    const node = nodes.pop()
    const depth = depths.pop()
    if (node === undefined || depth === undefined) return

    const isWildcardAllowed = isWildcardAt(depth)
    if (node.below !== undefined && isWildcardAllowed) found.push(node.below)
    const level = levels[depth]
    if (level === undefined) {
      if (node.here !== undefined) found.push(node.here)
      continue
    }
    const anyLevel = isWildcardAllowed ? node.getChild('+') : undefined
    if (anyLevel !== undefined) {
      nodes.push(anyLevel)
      depths.push(depth + 1)
    }
    const sameLevel = node.getChild(level)
    if (sameLevel !== undefined) {
      nodes.push(sameLevel)
      depths.push(depth + 1)
    }
  }
}
