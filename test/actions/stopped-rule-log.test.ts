import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StoppedRuleLog } from '../../src/actions/rules/stopped-rule-log.ts'
import { sinklessRules } from './sinkless-rules.ts'

test('a rule that many messages stop has two log lines per second, which count all of them', () => {
  const lines: unknown[] = []
  const warn = (event: string, fields?: object): unknown => lines.push([event, fields])
  const log = new StoppedRuleLog({ ...sinklessRules.log, warn })
  for (const topic of ['a', 'b', 'c']) log.record('costly', { rule: 'costly', topic })
  log.record('other', { rule: 'other', topic: 'd' })
  assert.deepEqual(lines, [
    ['rule stopped', { rule: 'costly', topic: 'a', count: 1 }],
    ['rule stopped', { rule: 'other', topic: 'd', count: 1 }],
  ])
  log.logCounted()
  assert.deepEqual(lines.slice(2), [['rule stopped', { rule: 'costly', topic: 'c', count: 2 }]])
  log.logCounted()
  log.record('costly', { rule: 'costly', topic: 'e' })
  assert.deepEqual(lines.slice(3), [['rule stopped', { rule: 'costly', topic: 'e', count: 1 }]])
})
