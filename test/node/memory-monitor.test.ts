import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type MemoryChange, MemoryMonitor, lookIntervalMs } from '../../src/node/observe/memory-monitor.ts'
import { readMemoryBytes, computeMemoryLimit, readResidentBytes } from '../../src/node/data-dir/machine-limits.ts'

/** A monitored process with memory in percent of its limit, and of the limit of one heap. */
class MonitoredProcess {
  percent = 10
  heapPercent = 10
  nowMs = 0
  changes: MemoryChange[] = []
  collections = 0
  alarms: string[] = []
  readonly watch = new MemoryMonitor({
    limitBytes: 100,
    maxHeapBytes: 100,
    read: () => ({ residentBytes: this.percent, heapBytes: [0, this.heapPercent] }),
    sendToShards: (changes) => void this.changes.push(changes),
    collect: () => void this.collections++,
    describeLargest: () => Promise.resolve('queues 1 MiB'),
    alarms: {
      raise: (name, text) => void this.alarms.push(`${name} ${text}`),
      end: (name) => void this.alarms.push(`${name} over`),
    },
    nowMs: () => this.nowMs,
  })

  /** Runs the checks of this time, and returns the reported changes. */
  pass(seconds: number): MemoryChange[] {
    this.changes = []
    this.collections = 0
    for (let looks = (seconds * 1_000) / lookIntervalMs; looks > 0; looks--) {
      this.nowMs += lookIntervalMs
      this.watch.poll()
    }
    return this.changes
  }
}

describe('the memory monitor', () => {
  test('reports nothing while there is enough memory', () => {
    assert.deepEqual(new MonitoredProcess().pass(60), [])
  })

  test('collects garbage before it reports the level soft, so that garbage is not a reason for it', () => {
    const watched = new MonitoredProcess()
    watched.percent = 75
    assert.deepEqual(watched.pass(1), [])
    assert.equal(watched.collections, 1)
    watched.percent = 60
    assert.deepEqual(watched.pass(30), [])
    assert.equal(watched.collections, 0)
  })

  test('reports the level soft each second, with a garbage collection, if the first collection did not help', async () => {
    const watched = new MonitoredProcess()
    watched.percent = 75
    watched.pass(3)
    assert.equal(watched.watch.level, 'soft')
    const reports = watched.pass(20)
    assert.equal(reports.length >= 20 && reports.length <= 22, true, `${reports.length}`)
    assert.equal(watched.collections, 20)
    await setImmediate()
    assert.deepEqual(watched.alarms, [
      'memory the memory is short (soft): 0 MiB of 0 MiB (node.memory_limit); queues 1 MiB',
    ])
  })

  test('reports the level hard at once, with the number of consecutive reports', () => {
    const watched = new MonitoredProcess()
    watched.percent = 95
    const [first, ...rest] = watched.pass(4)
    assert.deepEqual(first, { level: 'hard', step: 0 })
    assert.deepEqual(
      rest.map(({ level, step }) => [level, step]),
      [
        ['hard', 1],
        ['hard', 2],
        ['hard', 3],
      ],
    )
  })

  test('collects garbage four times per second at the level hard, because refused clients leave much garbage', () => {
    const watched = new MonitoredProcess()
    watched.percent = 75
    watched.pass(3)
    watched.percent = 95
    const changes = watched.pass(1)
    assert.equal(watched.collections, 4)
    assert.deepEqual(
      changes.map(({ level }) => level),
      ['hard'],
      'the level is still reported once per second',
    )
  })

  test('leaves a level only when memory is clearly below its limit, and raises an alarm for each level', async () => {
    const watched = new MonitoredProcess()
    watched.percent = 95
    watched.pass(2)
    watched.percent = 78
    watched.pass(2)
    assert.equal(watched.watch.level, 'hard')
    watched.percent = 72
    watched.pass(1)
    assert.equal(watched.watch.level, 'soft')
    watched.percent = 67
    watched.pass(1)
    assert.equal(watched.watch.level, 'soft')
    watched.percent = 60
    assert.deepEqual(watched.pass(1).at(-1)?.level, 'normal')
    watched.percent = 95
    assert.deepEqual(watched.pass(0.25), [{ level: 'hard', step: 0 }])
    await setImmediate()
    assert.deepEqual(
      watched.alarms.map((alarm) => alarm.split(':')[0]),
      ['hard', 'soft', 'over', 'hard'].map((what) =>
        what === 'over' ? 'memory over' : `memory the memory is short (${what})`,
      ),
      'all alarms in this order, also short ones',
    )
  })

  test('treats a nearly full heap of one shard like a nearly full process', () => {
    const watched = new MonitoredProcess()
    watched.heapPercent = 81
    watched.pass(0.25)
    assert.equal(watched.watch.level, 'hard')
  })
})

describe('node.memory_limit', () => {
  test('is three quarters of the memory of the machine, unless it is set', () => {
    assert.equal(computeMemoryLimit({ node: { memoryLimitBytes: undefined } }), Math.floor(readMemoryBytes() * 0.75))
    assert.equal(computeMemoryLimit({ node: { memoryLimitBytes: 300 } }), 300)
  })

  test('is compared with resident memory without mapped files', () => {
    const bytes = readResidentBytes()
    assert.ok(bytes > 10_000_000 && bytes <= process.memoryUsage.rss(), `${bytes}`)
  })
})
