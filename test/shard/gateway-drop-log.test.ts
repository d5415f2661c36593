// The log of packets that a gateway dropped, with a simulated clock.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGatewayCounters } from '../../src/gateways/index.ts'
import { DropLog } from '../../src/shard/gateways/gateway-drop-log.ts'

test('the first packet of each reason that a gateway drops is logged at once, and the number of further ones once a minute', () => {
  const lines: (readonly [string, unknown])[] = []
  const listener = { gateway: 'coap', kind: 'udp', listener: 'default' }
  const log = new DropLog({ warn: (event, fields) => void lines.push([event, fields]) }, listener)
  const counters = createGatewayCounters()
  log.check(counters, 0)
  assert.deepEqual(lines, [])
  counters.dropped.banned++
  log.check(counters, 1_000)
  const line = (reason: string, dropped: number) => ['gateway packets dropped', { ...listener, reason, dropped }]
  assert.deepEqual(lines.splice(0), [line('banned', 1)])
  for (let nowMs = 2_000; nowMs < 61_000; nowMs += 1_000) {
    counters.dropped.banned += 10
    if (nowMs === 30_000) counters.dropped.unproven++
    log.check(counters, nowMs)
  }
  assert.deepEqual(lines.splice(0), [line('unproven', 1)])
  log.check(counters, 61_000)
  assert.deepEqual(lines.splice(0), [line('banned', 590)])
  log.check(counters, 200_000)
  assert.deepEqual(lines, [], 'nothing was dropped since')
})
