// The way from a topic to its delivery plan, without a look-up and without a string:
//
//   Topic.route ──► CachedRoute { plan, and a watch that says whether it is still true: see plan-invalidation.ts }
//
// The cache is not bounded here and need not be: a route hangs on its topic and goes with it. The table of topics is
// bounded, and so is whatever else holds topics: messages that wait, and retained ones. A topic without subscribers
// costs its route only; such topics share one empty plan. A stale plan keeps its subscribers alive until its topic is
// used again or forgotten, so a subscriber that has ended should hold little.
//
// Absent on purpose: emptying the cache. A change of subscriptions makes stale what it touches, and a stale plan is
// made anew when its topic is next used.

import {
  bareFilter,
  splitExclusiveFilter,
  splitSharedFilter,
  type Topic,
  type TopicFilter,
  type TopicName,
  type TopicRoute,
} from '../../protocol/index.ts'
import { PlanWatch, PlanInvalidation } from './plan-invalidation.ts'
import { DeliveryPlan, makePlan } from './delivery-plan.ts'
import type { Interest } from '../model/peer-messages.ts'
import type { MatchedRule } from '../model/rule-hook.ts'
import type { SharedGroup } from './shared-group.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import { SubscriptionTrie, type FilterSubscribers } from './subscription-trie.ts'

const nowhere: readonly never[] = []
const anybody = (): boolean => true

/** A watch itself, and not with one beside it: the message on its way touches one object less. */
class CachedRoute<S extends object, P extends object> extends PlanWatch implements TopicRoute {
  plan: DeliveryPlan<S, P>
  /** Where the subscribers to exactly this topic are, so that a new plan need not look for them again. */
  exact: FilterSubscribers<S> | undefined = undefined

  constructor(topic: Topic, plan: DeliveryPlan<S, P>) {
    super(topic.name)
    this.plan = plan
  }

  get isTopicRoute(): true {
    return true
  }
}

/** The subscriptions of a broker, and for each topic the plan that they come to. `P`: what stands for another shard. */
export class TopicRouter<S extends object, P extends object = object> {
  readonly #trie: SubscriptionTrie<S> = new SubscriptionTrie()
  /** What other shards want, as they tell it: a trie of its own, so that nothing of it is in the way where there are none. */
  readonly #elsewhere: SubscriptionTrie<P, Interest> = new SubscriptionTrie()
  /** Rules by their topic filters; undefined: there are none. */
  #rules: SubscriptionTrie<MatchedRule, true> | undefined = undefined
  readonly #cells: PlanInvalidation = new PlanInvalidation()
  readonly #admits: (subscriber: S, topic: Topic) => boolean
  readonly #countsBefore: (peer: P) => boolean
  readonly #emptyPlan: DeliveryPlan<S, P> = new DeliveryPlan<S, P>([], [])
  /** Filters held here and by a peer that counts before. */
  #costlySteps = 0
  #countedElsewhere = 0

  /**
   * `admits`: who may not have a topic is left out of its plans. Asked when a plan is made. `countsBefore`: a filter that
   * this peer holds too is counted there.
   */
  constructor(
    admits: (subscriber: S, topic: Topic) => boolean = () => true,
    countsBefore: (peer: P) => boolean = () => false,
  ) {
    this.#admits = admits
    this.#countsBefore = countsBefore
  }

  /** Different filters that subscribers here hold, and none of the peers that count before: over all shards each is one. */
  get filters(): number {
    return this.#trie.filters - this.#countedElsewhere
  }

  /** From here on messages lead to these rules, by their topic filters. */
  setRules(rules: Iterable<readonly [filter: TopicFilter, rule: MatchedRule]>): void {
    const trie = new SubscriptionTrie<MatchedRule, true>()
    for (const [filter, rule] of rules) trie.add(filter, rule, true)
    this.#rules = trie.isEmpty ? undefined : trie
    this.forgetPlans()
  }

  #rulesFor(topic: TopicName): readonly MatchedRule[] | undefined {
    const found = new Set<MatchedRule>()
    for (const audience of this.#rules?.audiencesFor(topic) ?? []) audience.forEach((rule) => found.add(rule))
    return found.size === 0 ? undefined : [...found]
  }

  /** Every plan is made anew when its topic is next used: `admits` has changed its mind. */
  forgetPlans(): void {
    this.#cells.beginEra()
  }

  /** The plans of all topics that match `filter` are. */
  forgetPlansFor(filter: TopicFilter): void {
    this.#cells.touch(bareFilter(filter))
  }

  /** True if the subscription is new; false if it was there and has other options now. */
  subscribe(filter: TopicFilter, subscriber: S, options: SubscriptionOptions): boolean {
    const bare = bareFilter(filter)
    this.#costlySteps++
    this.#cells.touch(bare)
    const filters = this.#trie.filters
    const isNew = this.#trie.add(splitExclusiveFilter(filter) ?? filter, subscriber, options)
    if (this.#trie.filters !== filters && this.isCountedElsewhere(bare)) this.#countedElsewhere++
    return isNew
  }

  /** True if there was such a subscription. */
  unsubscribe(filter: TopicFilter, subscriber: S): boolean {
    const bare = bareFilter(filter)
    this.#costlySteps++
    this.#cells.touch(bare)
    const filters = this.#trie.filters
    const wasThere = this.#trie.remove(splitExclusiveFilter(filter) ?? filter, subscriber)
    if (this.#trie.filters !== filters && this.isCountedElsewhere(bare)) this.#countedElsewhere--
    return wasThere
  }

  /** What a peer wants of a filter, in place of what it wanted before; undefined: nothing any more. */
  setInterest(peer: P, filter: TopicFilter, interest: Interest | undefined): void {
    const shared = splitSharedFilter(filter)
    const bare = shared?.filter ?? filter
    const isHeldHere = this.#countsBefore(peer) && this.#trie.isHeldBy(bare, anybody)
    if (isHeldHere && this.isCountedElsewhere(bare)) this.#countedElsewhere--
    const isNew =
      interest === undefined ? this.#elsewhere.remove(filter, peer) : this.#elsewhere.add(filter, peer, interest)
    // The numbers of a shared subscription are looked up when it is used: a plan stands while its members come and go.
    if (shared === undefined || isNew) this.#cells.touch(bare)
    if (isHeldHere && this.isCountedElsewhere(bare)) this.#countedElsewhere++
  }

  /** The members on other shards of `$share/name/filter`. */
  groupOnPeers(name: string, filter: TopicFilter): SharedGroup<P, Interest> | undefined {
    return this.#elsewhere.group(name, filter)
  }

  /** The members here of `$share/name/filter`. */
  group(name: string, filter: TopicFilter): SharedGroup<S> | undefined {
    return this.#trie.group(name, filter)
  }

  /** Who subscribes here to just this filter, which is one without `$share/name/` and `$exclusive/`. */
  audienceOf(filter: TopicFilter): FilterSubscribers<S> | undefined {
    return this.#trie.audienceOf(filter)
  }

  /** Who subscribes here to what matches the topic, by filter; also those who may not have it. */
  matching(topic: TopicName): IterableIterator<readonly [filter: string, audience: FilterSubscribers<S>]> {
    return this.#trie.matching(topic)
  }

  /** Nothing is subscribed to. */
  get isEmpty(): boolean {
    return this.#trie.isEmpty
  }

  /** Plans made and subscriptions changed so far: such a step costs as much as many messages that follow a plan. */
  get costlySteps(): number {
    return this.#costlySteps
  }

  /** Who gets a message on `topic` now. To be used at once and not kept: it does not follow later changes. */
  planFor(topic: Topic): DeliveryPlan<S, P> {
    // The slot is for routes alone; one of another `Routes` is of another era, and so never current.
    const route = topic.route as CachedRoute<S, P> | undefined
    if (route !== undefined && this.#cells.isCurrent(route)) return route.plan
    return this.#makeRoute(topic, route)
  }

  /** Whether a filter that is held here belongs to a shard before this one, as to who counts it and who tells of it. */
  isCountedElsewhere(bare: TopicFilter): boolean {
    return !this.#elsewhere.isEmpty && this.#elsewhere.isHeldBy(bare, this.#countsBefore)
  }

  #makeRoute(topic: Topic, stale: CachedRoute<S, P> | undefined): DeliveryPlan<S, P> {
    this.#costlySteps++
    // What is left of another `Routes` holds subscribers of a world that is gone.
    const route = stale !== undefined && this.#cells.isOfThisEra(stale) ? stale : this.#newRoute(topic)
    if (route.exact === undefined || route.exact.isEmpty) route.exact = this.#trie.exactAudience(topic.name)
    const audiences = route.exact === undefined ? [] : [route.exact]
    this.#trie.addWildcardAudiences(topic.name, audiences)
    const elsewhere = this.#elsewhere.isEmpty ? nowhere : this.#elsewhere.audiencesFor(topic.name)
    const rules = this.#rules === undefined ? undefined : this.#rulesFor(topic.name)
    const isEmpty = audiences.length === 0 && elsewhere.length === 0 && rules === undefined
    const admits = (subscriber: S): boolean => this.#admits(subscriber, topic)
    route.plan = isEmpty ? this.#emptyPlan : makePlan(audiences, admits, elsewhere, rules)
    this.#cells.renew(route)
    return route.plan
  }

  #newRoute(topic: Topic): CachedRoute<S, P> {
    const route = new CachedRoute<S, P>(topic, this.#emptyPlan)
    topic.route = route
    this.#cells.addWatch(route)
    return route
  }
}
