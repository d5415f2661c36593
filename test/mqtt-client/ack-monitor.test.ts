import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AckMonitor } from '../../src/mqtt-client/ack-timeout.ts'

/** Calls the monitor whenever it is due. Returns the time at which it reports a stall; undefined: it does not. */
function stalledAt(watch: AckMonitor, endMs: number, unsentBytes: number): number | undefined {
  for (let nowMs = watch.dueAtMs; nowMs <= endMs; nowMs = watch.dueAtMs)
    if (watch.isStalled({ inFlight: 5, receivedAcks: 0, unsentBytes }, nowMs)) return nowMs
  return undefined
}

test('the timeout for acknowledgements begins when a slow remote broker has received the messages', () => {
  const watch = new AckMonitor()
  watch.begin({ waitMs: 1_000, intervalMs: 0 }, 0)
  assert.equal(stalledAt(watch, 60_000, 10), undefined)
  assert.equal(stalledAt(watch, 120_000, 0), 61_000)
})
