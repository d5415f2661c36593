// The subscribers of one filter. Most filters have one subscriber, which is stored without a Map until there is a second.

import type { TopicFilter } from '../../protocol/index.ts'
import { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'

/** Never empty when a trie returns it. */
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
      for (const { subscriber } of group.iterateMembers()) return { subscriber, group: group.name }
    }
    return undefined
  }

  /** Number of subscribers that are not in a group. */
  get size(): number {
    return this.#many?.size ?? (this.#only === undefined ? 0 : 1)
  }

  /** Visits each shared subscription on this filter. */
  walkGroups(visit: (group: SharedGroup<S, O>) => void): void {
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
export class WildcardSubscribers<S extends object, O> extends FilterSubscribers<S, O> {
  readonly #wildcardStart: number

  constructor(filter: TopicFilter) {
    super()
    this.#wildcardStart = filter.search(/[+#]/)
  }

  override get wildcardStart(): number {
    return this.#wildcardStart
  }
}
