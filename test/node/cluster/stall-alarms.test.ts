import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StallAlarms } from '../../../src/node/cluster/stall-alarms.ts'

const held = { kind: 'held', subject: 'shard 3', reason: 'the database went back', remedy: 'accept-loss 3' } as const
const clock = { kind: 'clock', subject: 'a', reason: 'its clock differs', remedy: 'set its clock' } as const

void test('a stall that lasts raises one alarm with its remedy, which ends with it', () => {
  const seen: string[] = []
  const alarms = new StallAlarms({
    raise: (name, text, source) => void seen.push(`+ ${name} ${source}: ${text}`),
    end: (name, _, source) => void seen.push(`- ${name} ${source}`),
  })
  // A fail-over.
  alarms.check([held])
  alarms.check([held])
  alarms.check([])
  assert.deepEqual(seen, [])
  for (let i = 0; i < 5; i++) alarms.check([held, clock])
  assert.deepEqual(seen.splice(0), [
    '+ cluster-stalled:shard 3 held: the database went back; accept-loss 3',
    '+ cluster-stalled:a clock: its clock differs; set its clock',
  ])
  alarms.check([clock])
  assert.deepEqual(seen, ['- cluster-stalled:shard 3 held'])
})
