import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketEndsSeconds, createHistogramTable, listHistograms, Histograms } from '../../src/telemetry/index.ts'

test('a duration counts in the first bucket that is long enough, in the sum and in the count', () => {
  const table = createHistogramTable(2)
  const meters = new Histograms(table, 1)
  for (const seconds of [0, bucketEndsSeconds[0], 0.0002, 3, 1e9]) meters.observe('commit', seconds)
  const { counts, count, sumSeconds } = listHistograms(table)[1].read('commit')
  assert.equal(counts.length, bucketEndsSeconds.length + 1)
  assert.deepEqual([counts[0], counts[1], counts[bucketEndsSeconds.indexOf(5)], counts.at(-1)], [2, 1, 1, 1])
  assert.equal(count, 5)
  assert.ok(Math.abs(sumSeconds - (1e9 + 3.0003)) < 1)
})

test('histograms of shards and of operations are separate, and shards do not share a cache line', () => {
  const table = createHistogramTable(2)
  new Histograms(table, 0).observe('turn', 1)
  const [first, second] = listHistograms(table)
  assert.deepEqual([first.read('turn').count, first.read('held').count, second.read('turn').count], [1, 0, 0])
  assert.equal((table.byteLength / 2) % 64, 0)
})

test('event loop delay and memory of a thread are stored next to the histograms, and do not change them', () => {
  const [row] = listHistograms(createHistogramTable(1))
  row.setLoopDelay({ meanSeconds: 0.1, p99Seconds: 0.2, maxSeconds: 0.3 })
  row.setMemory({ heapBytes: 7, buffersBytes: 8 })
  assert.deepEqual(row.loopDelay, { meanSeconds: 0.1, p99Seconds: 0.2, maxSeconds: 0.3 })
  assert.deepEqual(row.memory, { heapBytes: 7, buffersBytes: 8 })
  assert.equal(row.read('held').count, 0)
})
