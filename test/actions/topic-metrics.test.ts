// Messages of registered topics are counted, and those of others cause no work.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CountedTopic, RuleHook, RuleTriggerKind } from '../../src/core/index.ts'
import { TopicMetrics } from '../../src/actions/watches/topic-metric-counters.ts'
import { topicCountNames } from '../../src/actions/plan/rule-reports.ts'
import { World } from '../simulator/world.ts'

/** Has no rules: fails if one is run. */
const noRules: RuleHook = {
  run: () => assert.fail('there is no rule'),
  runTriggers: () => assert.fail('no trigger is configured'),
  recordLost: () => undefined,
}

function countedWorld(shards: number, topics: readonly string[]) {
  const all: TopicMetrics[] = []
  let latestRules: readonly unknown[] = []
  const hookOf = (own: number): RuleHook => {
    const metrics = new TopicMetrics(
      noRules,
      (rules, triggers: ReadonlySet<RuleTriggerKind>, countedTopics: ReadonlyMap<string, CountedTopic>) => {
        latestRules = rules
        world.host.shards[own]?.handle({ kind: 'rules', rules, triggers, countedTopics })
      },
    )
    all[own] = metrics
    return metrics
  }
  const world: World = new World({ shards, host: { ruleHook: hookOf } })
  const take = (wanted: readonly string[]): void => {
    for (const metrics of all) metrics.configure(wanted, 1_000)
    world.settle()
  }
  take(topics)
  return {
    world,
    all,
    take,
    entries: () => latestRules.length,
    /** The counts above 0, over all shards. */
    counts: (topic: string, of: 'counts' | 'rates' = 'counts') => {
      const sums: Record<string, number> = {}
      for (const metrics of all) {
        const report = metrics.listReports().find((each) => each.topic === topic)
        for (const [place, name] of topicCountNames.entries()) {
          const count = report?.[of][place] ?? 0
          if (count > 0) sums[name] = (sums[name] ?? 0) + count
        }
      }
      return sums
    },
  }
}

for (const shards of [1, 3]) {
  test(`received and sent messages are counted by QoS, and so are those without subscribers (${shards} shards)`, (t) => {
    const { world, all, counts } = countedWorld(shards, ['a/b', 'quiet'])
    t.after(() => all.forEach((metrics) => metrics.stop()))
    const names = ['one', 'two', 'three', 'four']
    for (const name of names) world.connect(name).subscribe('a/+', { qos: 1 })
    const publisher = world.connect('publisher')
    for (const qos of [0, 1, 2] as const) publisher.publish('a/b', `at ${qos}`, { qos })
    publisher.publish('a/c', 'of another topic', { qos: 1 })
    world.settle()
    assert.deepEqual(counts('a/b'), { 'qos0.in': 1, 'qos1.in': 1, 'qos2.in': 1, 'qos0.out': 4, 'qos1.out': 8 })
    publisher.publish('quiet', 'nobody', { qos: 1 })
    world.settle()
    assert.deepEqual(counts('quiet'), { 'qos1.in': 1, dropped: 1 })
  })
}

test('a queued message is counted when it is sent', (t) => {
  const { world, all, counts } = countedWorld(1, ['a/b'])
  t.after(() => all.forEach((metrics) => metrics.stop()))
  const stored = { cleanStart: false, sessionExpirySeconds: 60 }
  const offlineClient = world.connect('offline', stored)
  offlineClient.subscribe('a/b', { qos: 1 })
  offlineClient.disconnect()
  world.connect('publisher').publish('a/b', 'later', { qos: 1 })
  world.settle()
  assert.deepEqual(counts('a/b'), { 'qos1.in': 1 })
  offlineClient.connect()
  world.settle()
  assert.deepEqual(counts('a/b'), { 'qos1.in': 1, 'qos1.out': 1 })
})

test('rates are means over five seconds; a reset sets 0; a topic that stays keeps its counts', (t) => {
  const { world, all, counts, take, entries } = countedWorld(1, ['a/b'])
  t.after(() => all.forEach((metrics) => metrics.stop()))
  const [metrics] = all
  assert.ok(metrics !== undefined)
  const publisher = world.connect('publisher')
  for (let second = 0; second < 8; second++) {
    for (let message = 0; message < 3; message++) publisher.publish('a/b', 'x')
    world.settle()
    metrics.recordSecond()
  }
  assert.deepEqual(counts('a/b', 'rates'), { 'qos0.in': 3, dropped: 3 })
  take(['a/b', 'more'])
  assert.equal(counts('a/b')['qos0.in'], 24)
  metrics.reset('a/b', 5_000)
  assert.deepEqual([counts('a/b'), counts('a/b', 'rates')], [{}, {}])
  assert.equal(metrics.listReports().find(({ topic }) => topic === 'a/b')?.resetAtMs, 5_000)
  assert.equal(entries(), 2)
  take([])
  assert.equal(entries(), 0, 'the match plan has no entry left')
  publisher.publish('a/b', 'x')
  world.settle()
  assert.deepEqual(metrics.listReports(), [])
})
