// Filters without wildcards are looked up as they are; the others stand in a trie of their levels. A level that is `+`
// is a child like any other; `#` is no child but a second audience of the node in front of it, since nothing can follow.
//
//   exact:  'sensors/3/temperature' ──► { session 4 }
//
//   root ── 'sensors' ── '+' ── 'temperature' ── here: { session 7 }              sensors/+/temperature
//     │         │
//     │         └─ below: { session 2, session 9, group 'workers' }               sensors/#
//     └─ below: { session 1 }                                                     #
//
// Most nodes have one child and most filters one subscriber, so both are held without a Map until a second comes. A
// node with nothing in it is taken out. Matching looks up two children for each level, so filters that share no level
// with a topic cost it nothing. All walks are loops: the depth of a filter is nothing to the stack.

import { hasWildcard, splitSharedFilter, type TopicFilter, type TopicName } from '../../protocol/index.ts'
import { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import { LargeMap } from './large-map.ts'

/** Who subscribes to one filter. Never empty when it is seen from outside. */
export class FilterSubscribers<S extends object, O = SubscriptionOptions> {
  #only: S | undefined = undefined
  #onlyOptions: O | undefined = undefined
  /** In place of `#only` once there was a second. */
  #many: Map<S, O> | undefined = undefined
  #groups: Map<string, SharedGroup<S, O>> | undefined = undefined

  get isEmpty(): boolean {
    return this.#only === undefined && this.#many === undefined && this.#groups === undefined
  }

  /** Each subscriber that is not in a group. */
  forEach(visit: (subscriber: S, options: O) => void): void {
    if (this.#only !== undefined && this.#onlyOptions !== undefined) visit(this.#only, this.#onlyOptions)
    else if (this.#many !== undefined) for (const [subscriber, options] of this.#many) visit(subscriber, options)
  }

  /** The same, one after the other: for those who do not want all. */
  *entries(): IterableIterator<readonly [subscriber: S, options: O]> {
    if (this.#only !== undefined && this.#onlyOptions !== undefined) yield [this.#only, this.#onlyOptions]
    else if (this.#many !== undefined) yield* this.#many
  }

  /** One who stands for all of them, and the shared subscription by which it does: the same one while it is there. */
  get first(): { readonly subscriber: S; readonly group: string | undefined } | undefined {
    for (const [subscriber] of this.entries()) return { subscriber, group: undefined }
    for (const group of this.#groups?.values() ?? []) {
      for (const { subscriber } of group.members()) return { subscriber, group: group.name }
    }
    return undefined
  }

  /** Subscribers that are not in a group. */
  get size(): number {
    return this.#many?.size ?? (this.#only === undefined ? 0 : 1)
  }

  /** Each shared subscription on this filter. */
  forEachGroup(visit: (group: SharedGroup<S, O>) => void): void {
    if (this.#groups !== undefined) for (const group of this.#groups.values()) visit(group)
  }

  /** The shared subscription of that name on this filter. */
  group(name: string): SharedGroup<S, O> | undefined {
    return this.#groups?.get(name)
  }

  /** True if the subscriber is new here. */
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

  /** True if it was there. */
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

  /** True if the subscriber is new in the group. */
  addShared(group: { readonly name: string; readonly filter: TopicFilter }, subscriber: S, options: O): boolean {
    this.#groups ??= new Map()
    let joined = this.#groups.get(group.name)
    if (joined === undefined) {
      joined = new SharedGroup<S, O>(group.name, group.filter)
      this.#groups.set(group.name, joined)
    }
    return joined.add(subscriber, options)
  }

  /** True if it was in the group. */
  removeShared(groupName: string, subscriber: S): boolean {
    const group = this.#groups?.get(groupName)
    const wasThere = group?.remove(subscriber) ?? false
    if (group?.size === 0) this.#groups?.delete(groupName)
    if (this.#groups?.size === 0) this.#groups = undefined
    return wasThere
  }
}

class TrieNode<S extends object, O> {
  /** The level that leads here: how a lone child is told from another. */
  readonly level: string
  /** The filter that ends here. */
  here: FilterSubscribers<S, O> | undefined = undefined
  /** The filter that ends here with `/#` behind it. */
  below: FilterSubscribers<S, O> | undefined = undefined
  #loneChild: TrieNode<S, O> | undefined = undefined
  /** In place of `#loneChild` once there was a second. */
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

  /** Different filters that somebody holds; those of shared subscriptions without their groups. */
  get filters(): number {
    return this.#filters
  }

  /** Nothing is left, not even a node. */
  get isEmpty(): boolean {
    return this.#exact.size === 0 && this.#root.isEmpty
  }

  /** True if the subscription is new; false if it was there and has other options now [MQTT-3.8.4-3] [MQTT5-3.8.4-3]. */
  add(filter: TopicFilter, subscriber: S, options: O): boolean {
    const shared = splitSharedFilter(filter)
    const audience = this.#audienceFor(shared?.filter ?? filter)
    if (audience.isEmpty) this.#filters++
    if (shared === undefined) return audience.add(subscriber, options)
    return audience.addShared({ name: shared.group, filter: shared.filter }, subscriber, options)
  }

  /** True if there was such a subscription. */
  remove(filter: TopicFilter, subscriber: S): boolean {
    const shared = splitSharedFilter(filter)
    const removeFrom = (audience: FilterSubscribers<S, O>): boolean =>
      shared === undefined ? audience.remove(subscriber) : audience.removeShared(shared.group, subscriber)
    const plainFilter = shared?.filter ?? filter
    return hasWildcard(plainFilter)
      ? this.#removeFromTrie(plainFilter, removeFrom)
      : this.#removeExact(plainFilter, removeFrom)
  }

  /** The audience of the filter that is the topic itself. Once it is empty it will stay so, and may have a successor. */
  exactAudience(topic: TopicName): FilterSubscribers<S, O> | undefined {
    return this.#exact.get(topic)
  }

  /** Puts the audience of each filter with wildcards that matches the topic behind those in `found`. */
  addWildcardAudiences(topic: TopicName, found: FilterSubscribers<S, O>[]): void {
    if (!this.#root.isEmpty) addMatches(this.#root, topic, found)
  }

  /** The audiences of all filters that match the topic. */
  audiencesFor(topic: TopicName): FilterSubscribers<S, O>[] {
    const exact = this.#exact.get(topic)
    const found = exact === undefined ? [] : [exact]
    this.addWildcardAudiences(topic, found)
    return found
  }

  /** The audiences of all filters that match the topic, each with its filter. Slower: for those who ask why. */
  *matching(topic: TopicName): IterableIterator<readonly [filter: string, audience: FilterSubscribers<S, O>]> {
    const exact = this.#exact.get(topic)
    if (exact !== undefined) yield [topic, exact]
    const levels = topic.split('/')
    const open = [{ node: this.#root, path: [] as readonly string[] }]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      const { node, path } = next
      // [MQTT-4.7.2-1]
      const isWildcardAllowed = path.length > 0 || !topic.startsWith('$')
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
    return this.audienceOf(filter)?.group(name)
  }

  /** Whether somebody of whom `isMeant` says so subscribes to this very filter (without `$share/name/`), alone or in a group. */
  isHeldBy(filter: TopicFilter, isMeant: (subscriber: S) => boolean): boolean {
    const audience = this.audienceOf(filter)
    if (audience === undefined) return false
    for (const [subscriber] of audience.entries()) if (isMeant(subscriber)) return true
    let isHeld = false
    audience.forEachGroup((group) => {
      for (const { subscriber } of group.members()) isHeld ||= isMeant(subscriber)
    })
    return isHeld
  }

  /** Who subscribes to just this filter, which is one without `$share/name/`. */
  audienceOf(filter: TopicFilter): FilterSubscribers<S, O> | undefined {
    if (!hasWildcard(filter)) return this.#exact.get(filter)
    let node: TrieNode<S, O> | undefined = this.#root
    for (const level of filter.split('/')) {
      if (level === '#') return node.below
      node = node.child(level)
      if (node === undefined) return undefined
    }
    return node.here
  }

  #audienceFor(filter: TopicFilter): FilterSubscribers<S, O> {
    if (!hasWildcard(filter)) {
      let audience = this.#exact.get(filter)
      if (audience === undefined) {
        audience = new FilterSubscribers()
        this.#exact.set(filter, audience)
      }
      return audience
    }
    let node = this.#root
    for (const level of filter.split('/')) {
      if (level === '#') return (node.below ??= new FilterSubscribers())
      node = node.child(level) ?? node.addChild(level)
    }
    return (node.here ??= new FilterSubscribers())
  }

  #removeExact(filter: TopicFilter, removeFrom: (audience: FilterSubscribers<S, O>) => boolean): boolean {
    const audience = this.#exact.get(filter)
    if (audience === undefined) return false
    const wasThere = removeFrom(audience)
    if (audience.isEmpty && this.#exact.delete(filter)) this.#filters--
    return wasThere
  }

  #removeFromTrie(filter: TopicFilter, removeFrom: (audience: FilterSubscribers<S, O>) => boolean): boolean {
    const path = [this.#root]
    for (const level of filter.split('/')) {
      if (level === '#') break
      const child = path[path.length - 1].child(level)
      if (child === undefined) return false
      path.push(child)
    }
    const last = path[path.length - 1]
    const place = filter.endsWith('#') ? 'below' : 'here'
    const audience = last[place]
    if (audience === undefined) return false
    const wasThere = removeFrom(audience)
    if (audience.isEmpty) {
      last[place] = undefined
      this.#filters--
    }
    pruneUpwards(path)
    return wasThere
  }
}

function addMatches<S extends object, O>(
  root: TrieNode<S, O>,
  topic: TopicName,
  found: FilterSubscribers<S, O>[],
): void {
  const levels = topic.split('/')
  const nodes: TrieNode<S, O>[] = [root]
  const depths: number[] = [0]
  for (;;) {
    const node = nodes.pop()
    const depth = depths.pop()
    if (node === undefined || depth === undefined) return

    // [MQTT-4.7.2-1] A filter that begins with a wildcard does not match a topic that begins with $.
    const isWildcardAllowed = depth > 0 || !topic.startsWith('$')
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
