// The rates of messages over a bridge.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BridgeRates } from '../../src/shard/bridges/bridge-rates.ts'

test('rates are means of the last ten seconds, with one decimal', () => {
  const rates = new BridgeRates()
  assert.deepEqual(rates.read(), { sentRate: 0, receivedRate: 0 })
  for (let second = 0; second <= 20; second++) {
    rates.recordCounts({ sent: second < 10 ? 0 : second - 10, received: second === 20 ? 2 : 0 }, second * 1_001)
  }
  assert.deepEqual(rates.read(), { sentRate: 1, receivedRate: 0.2 })
})
