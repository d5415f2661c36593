// The way from a topic to its delivery plan, without a look-up and without a string:
//
//   Topic.route ──► CachedRoute ──► plan
//                      └─ watch: is the plan still true? (see change-cells.ts)
//
// The cache is not bounded here and need not be: a route hangs on its topic and goes with it, and the table of topics
// is bounded. A topic without subscribers costs its route only; such topics share one empty plan.
//
// Absent on purpose: emptying the cache. A change of subscriptions makes stale what it touches, and a stale plan is
// made anew when its topic is next used.

import { splitSharedFilter, type Topic, type TopicFilter, type TopicRoute } from '../../protocol/index.ts'
import { CellWatch, ChangeCells } from './change-cells.ts'
import { DeliveryPlan, makePlan } from './delivery-plan.ts'
import type { SubscriptionOptions } from './subscription-options.ts'
import { SubscriptionTrie } from './subscription-trie.ts'

class CachedRoute<S extends object> implements TopicRoute {
  readonly isTopicRoute = true
  readonly watch: CellWatch
  plan: DeliveryPlan<S>

  constructor(topic: Topic, plan: DeliveryPlan<S>) {
    this.watch = new CellWatch(topic.name)
    this.plan = plan
  }
}

/** The subscriptions of a broker, and for each topic the plan that they come to. */
export class Routes<S extends object> {
  readonly #trie: SubscriptionTrie<S> = new SubscriptionTrie()
  readonly #cells: ChangeCells = new ChangeCells()
  readonly #emptyPlan: DeliveryPlan<S> = new DeliveryPlan<S>([], [])

  /** True if the subscription is new; false if it was there and has other options now. */
  subscribe(filter: TopicFilter, subscriber: S, options: SubscriptionOptions): boolean {
    this.#cells.touch(splitSharedFilter(filter)?.filter ?? filter)
    return this.#trie.add(filter, subscriber, options)
  }

  /** True if there was such a subscription. */
  unsubscribe(filter: TopicFilter, subscriber: S): boolean {
    this.#cells.touch(splitSharedFilter(filter)?.filter ?? filter)
    return this.#trie.remove(filter, subscriber)
  }

  /** Nothing is subscribed to. */
  get isEmpty(): boolean {
    return this.#trie.isEmpty
  }

  /** Who gets a message on `topic` now. To be used at once and not kept: it does not follow later changes. */
  planFor(topic: Topic): DeliveryPlan<S> {
    // The slot is ours alone; one of another `Routes` is of another era, and so never current.
    const route = topic.route as CachedRoute<S> | undefined
    if (route !== undefined && this.#cells.isCurrent(route.watch)) return route.plan
    return this.#makeRoute(topic, route)
  }

  #makeRoute(topic: Topic, stale: CachedRoute<S> | undefined): DeliveryPlan<S> {
    const plan = makePlan(this.#trie, topic.name)
    const route = stale ?? new CachedRoute(topic, plan)
    route.plan = plan.isEmpty ? this.#emptyPlan : plan
    this.#cells.renew(route.watch)
    topic.route = route
    return route.plan
  }
}
