// Measures the search for the subscribers of a message, and for retained messages. See README.md.
//
//   node --expose-gc bench/topics/measure.ts [name of a part]

import { RetainedTree, TopicRouter, type SubscriptionOptions } from '../../src/core/topics/index.ts'
import { parseTopicFilter, parseTopicName, Topic, type TopicFilter, type TopicName } from '../../src/protocol/index.ts'

interface Subscriber {
  readonly id: number
}

const options: SubscriptionOptions = {
  qos: 1,
  noLocal: false,
  retainAsPublished: false,
  retainHandling: 0,
  identifier: undefined,
  raisesTo: 0,
}

/** The time that one message may take at 3,000,000 messages a second. */
const messageBudgetNs = 1e9 / 3_000_000

function filterOf(text: string): TopicFilter {
  const filter = parseTopicFilter(text)
  if (filter === undefined) throw new Error(`'${text}' is not a topic filter`)
  return filter
}

function topicOf(text: string): Topic {
  const name = parseTopicName(text)
  if (name === undefined) throw new Error(`'${text}' is not a topic name`)
  return new Topic(name, Buffer.from(text))
}

/** Numbers that look random and are the same in each run. */
function randomNumbers(seed: number): () => number {
  let state = seed
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9
    state = Math.imul(state ^ (state >>> 12), 0x297a2d39)
    return (state >>> 0) / 2 ** 32
  }
}

/** Nanoseconds for each of `times` calls; the best of three runs, after one to warm up. */
function nsPerCall(times: number, call: (at: number) => void): number {
  let best = Infinity
  for (let run = 0; run < 4; run += 1) {
    const start = process.hrtime.bigint()
    for (let at = 0; at < times; at += 1) call(at)
    const ns = Number(process.hrtime.bigint() - start) / times
    if (run > 0 && ns < best) best = ns
  }
  return best
}

function heapBytes(): number {
  if (globalThis.gc === undefined) throw new Error('run it with node --expose-gc')
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

const print = (what: string, figure: string): void => console.log(`${what.padEnd(72)} ${figure}`)
const inNs = (ns: number): string => `${ns.toFixed(1).padStart(9)} ns`

/** 100 sites of 100 devices of 10 sensors: `count` of them. */
function deviceTopics(count: number): Topic[] {
  return Array.from({ length: count }, (_, at) => {
    const device = Math.floor(at / 10)
    return topicOf(`site/${Math.floor(device / 100) % 100}/device/${device}/sensor/${at % 10}`)
  })
}

function usualRoutes(topics: readonly Topic[]): TopicRouter<Subscriber> {
  const routes = new TopicRouter<Subscriber>()
  for (const [id, topic] of topics.entries()) routes.subscribe(filterOf(topic.name), { id }, options)
  return routes
}

function addUnrelated(routes: TopicRouter<Subscriber>, count: number): void {
  for (let id = 0; id < count; id += 1) {
    routes.subscribe(filterOf(`client/${id}/inbox/${id % 3 === 0 ? '#' : '+'}`), { id }, options)
  }
}

function measurePlans(): void {
  // Warm up with all cases, so that the first one has no advantage from code that is compiled for it alone.
  measurePlansBeside(10, () => {})
  for (const unrelated of [1, 1_000, 1_000_000]) measurePlansBeside(unrelated, print)
}

function measurePlansBeside(unrelated: number, report: (what: string, figure: string) => void): void {
  const topics = deviceTopics(100_000)
  const routes = usualRoutes(topics)
  const before = heapBytes()
  addUnrelated(routes, unrelated)
  const perFilter = (heapBytes() - before) / unrelated
  const name = `${unrelated} unrelated filters: `
  if (unrelated === 1_000_000) report(`${name}memory for each`, `${perFilter.toFixed(0).padStart(9)} bytes`)

  const [first] = topics
  report(`${name}plan of one topic, again`, inNs(nsPerCall(5_000_000, () => routes.resolvePlan(first))))
  const random = randomNumbers(1)
  const order = Array.from({ length: 1_000_000 }, () => topics[Math.floor(random() * 100_000)])
  report(
    `${name}plan of one of 100,000 topics, again`,
    inNs(nsPerCall(1_000_000, (at) => routes.resolvePlan(order[at]))),
  )
  const another = (at: number): Topic => {
    order[at].route = undefined
    return order[at]
  }
  report(
    `${name}plan of one of 100,000, first time`,
    inNs(nsPerCall(1_000_000, (at) => routes.resolvePlan(another(at)))),
  )
  report(
    `${name}plan of a topic, first time, warm`,
    inNs(
      nsPerCall(1_000_000, () => {
        first.route = undefined
        routes.resolvePlan(first)
      }),
    ),
  )
}

/** Number of messages per change: 1,000 changes per second and 3,000,000 messages per second. */
const messagesPerChange = 3_000

const changer: Subscriber = { id: -1 }

/** Each filter is subscribed to and, with the next change, unsubscribed from. */
function change(routes: TopicRouter<Subscriber>, filter: (at: number) => string, number: number): void {
  const changed = filterOf(filter(number >> 1))
  if ((number & 1) === 0) routes.subscribe(changed, changer, options)
  else routes.unsubscribe(changed, changer)
}

function measureChurn(): void {
  const topics = deviceTopics(100_000)
  const routes = usualRoutes(topics)
  addUnrelated(routes, 1_000)
  const random = randomNumbers(2)
  const order = Array.from({ length: 3_000_000 }, () => topics[Math.floor(random() * 100_000)])
  // The reference run also makes changes, but to other routes, so the difference is the cost of the plans, not of the loop.
  const elsewhere = new TopicRouter<Subscriber>()
  const plans = new Map(topics.map((topic) => [topic, routes.resolvePlan(topic)]))
  const nsBeside = (changed: TopicRouter<Subscriber>, filter: (at: number) => string): number =>
    nsPerCall(order.length, (at) => {
      routes.resolvePlan(order[at])
      if (at % messagesPerChange === 0) change(changed, filter, at / messagesPerChange)
    })

  const shapes: [name: string, filter: (at: number) => string][] = [
    ['client/N/inbox', (at) => `client/${at}/inbox`],
    ['site/N/device/N/+/+', (at) => `site/${at % 100}/device/${at % 10_000}/+/+`],
    ['site/+/device/N/#', (at) => `site/+/device/${at % 10_000}/#`],
    ['site/N/#  (1,000 topics)', (at) => `site/${at % 100}/#`],
    ['+/N/#  (1,000 topics)', (at) => `+/${at % 100}/#`],
  ]
  nsBeside(routes, shapes[1][1])
  for (const [name, filter] of shapes) {
    const quiet = nsBeside(elsewhere, filter)
    const busy = nsBeside(routes, filter)
    let anew = 0
    for (const [at, topic] of order.entries()) {
      const plan = routes.resolvePlan(topic)
      if (plans.get(topic) !== plan) anew += 1
      plans.set(topic, plan)
      if (at % messagesPerChange === 0) change(routes, filter, at / messagesPerChange)
    }
    print(
      `1,000 changes a second of ${name}: plans rebuilt`,
      `${((anew / order.length) * 100).toFixed(2).padStart(9)} %`,
    )
    const share = ((busy - quiet) / messageBudgetNs) * 100
    print(
      `1,000 changes a second of ${name}`,
      `${inNs(busy)}, without ${inNs(quiet)}: ${share.toFixed(1)} % of a message`,
    )
  }
}

function measureFanOut(): void {
  for (const count of [100, 10_000, 100_000]) {
    const routes = new TopicRouter<Subscriber>()
    for (let id = 0; id < count; id += 1) routes.subscribe(filterOf('news'), { id }, options)
    const topic = topicOf('news')
    const ns = nsPerCall(Math.ceil(1_000_000 / count), () => {
      topic.route = undefined
      routes.resolvePlan(topic)
    })
    print(`plan with ${count} subscribers, rebuilt: for each subscriber`, inNs(ns / count))
  }
}

class Retained {
  readonly topicName: TopicName

  constructor(topic: Topic) {
    this.topicName = topic.name
  }
}

function measureRetained(): void {
  const messages = deviceTopics(1_000_000).map((topic) => new Retained(topic))
  const tree = new RetainedTree<Retained>()
  const before = heapBytes()
  let longest = 0
  const start = performance.now()
  for (const message of messages) {
    const at = performance.now()
    tree.set(message)
    longest = Math.max(longest, performance.now() - at)
  }
  const ms = performance.now() - start
  print('1,000,000 retained: set, for each', `${inNs(ms)}, the longest ${longest.toFixed(2)} ms`)
  print(
    '1,000,000 retained: memory of the tree for each',
    `${((heapBytes() - before) / 1e6).toFixed(0).padStart(9)} bytes`,
  )
  print('1,000,000 retained: get', inNs(nsPerCall(1_000_000, (at) => tree.get(messages[at].topicName))))
  for (const filter of ['#', 'site/+/device/+/sensor/1', '+/+/+/+/+/none', 'site/17/#']) {
    for (const limit of [1_024, 4_096]) walk(tree, filter, limit)
  }
}

/** Many topics on one level, which is one large Map. */
function measureFlatRetained(): void {
  const tree = new RetainedTree<Retained>()
  const messages = Array.from({ length: 1_000_000 }, (_, at) => new Retained(topicOf(`status/${at}`)))
  const before = heapBytes()
  let longest = 0
  for (const message of messages) {
    const at = performance.now()
    tree.set(message)
    longest = Math.max(longest, performance.now() - at)
  }
  print(
    '1,000,000 retained on one level: memory of the tree for each',
    `${((heapBytes() - before) / 1e6).toFixed(0).padStart(9)} bytes`,
  )
  print('1,000,000 retained on one level: the longest set', `${longest.toFixed(2).padStart(9)} ms`)
  walk(tree, 'status/+', 4_096)
}

function walk(tree: RetainedTree<Retained>, filter: string, limit: number): void {
  const cursor = tree.walkMatching(filterOf(filter))
  let found = 0
  let slices = 0
  let longest = 0
  const start = performance.now()
  for (let isEnd = false; !isEnd; slices += 1) {
    const at = performance.now()
    const slice = cursor.next(limit)
    longest = Math.max(longest, performance.now() - at)
    found += slice.messages.length
    isEnd = slice.isEnd
  }
  const whole = performance.now() - start
  print(
    `walk ${filter} in slices of ${limit}: the longest slice`,
    `${longest.toFixed(2).padStart(9)} ms of ${slices} slices, ${whole.toFixed(0)} ms in all, ${found} found`,
  )
}

const parts: Record<string, () => void> = {
  plans: measurePlans,
  churn: measureChurn,
  'fan-out': measureFanOut,
  retained: measureRetained,
  'flat-retained': measureFlatRetained,
}

const [, , wanted] = process.argv
for (const [name, measure] of Object.entries(parts)) if (wanted === undefined || wanted === name) measure()
