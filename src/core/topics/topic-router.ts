// Finds the match plan of a topic, without a look-up and without a string:
//
//   Topic.route ──► CachedRoute { plan, and a watch that says whether it is current: see plan-invalidation.ts }
//
// The cache needs no limit: a route belongs to its topic. The table of topics is limited, and so is everything else that refers
// to topics: queued and retained messages. Topics without subscribers share one empty plan. A stale plan refers to its
// subscribers until its topic is used again or forgotten, so an ended subscriber must hold little memory.
//
// There is no function to empty the cache. A change of subscriptions makes the affected plans stale, and a stale plan is made
// again when its topic is next used.

import {
  removeFilterPrefix,
  splitExclusiveFilter,
  splitSharedFilter,
  type Topic,
  type TopicFilter,
  type TopicName,
  type TopicRoute,
} from '../../protocol/index.ts'
import { PlanWatch, PlanInvalidation } from './plan-invalidation.ts'
import { type Admission, DeliveryPlan, makePlan } from './delivery-plan.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { MatchedRule } from '../model/rule-hook.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import type { FilterSubscribers } from './filter-subscribers.ts'
import { SubscriptionTrie } from './subscription-trie.ts'

const noPeers: readonly never[] = []
const acceptsAnySubscriber = (): boolean => true

/** A subclass of the watch, and not an object that refers to it, so that the message path reads one object less. */
class CachedRoute<S extends object, P extends object> extends PlanWatch implements TopicRoute {
  plan: DeliveryPlan<S, P>
  /** The subscribers of exactly this topic, so that a new plan need not look them up again. */
  exact: FilterSubscribers<S> | undefined = undefined

  constructor(topic: Topic, plan: DeliveryPlan<S, P>) {
    super(topic.name)
    this.plan = plan
  }

  get isTopicRoute(): true {
    return true
  }
}

/** Which subscribers receive messages: see `Admission`. */
export interface SubscriberRights<S> {
  readonly admits: (subscriber: S, topic: Topic) => boolean
  readonly hides: (subscriber: S, topic: Topic, wildcardStart: number) => boolean
}

/** The subscriptions of a broker, and the match plan of each topic. `P` represents another shard. */
export class TopicRouter<S extends object, P extends object = object> {
  readonly #trie: SubscriptionTrie<S> = new SubscriptionTrie()
  /** Interest of other shards, in a trie of its own, so that it costs nothing if there are none. */
  readonly #onPeers: SubscriptionTrie<P, Interest> = new SubscriptionTrie()
  /** Rules by their topic filters; undefined: there are none. */
  #rules: SubscriptionTrie<MatchedRule, true> | undefined = undefined
  readonly #invalidation: PlanInvalidation = new PlanInvalidation()
  readonly #rights: SubscriberRights<S>
  readonly #countsBefore: (peer: P) => boolean
  readonly #emptyPlan: DeliveryPlan<S, P> = new DeliveryPlan<S, P>([], [])
  #costlySteps = 0
  /** Number of filters of this shard that `countsBefore` peers have too. */
  #countedOnPeers = 0

  /**
   * `rights` excludes subscribers that may not receive a topic; called when a plan is made. `countsBefore`: returns
   * true for peers that count a filter first: a filter that such a peer has too is not counted here.
   */
  constructor(
    rights: SubscriberRights<S> = { admits: () => true, hides: () => false },
    countsBefore: (peer: P) => boolean = () => false,
  ) {
    this.#rights = rights
    this.#countsBefore = countsBefore
  }

  /**
   * Number of different filters of this shard that no other shard counts. The sum over all shards counts each filter once.
   */
  get filters(): number {
    return this.#trie.filters - this.#countedOnPeers
  }

  /** Replaces the rules, by their topic filters. */
  setRules(rules: Iterable<readonly [filter: TopicFilter, rule: MatchedRule]>): void {
    const trie = new SubscriptionTrie<MatchedRule, true>()
    for (const [filter, rule] of rules) trie.add(filter, rule, true)
    this.#rules = trie.isEmpty ? undefined : trie
    this.forgetPlans()
  }

  #findRules(topic: TopicName): readonly MatchedRule[] | undefined {
    const found = new Set<MatchedRule>()
    for (const filterSubscribers of this.#rules?.findSubscribers(topic) ?? [])
      filterSubscribers.forEach((rule) => found.add(rule))
    return found.size === 0 ? undefined : [...found]
  }

  /** Makes every plan stale, because `rights` have changed. */
  forgetPlans(): void {
    this.#invalidation.beginEra()
  }

  /** Makes the plans of all topics stale that match `filter`. */
  forgetPlansFor(filter: TopicFilter): void {
    this.#invalidation.touch(removeFilterPrefix(filter))
  }

  /** Returns true if the subscription is new; false if it existed and has new options. */
  subscribe(filter: TopicFilter, subscriber: S, options: SubscriptionOptions): boolean {
    const bare = removeFilterPrefix(filter)
    this.#costlySteps++
    this.#invalidation.touch(bare)
    const filters = this.#trie.filters
    const isNew = this.#trie.add(splitExclusiveFilter(filter) ?? filter, subscriber, options)
    if (this.#trie.filters !== filters && this.isCountedOnPeers(bare)) this.#countedOnPeers++
    return isNew
  }

  /** Returns true if the subscription existed. */
  unsubscribe(filter: TopicFilter, subscriber: S): boolean {
    const bare = removeFilterPrefix(filter)
    this.#costlySteps++
    this.#invalidation.touch(bare)
    const filters = this.#trie.filters
    const wasThere = this.#trie.remove(splitExclusiveFilter(filter) ?? filter, subscriber)
    if (this.#trie.filters !== filters && this.isCountedOnPeers(bare)) this.#countedOnPeers--
    return wasThere
  }

  /** Sets the interest of a peer in a filter; undefined: none. */
  setInterest(peer: P, filter: TopicFilter, interest: Interest | undefined): void {
    const shared = splitSharedFilter(filter)
    const bare = shared?.filter ?? filter
    const isHeldHere = this.#countsBefore(peer) && this.#trie.hasSubscriber(bare, acceptsAnySubscriber)
    if (isHeldHere && this.isCountedOnPeers(bare)) this.#countedOnPeers--
    const isNew =
      interest === undefined ? this.#onPeers.remove(filter, peer) : this.#onPeers.add(filter, peer, interest)
    // The counts of a shared subscription are looked up when it is used, so a plan stays valid while members change.
    if (shared === undefined || isNew) this.#invalidation.touch(bare)
    if (isHeldHere && this.isCountedOnPeers(bare)) this.#countedOnPeers++
  }

  /** Returns the members of `$share/name/filter` on other shards. */
  findGroupOnPeers(name: string, filter: TopicFilter): SharedGroup<P, Interest> | undefined {
    return this.#onPeers.findGroup(name, filter)
  }

  /** Returns the members of `$share/name/filter` on this shard. */
  findGroup(name: string, filter: TopicFilter): SharedGroup<S> | undefined {
    return this.#trie.findGroup(name, filter)
  }

  /**
   * Returns the subscribers of exactly this filter on this shard, which is without `$share/name/` and `$exclusive/`.
   */
  findFilterSubscribers(filter: TopicFilter): FilterSubscribers<S> | undefined {
    return this.#trie.findFilterSubscribers(filter)
  }

  /** Returns the subscribers on this shard by matching filter, including those that may not receive messages of the topic. */
  walkMatching(topic: TopicName): IterableIterator<readonly [filter: string, filterSubscribers: FilterSubscribers<S>]> {
    return this.#trie.walkMatching(topic)
  }

  /** Returns whether there is no subscription. */
  get isEmpty(): boolean {
    return this.#trie.isEmpty
  }

  /** Plans made and subscriptions changed so far: each costs as much as many messages that use a plan. */
  get costlySteps(): number {
    return this.#costlySteps
  }

  /** Returns the current plan of `topic`. It must not be stored, because it does not follow later changes. */
  resolvePlan(topic: Topic): DeliveryPlan<S, P> {
    // Only routers use this field. A route of another router is of another era, and so never current.
    const route = topic.route as CachedRoute<S, P> | undefined
    if (route !== undefined && this.#invalidation.isCurrent(route)) return route.plan
    return this.#makeRoute(topic, route)
  }

  /** Returns whether a peer that counts before this shard has the filter as well. Then that peer counts and lists it. */
  isCountedOnPeers(bare: TopicFilter): boolean {
    return !this.#onPeers.isEmpty && this.#onPeers.hasSubscriber(bare, this.#countsBefore)
  }

  #makeRoute(topic: Topic, stale: CachedRoute<S, P> | undefined): DeliveryPlan<S, P> {
    this.#costlySteps++
    // A route of another router refers to subscribers that no longer exist.
    const route = stale !== undefined && this.#invalidation.isOfThisEra(stale) ? stale : this.#createRoute(topic)
    if (route.exact === undefined || route.exact.isEmpty) route.exact = this.#trie.findExactSubscribers(topic.name)
    const subscriberLists = route.exact === undefined ? [] : [route.exact]
    this.#trie.addWildcardSubscribers(topic.name, subscriberLists)
    const onPeers = this.#onPeers.isEmpty ? noPeers : this.#onPeers.findSubscribers(topic.name)
    const rules = this.#rules === undefined ? undefined : this.#findRules(topic.name)
    const isEmpty = subscriberLists.length === 0 && onPeers.length === 0 && rules === undefined
    const { admits, hides } = this.#rights
    const admission: Admission<S> = {
      admits: (subscriber) => admits(subscriber, topic),
      hides: (subscriber, wildcardStart) => hides(subscriber, topic, wildcardStart),
    }
    route.plan = isEmpty ? this.#emptyPlan : makePlan(subscriberLists, admission, onPeers, rules)
    this.#invalidation.renew(route)
    return route.plan
  }

  #createRoute(topic: Topic): CachedRoute<S, P> {
    const route = new CachedRoute<S, P>(topic, this.#emptyPlan)
    topic.route = route
    this.#invalidation.addWatch(route)
    return route
  }
}
