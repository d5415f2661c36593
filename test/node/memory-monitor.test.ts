import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { type MemoryChange, MemoryMonitor, lookIntervalMs } from '../../src/node/observe/memory-monitor.ts'
import { memoryBytes, memoryLimitOf, residentBytes } from '../../src/node/data-dir/machine-limits.ts'

/** A process that has so many per cent of its limit, and of the limit of one heap. */
class Watched {
  percent = 10
  heapPercent = 10
  nowMs = 0
  news: MemoryChange[] = []
  collections = 0
  alarms: string[] = []
  readonly watch = new MemoryMonitor({
    limitBytes: 100,
    maxHeapBytes: 100,
    read: () => ({ residentBytes: this.percent, heapBytes: [0, this.heapPercent] }),
    tell: (news) => void this.news.push(news),
    collect: () => void this.collections++,
    largest: () => Promise.resolve('queues 1 MiB'),
    alarms: {
      raise: (name, text) => void this.alarms.push(`${name} ${text}`),
      over: (name) => void this.alarms.push(`${name} over`),
    },
    nowMs: () => this.nowMs,
  })

  /** Looks for so long, and gives what was told meanwhile. */
  pass(seconds: number): MemoryChange[] {
    this.news = []
    this.collections = 0
    for (let looks = (seconds * 1_000) / lookIntervalMs; looks > 0; looks--) {
      this.nowMs += lookIntervalMs
      this.watch.look()
    }
    return this.news
  }
}

describe('the watch over memory', () => {
  test('tells nothing while there is enough', () => {
    assert.deepEqual(new Watched().pass(60), [])
  })

  test('has garbage collected before it finds the level soft: what was garbage is no reason', () => {
    const watched = new Watched()
    watched.percent = 75
    assert.deepEqual(watched.pass(1), [])
    assert.equal(watched.collections, 1)
    watched.percent = 60
    assert.deepEqual(watched.pass(30), [])
    assert.equal(watched.collections, 0)
  })

  test('finds it soft where that did not help, and tells so each second, with a collection', async () => {
    const watched = new Watched()
    watched.percent = 75
    watched.pass(3)
    assert.equal(watched.watch.level, 'soft')
    const told = watched.pass(20)
    assert.equal(told.length >= 20 && told.length <= 22, true, `${told.length}`)
    assert.equal(watched.collections, 20)
    await setImmediate()
    assert.deepEqual(watched.alarms, [
      'memory the memory is short (soft): 0 MiB of 0 MiB (node.memory_limit); queues 1 MiB',
    ])
  })

  test('finds it hard at once, and says how often in a row', () => {
    const watched = new Watched()
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

  test('while it is hard, garbage is collected four times per second: clients that are refused leave much of it', () => {
    const watched = new Watched()
    watched.percent = 75
    watched.pass(3)
    watched.percent = 95
    const news = watched.pass(1)
    assert.equal(watched.collections, 4)
    assert.deepEqual(
      news.map(({ level }) => level),
      ['hard'],
      'its largest users are visited once per second as before',
    )
  })

  test('a level lasts until there is clearly less, and each has its alarm', async () => {
    const watched = new Watched()
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
      'in this order, those of a short while too',
    )
  })

  test('a heap of one shard that is nearly full counts as the whole process', () => {
    const watched = new Watched()
    watched.heapPercent = 81
    watched.pass(0.25)
    assert.equal(watched.watch.level, 'hard')
  })
})

describe('node.memory_limit', () => {
  test('is three quarters of what there is, unless it is set', () => {
    assert.equal(memoryLimitOf({ node: { memoryLimitBytes: undefined } }), Math.floor(memoryBytes() * 0.75))
    assert.equal(memoryLimitOf({ node: { memoryLimitBytes: 300 } }), 300)
  })

  test('is compared with memory that is not of files', () => {
    const bytes = residentBytes()
    assert.ok(bytes > 10_000_000 && bytes <= process.memoryUsage.rss(), `${bytes}`)
  })
})
