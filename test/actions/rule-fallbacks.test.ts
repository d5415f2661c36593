// Failing actions: the other actions, and the fallbacks.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PlainRuleAction, RuleActionConfig } from '../../src/config/index.ts'
import { republishTo, ruleWorld } from './rule-world.ts'

const one = { shards: 1 } as const
/** A topic with a wildcard: the action fails. */
const failing = republishTo('a/#')
const console: PlainRuleAction = { kind: 'console' }
const sql = 'SELECT payload FROM "in"'

function run(actions: readonly RuleActionConfig[], stopsAtFailure: boolean, statement = sql) {
  const { world, take, outputsOf, report } = ruleWorld(one)
  take([{ id: 'r', sql: statement, actions, stopsAtFailure }])
  const subscriber = world.subscriber('out')
  world.connect('p').publish('in', '[1,2]', { qos: 1 })
  world.settle()
  const counters = report('r')?.counters
  assert.ok(counters !== undefined)
  const { actionsTotal, actionsSuccess, actionsFailed } = counters
  assert.equal(actionsTotal, actionsSuccess + actionsFailed)
  return {
    logged: outputsOf('r').length,
    published: subscriber.payloads.length,
    failed: actionsFailed,
    functions: report('r')?.functions,
  }
}

test('with continue, a failing action does not prevent others; with stop it does', () => {
  const actions = [...republishTo('out'), ...failing, console]
  assert.deepEqual(
    { ...run(actions, false), functions: undefined },
    {
      logged: 1,
      published: 1,
      failed: 1,
      functions: undefined,
    },
  )
  assert.deepEqual(
    { ...run(actions, true), functions: undefined },
    {
      logged: 0,
      published: 1,
      failed: 1,
      functions: undefined,
    },
  )
})

test('fallbacks get the results for which the action fails, also with stop, and no others', () => {
  const [failingAction] = failing
  const [republish] = republishTo('out')
  const actions: readonly RuleActionConfig[] = [
    { ...failingAction, fallbacks: [console, ...republishTo('out')] },
    { ...republish, fallbacks: [console] },
  ]
  const continued = run(actions, false)
  assert.deepEqual([continued.logged, continued.published, continued.failed], [1, 2, 1])
  assert.deepEqual(continued.functions, [
    { taken: 1, success: 0, failed: 1 },
    { taken: 1, success: 1, failed: 0 },
    { taken: 1, success: 1, failed: 0 },
    { taken: 1, success: 1, failed: 0 },
    { taken: 0, success: 0, failed: 0 },
  ])
  const stopped = run(actions, true)
  assert.deepEqual([stopped.logged, stopped.published, stopped.failed], [1, 1, 1])
})

test('with stop, later results of the same message are not passed on', () => {
  const each = 'FOREACH json_decode(payload) AS e DO e FROM "in"'
  assert.equal(run([console], true, each).logged, 2)
  assert.equal(run([...failing, console], true, each).failed, 1)
  assert.equal(run([...failing, console], false, each).failed, 2)
})
