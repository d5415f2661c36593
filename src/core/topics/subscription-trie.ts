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
// Most nodes have one child and most filters one subscriber, so both are stored without a Map until there is a second. Empty
// nodes are removed. Matching looks up two children per level, so filters that share no level with a topic cost nothing. All
// walks are loops, so deep filters need no stack.

import { hasWildcard, splitSharedFilter, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import { namespaceLevels, topicInNamespace } from '../namespaces/namespaced-names.ts'
import { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import { LargeMap } from './large-map.ts'

/** The subscribers of one filter. Never empty when returned. */
export class FilterSubscribers<S extends object, O = SubscriptionOptions> {
  #only: S | undefined = undefined
  #onlyOptions: O | undefined = undefined
  /** Replaces `#only` after a second subscriber was added. */
  #many: Map<S, O> | undefined = undefined
  #groups: Map<string, SharedGroup<S, O>> | undefined = undefined

  /** Where the first wildcard of the filter is in its text; -1: it has none. */
  get wildcardStart(): number {
    return -1
  }

  get isEmpty(): boolean {
    return this.#only === undefined && this.#many === undefined && this.#groups === undefined
  }

  /** Visits each subscriber that is not in a group. */
  forEach(visit: (subscriber: S, options: O) => void): void {
    if (this.#only !== undefined && this.#onlyOptions !== undefined) visit(this.#only, this.#onlyOptions)
    else if (this.#many !== undefined) for (const [subscriber, options] of this.#many) visit(subscriber, options)
  }

  /** The same as an iterator, for callers that may stop early. */
  *entries(): IterableIterator<readonly [subscriber: S, options: O]> {
    if (this.#only !== undefined && this.#onlyOptions !== undefined) yield [this.#only, this.#onlyOptions]
    else if (this.#many !== undefined) yield* this.#many
  }

  /** One subscriber that represents all of them, and its shared subscription: it stays the same while it subscribes. */
  get first(): { readonly subscriber: S; readonly group: string | undefined } | undefined {
    for (const [subscriber] of this.entries()) return { subscriber, group: undefined }
    for (const group of this.#groups?.values() ?? []) {
      for (const { subscriber } of group.members()) return { subscriber, group: group.name }
    }
    return undefined
  }

  /** Number of subscribers that are not in a group. */
  get size(): number {
    return this.#many?.size ?? (this.#only === undefined ? 0 : 1)
  }

  /** Visits each shared subscription on this filter. */
  forEachGroup(visit: (group: SharedGroup<S, O>) => void): void {
    if (this.#groups !== undefined) for (const group of this.#groups.values()) visit(group)
  }

  /** Returns the shared subscription of that name on this filter. */
  group(name: string): SharedGroup<S, O> | undefined {
    return this.#groups?.get(name)
  }

  /** Returns true if the subscriber is new. */
  add(subscriber: S, options: O): boolean {
    if (this.#many !== undefined) {
      const isNew = !this.#many.has(subscriber)
      this.#many.set(subscriber, options)
      return isNew
    }
    const isNew = this.#only !== subscriber
    if (isNew && this.#only !== undefined && this.#onlyOptions !== undefined) {
      this.#many = new Map([
        [this.#only, this.#onlyOptions],
        [subscriber, options],
      ])
      this.#only = undefined
      this.#onlyOptions = undefined
    } else {
      this.#only = subscriber
      this.#onlyOptions = options
    }
    return isNew
  }

  /** Returns true if it existed. */
  remove(subscriber: S): boolean {
    if (this.#only === subscriber) {
      this.#only = undefined
      this.#onlyOptions = undefined
      return true
    }
    const wasThere = this.#many?.delete(subscriber) ?? false
    if (this.#many?.size === 0) this.#many = undefined
    return wasThere
  }

  /** Returns true if the subscriber is new in the group. */
  addShared(group: { readonly name: string; readonly filter: TopicFilter }, subscriber: S, options: O): boolean {
    this.#groups ??= new Map()
    let joined = this.#groups.get(group.name)
    if (joined === undefined) {
      joined = new SharedGroup<S, O>(group.name, group.filter)
      this.#groups.set(group.name, joined)
    }
    return joined.add(subscriber, options)
  }

  /** Returns true if it was in the group. */
  removeShared(groupName: string, subscriber: S): boolean {
    const group = this.#groups?.get(groupName)
    const wasThere = group?.remove(subscriber) ?? false
    if (group?.size === 0) this.#groups?.delete(groupName)
    if (this.#groups?.size === 0) this.#groups = undefined
    return wasThere
  }
}

/** A class of its own, because most filters have no wildcard, and there may be millions. */
class WildcardSubscribers<S extends object, O> extends FilterSubscribers<S, O> {
  readonly #wildcardStart: number

  constructor(filter: TopicFilter) {
    super()
    this.#wildcardStart = filter.search(/[+#]/)
  }

  override get wildcardStart(): number {
    return this.#wildcardStart
  }
}

class TrieNode<S extends object, O> {
  /** The level of this node, by which an only child is identified. */
  readonly level: string
  /** The filter that ends here. */
  here: FilterSubscribers<S, O> | undefined = undefined
  /** The filter that ends here with `/#` after it. */
  below: FilterSubscribers<S, O> | undefined = undefined
  #loneChild: TrieNode<S, O> | undefined = undefined
  /** Replaces `#loneChild` after a second child was added. */
  #children: LargeMap<TrieNode<S, O>> | undefined = undefined

  constructor(level: string) {
    this.level = level
  }

  get isEmpty(): boolean {
    return (
      this.here === undefined &&
      this.below === undefined &&
      this.#loneChild === undefined &&
      this.#children === undefined
    )
  }

  child(level: string): TrieNode<S, O> | undefined {
    if (this.#children !== undefined) return this.#children.get(level)
    return this.#loneChild?.level === level ? this.#loneChild : undefined
  }

  addChild(level: string): TrieNode<S, O> {
    const child = new TrieNode<S, O>(level)
    if (this.#children !== undefined) {
      this.#children.set(level, child)
    } else if (this.#loneChild === undefined) {
      this.#loneChild = child
    } else {
      this.#children = new LargeMap()
      this.#children.set(this.#loneChild.level, this.#loneChild)
      this.#children.set(level, child)
      this.#loneChild = undefined
    }
    return child
  }

  removeChild(child: TrieNode<S, O>): void {
    if (this.#loneChild === child) this.#loneChild = undefined
    this.#children?.delete(child.level)
    if (this.#children?.size === 0) this.#children = undefined
  }
}

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
  exactSubscribers(topic: TopicName): FilterSubscribers<S, O> | undefined {
    return this.#exact.get(topic)
  }

  /** Appends the subscribers of each matching filter with wildcards to `found`. */
  addWildcardSubscribers(topic: TopicName, found: FilterSubscribers<S, O>[]): void {
    if (!this.#root.isEmpty) addMatches(this.#root, topic, found)
  }

  /** Returns the subscribers of all matching filters. */
  subscribersFor(topic: TopicName): FilterSubscribers<S, O>[] {
    const exact = this.#exact.get(topic)
    const found = exact === undefined ? [] : [exact]
    this.addWildcardSubscribers(topic, found)
    return found
  }

  /** Returns the subscribers of all matching filters, each with its filter. Slower, for diagnosis. */
  *matching(topic: TopicName): IterableIterator<readonly [filter: string, filterSubscribers: FilterSubscribers<S, O>]> {
    const exact = this.#exact.get(topic)
    if (exact !== undefined) yield [topic, exact]
    const levels = topic.split('/')
    const isWildcardAt = wildcardDepths(topic)
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
        const child = node.child(name)
        if (child !== undefined) open.push({ node: child, path: [...path, name] })
      }
    }
  }

  /** The shared subscription `$share/name/filter`, if it has members. */
  group(name: string, filter: TopicFilter): SharedGroup<S, O> | undefined {
    return this.subscribersOfFilter(filter)?.group(name)
  }

  /**
   * Returns whether a subscriber that `isMeant` selects has exactly this filter (without `$share/name/`), alone or in a
   * group.
   */
  isHeldBy(filter: TopicFilter, isMeant: (subscriber: S) => boolean): boolean {
    const filterSubscribers = this.subscribersOfFilter(filter)
    if (filterSubscribers === undefined) return false
    for (const [subscriber] of filterSubscribers.entries()) if (isMeant(subscriber)) return true
    let isHeld = false
    filterSubscribers.forEachGroup((group) => {
      for (const { subscriber } of group.members()) isHeld ||= isMeant(subscriber)
    })
    return isHeld
  }

  /** Returns the subscribers of exactly this filter, which is without `$share/name/`. */
  subscribersOfFilter(filter: TopicFilter): FilterSubscribers<S, O> | undefined {
    if (!hasWildcard(filter)) return this.#exact.get(filter)
    let node: TrieNode<S, O> | undefined = this.#root
    for (const level of filter.split('/')) {
      if (level === '#') return node.below
      node = node.child(level)
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
      node = node.child(level) ?? node.addChild(level)
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
      const child = path[path.length - 1].child(level)
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
function wildcardDepths(topic: TopicName): (depth: number) => boolean {
  if (!topic.startsWith('$')) return () => true
  const hiddenDepth = topicInNamespace(topic)?.startsWith('$') === true ? namespaceLevels : 0
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
  const isWildcardAt = wildcardDepths(topic)
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
    const anyLevel = isWildcardAllowed ? node.child('+') : undefined
    if (anyLevel !== undefined) {
      nodes.push(anyLevel)
      depths.push(depth + 1)
    }
    const sameLevel = node.child(level)
    if (sameLevel !== undefined) {
      nodes.push(sameLevel)
      depths.push(depth + 1)
    }
  }
}

function pruneUpwards<S extends object, O>(path: readonly TrieNode<S, O>[]): void {
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const node = path[depth]
    if (!node.isEmpty) return
    path[depth - 1].removeChild(node)
  }
}
