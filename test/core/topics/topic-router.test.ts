import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TopicRouter, type DeliveryPlan, type SubscriptionOptions } from '../../../src/core/topics/index.ts'
import { PlanInvalidation, PlanWatch } from '../../../src/core/topics/plan-invalidation.ts'
import { matchesFilter, splitSharedFilter, type Topic, type TopicFilter } from '../../../src/protocol/index.ts'
import {
  generalizations,
  generalized,
  options,
  optionsOf,
  sharedFilters,
  topicFilter,
  topicFilters,
  topicName,
  topicNames,
  topicOf,
} from './generators.ts'
import { fc } from '../../properties.ts'

interface Subscriber {
  readonly name: string
}

const one: Subscriber = { name: 'one' }
const two: Subscriber = { name: 'two' }

/** A plan as plain values: comparable, and independent of any order. */
function summaryOf(plan: DeliveryPlan<Subscriber>): object {
  const recipients = plan.localMatches.map((recipient) => ({
    subscriber: recipient.subscriber.name,
    ...summaryOfOptions(recipient),
    own: summaryOfOptions(recipient.selectEffective(true)),
    hasNoLocal: recipient.hasNoLocal,
    allNoLocal: recipient.allNoLocal,
  }))
  const groups = plan.groups.map(
    (group) =>
      `${group.name} ${group.filter}: ${[...group.iterateMembers()]
        .map((member) => member.subscriber.name)
        .toSorted()
        .join()}`,
  )
  return {
    recipients: recipients.toSorted((a, b) => (a.subscriber < b.subscriber ? -1 : 1)),
    groups: groups.toSorted(),
  }
}

function summaryOfOptions(
  effective: { qos: number; retainAsPublished: boolean; identifiers: readonly number[] | undefined } | undefined,
) {
  if (effective === undefined) return undefined
  const { qos, retainAsPublished } = effective
  return { qos, retainAsPublished, identifiers: effective.identifiers?.toSorted((a, b) => a - b) }
}

interface Subscription {
  readonly filter: TopicFilter
  readonly subscriber: Subscriber
  readonly options: SubscriptionOptions
}

/** The expected plan, computed from the list of subscriptions. */
function expectedPlan(subscriptions: Iterable<Subscription>, topic: Topic): object {
  const matching = [...subscriptions].filter(({ filter }) =>
    matchesFilter(splitSharedFilter(filter)?.filter ?? filter, topic.name),
  )
  const plain = Map.groupBy(
    matching.filter(({ filter }) => splitSharedFilter(filter) === undefined),
    ({ subscriber }) => subscriber.name,
  )
  const recipients = [...plain].map(([subscriber, theirs]) => {
    const all = theirs.map((subscription) => subscription.options)
    const local = all.filter((each) => !each.noLocal)
    return {
      subscriber,
      ...combinedOptions(all),
      own: combinedOptions(local),
      hasNoLocal: local.length < all.length,
      allNoLocal: local.length === 0,
    }
  })
  const groups = Map.groupBy(
    matching.filter(({ filter }) => splitSharedFilter(filter) !== undefined),
    ({ filter }) => filter,
  )
  return {
    recipients: recipients.toSorted((a, b) => (a.subscriber < b.subscriber ? -1 : 1)),
    groups: [...groups]
      .map(([filter, members]) => {
        const shared = splitSharedFilter(filter)
        return `${shared?.group} ${shared?.filter}: ${members
          .map((member) => member.subscriber.name)
          .toSorted()
          .join()}`
      })
      .toSorted(),
  }
}

function combinedOptions(all: SubscriptionOptions[]) {
  if (all.length === 0) return undefined
  const identifiers = all.flatMap(({ identifier }) => (identifier === undefined ? [] : [identifier]))
  return {
    qos: Math.max(...all.map((each) => each.qos)),
    retainAsPublished: all.some((each) => each.retainAsPublished),
    identifiers: identifiers.length === 0 ? undefined : identifiers.toSorted((a, b) => a - b),
  }
}

const filters = fc.oneof({ weight: 3, arbitrary: topicFilters }, { weight: 1, arbitrary: sharedFilters })
const subscribers = fc.constantFrom(one, two)
const act = fc.oneof(
  fc.record({ act: fc.constant('subscribe' as const), filter: filters, subscriber: subscribers, options }),
  fc.record({
    act: fc.constant('subscribe to a topic' as const),
    topicAt: fc.nat(),
    how: generalizations,
    subscriber: subscribers,
    options,
  }),
  fc.record({ act: fc.constant('unsubscribe' as const), filter: filters, subscriber: subscribers }),
  fc.record({ act: fc.constant('unsubscribe one that is there' as const), at: fc.nat() }),
  fc.record({ act: fc.constant('publish' as const), topicAt: fc.nat() }),
)
type Act = typeof act extends fc.Arbitrary<infer A> ? A : never

/** TopicRouter, the published topics, and the list of subscriptions for comparison. */
class World {
  readonly topics: readonly Topic[]
  readonly routes = new TopicRouter<Subscriber>()
  readonly #subscriptions = new Map<string, Subscription>()

  constructor(names: readonly string[]) {
    this.topics = names.map((name) => topicOf(name))
  }

  topicAt(at: number): Topic {
    return this.topics[at % this.topics.length]
  }

  publish(topic: Topic): void {
    assert.deepEqual(summaryOf(this.routes.resolvePlan(topic)), expectedPlan(this.#subscriptions.values(), topic))
  }

  subscribe(subscription: Subscription): void {
    const { filter, subscriber, options } = subscription
    const key = `${subscriber.name} ${filter}`
    assert.equal(this.routes.subscribe(filter, subscriber, options), !this.#subscriptions.has(key))
    this.#subscriptions.set(key, subscription)
  }

  unsubscribe({ filter, subscriber }: { filter: TopicFilter; subscriber: Subscriber }): void {
    const key = `${subscriber.name} ${filter}`
    assert.equal(this.routes.unsubscribe(filter, subscriber), this.#subscriptions.delete(key))
  }

  unsubscribeAt(at: number): void {
    const present = [...this.#subscriptions.values()]
    if (present.length > 0) this.unsubscribe(present[at % present.length])
  }
}

function perform(world: World, each: Act): void {
  switch (each.act) {
    case 'subscribe':
      return world.subscribe(each)
    case 'subscribe to a topic':
      return world.subscribe({ ...each, filter: generalized(world.topicAt(each.topicAt).name, each.how) })
    case 'unsubscribe':
      return world.unsubscribe(each)
    case 'unsubscribe one that is there':
      return world.unsubscribeAt(each.at)
    case 'publish':
      return world.publish(world.topicAt(each.topicAt))
  }
}

test('a plan from the cache is always the plan of the current subscriptions', () => {
  const topics = fc.array(topicNames, { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(topics, fc.array(act, { maxLength: 60, size: 'max' }), (names, acts) => {
      const world = new World(names)
      for (const each of acts) perform(world, each)
      for (const topic of world.topics) world.publish(topic)
    }),
    { numRuns: 1_000, seed: 1_883 },
  )
})

test('a subscriber is found that subscribes to a topic after its last subscriber left', () => {
  const routes = routesOf(['a/b', one, {}])
  const topic = topicOf('a/b')
  assert.equal(routes.resolvePlan(topic).localMatches.length, 1)
  routes.unsubscribe(topicFilter('a/b'), one)
  assert.equal(routes.resolvePlan(topic).isEmpty, true)
  routes.subscribe(topicFilter('a/b'), two, optionsOf({}))
  assert.equal(routes.resolvePlan(topic).localMatches[0].subscriber, two)
})

function routesOf(...subscriptions: [filter: string, subscriber: Subscriber, options: Partial<SubscriptionOptions>][]) {
  const routes = new TopicRouter<Subscriber>()
  for (const [filter, subscriber, some] of subscriptions) {
    routes.subscribe(topicFilter(filter), subscriber, optionsOf(some))
  }
  return routes
}

test('[MQTT-3.3.5-1] [MQTT5-3.3.4-2] overlapping subscriptions give one copy at the highest QoS', () => {
  const routes = routesOf(['a/b', one, { qos: 0 }], ['a/+', one, { qos: 2 }], ['#', one, { qos: 1 }])
  const { localMatches } = routes.resolvePlan(topicOf('a/b'))
  assert.deepEqual(
    localMatches.map(({ subscriber, qos }) => [subscriber.name, qos]),
    [['one', 2]],
  )
})

test('[MQTT5-3.3.4-4] the one copy has the identifiers of all its subscriptions, also equal ones', () => {
  const routes = routesOf(
    ['a/b', one, { identifier: 7 }],
    ['a/+', one, { identifier: 7 }],
    ['a/#', one, {}],
    ['#', one, { identifier: 9 }],
    ['#', two, {}],
  )
  const identifiers = routes.resolvePlan(topicOf('a/b')).localMatches.map((each) => each.identifiers?.toSorted())
  assert.deepEqual(identifiers, [[7, 7, 9], undefined])
})

test('[MQTT5-3.8.3-3] a subscription with No Local gets no messages of its own client, and other subscriptions do', () => {
  const topic = topicOf('a/b')
  const [only] = routesOf(['a/b', one, { noLocal: true, qos: 1 }]).resolvePlan(topic).localMatches
  assert.equal(only.allNoLocal, true)
  assert.equal(only.selectEffective(true), undefined)
  assert.equal(only.selectEffective(false)?.qos, 1)

  const [mixed] = routesOf(
    ['a/b', one, { noLocal: true, qos: 2, identifier: 1, retainAsPublished: true }],
    ['#', one, { qos: 1, identifier: 2 }],
  ).resolvePlan(topic).localMatches
  assert.equal(mixed.allNoLocal, false)
  assert.deepEqual(summaryOfOptions(mixed.selectEffective(true)), {
    qos: 1,
    retainAsPublished: false,
    identifiers: [2],
  })
  assert.deepEqual(summaryOfOptions(mixed.selectEffective(false)), {
    qos: 2,
    retainAsPublished: true,
    identifiers: [1, 2],
  })
})

test('a change of an unrelated filter does not change the plan of a topic', () => {
  const routes = routesOf(['site/1/room/2/temperature', one, {}], ['site/1/+/+/+', two, {}])
  const topic = topicOf('site/1/room/2/temperature')
  const plan = routes.resolvePlan(topic)
  for (const filter of ['site/2/#', 'site/1/hall/#', 'site', 'site/1', 'site/1/room', 'site/1/room/2', 'sites/+']) {
    routes.subscribe(topicFilter(filter), two, optionsOf({}))
    assert.equal(routes.resolvePlan(topic), plan, `subscribe to ${filter}`)
    routes.unsubscribe(topicFilter(filter), two)
    assert.equal(routes.resolvePlan(topic), plan, `unsubscribe from ${filter}`)
  }
  routes.subscribe(topicFilter('site/1/room/#'), two, optionsOf({}))
  assert.notEqual(routes.resolvePlan(topic), plan)
})

test('a member that joins or leaves an existing group is found through the group', () => {
  const routes = routesOf(['$share/workers/a/#', one, {}])
  const topic = topicOf('a/b')
  const [group] = routes.resolvePlan(topic).groups
  routes.subscribe(topicFilter('$share/workers/a/#'), two, optionsOf({}))
  assert.equal(routes.resolvePlan(topic).groups[0], group)
  assert.equal(group.size, 2)
  routes.unsubscribe(topicFilter('$share/workers/a/#'), one)
  routes.unsubscribe(topicFilter('$share/workers/a/#'), two)
  assert.deepEqual(routes.resolvePlan(topic).groups, [])
  assert.equal(routes.isEmpty, true)
})

test('topics without subscribers share one plan', () => {
  const routes = routesOf(['a', one, {}])
  assert.equal(routes.resolvePlan(topicOf('b')), routes.resolvePlan(topicOf('c/d')))
})

test('a topic with a plan of another broker is planned again', () => {
  const topic = topicOf('a/b')
  routesOf(['a/b', one, {}]).resolvePlan(topic)
  const successor = routesOf(['a/b', two, {}])
  assert.deepEqual(
    successor.resolvePlan(topic).localMatches.map((each) => each.subscriber),
    [two],
  )
})

test('each filter that matches a topic invalidates its watch, whatever else is watched', () => {
  // One instance for all runs: it has 512 KiB, and topics of earlier runs are watched too.
  const cells = new PlanInvalidation()
  fc.assert(
    fc.property(topicNames, generalizations, fc.array(topicNames), (name, how, others) => {
      const filter = generalized(name, { ...how, isShared: false })
      fc.pre(matchesFilter(filter, name))
      for (const other of others) cells.addWatch(new PlanWatch(other))
      const watch = new PlanWatch(name)
      cells.addWatch(watch)
      cells.renew(watch)
      cells.touch(filter)
      assert.equal(cells.isCurrent(watch), false)
    }),
    { numRuns: 2_000, seed: 1_883 },
  )
})

test('a change is counted for the level that the fewest topics have', () => {
  const cells = new PlanInvalidation()
  const watches = Array.from({ length: 1_000 }, (_, device) => {
    const watch = new PlanWatch(topicName(`site/${device % 10}/device/${device}/temperature`))
    cells.addWatch(watch)
    return watch
  })
  const staleAfter = (filter: string): number => {
    for (const watch of watches) cells.renew(watch)
    cells.touch(topicFilter(filter))
    return watches.filter((watch) => !cells.isCurrent(watch)).length
  }
  assert.ok(staleAfter('site/3/#') < 120)
  assert.ok(staleAfter('+/3/#') < 120)
  assert.ok(staleAfter('+/+/device/17/#') < 10)
  assert.ok(staleAfter('site/7/device/17/+') < 10)
  assert.ok(staleAfter('+/3/device/#') < 120, 'the last level is not the rarest')
  assert.equal(staleAfter('+/device/#'), 0, 'a level at another position')
  assert.equal(staleAfter('#'), 1_000)
})

test('a watch of an earlier era is stale, so that counters may overflow', () => {
  const cells = new PlanInvalidation(3)
  const watch = new PlanWatch(topicName('a/b/c/d'))
  cells.renew(watch)
  for (let change = 0; change < 2; change += 1) cells.touch(topicFilter('x'))
  assert.equal(cells.isCurrent(watch), true, 'an unrelated change')
  cells.touch(topicFilter('x'))
  assert.equal(cells.isCurrent(watch), false, 'the third ends the era')
  cells.renew(watch)
  assert.equal(cells.isCurrent(watch), true)
})
