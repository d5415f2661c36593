// Many rules: a change compiles only what has changed, in slices between which the shard serves clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RuleAssignment } from '../../src/actions/plan/rule-plan.ts'
import { RuleRunner } from '../../src/actions/rules/rule-runner.ts'
import { sampleHost } from '../rules/sample-host.ts'
import { sinklessRules } from './sinkless-rules.ts'

const options = { ignoresSysMessages: true, eventMessages: [] }

function assignments(count: number, sqlOf = (number: number) => `SELECT * FROM "t/${number}"`): RuleAssignment[] {
  return Array.from({ length: count }, (_, number) => ({
    id: `r${number}`,
    sql: sqlOf(number),
    isEnabled: true,
    actions: [],
    stopsAtFailure: false,
  }))
}

test('new rules are compiled in slices, and a change compiles only rules with other SQL', async () => {
  let clock = 0
  const filters: (readonly string[])[] = []
  const runner = new RuleRunner({
    ...sinklessRules,
    host: sampleHost(),
    nodeName: 'godwit@test',
    findPublisher: () => undefined,
    monotonicMs: () => clock++,
    setRules: (rules) => void filters.push(rules.map(([filter]) => filter)),
  })
  let pauses = 0
  const pause = async (): Promise<void> => void pauses++
  await runner.prepare(assignments(1_000), pause)
  // The clock advances by one millisecond with each rule; a slice has two.
  assert.ok(pauses >= 300, `${pauses} pauses`)
  runner.configure(assignments(1_000), options)
  assert.equal(filters.at(-1)?.length, 1_000)
  pauses = 0
  const changed = assignments(1_001, (number) => `SELECT * FROM "${number === 5 ? 'other' : 't'}/${number}"`)
  await runner.prepare(changed, pause)
  assert.ok(pauses <= 1, `${pauses} pauses`)
  runner.configure(changed, options)
  assert.deepEqual([filters.at(-1)?.[5], filters.at(-1)?.length], ['other/5', 1_001])
  runner.stop()
})
