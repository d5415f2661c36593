import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleGc, createThreadHeap, computeTraffic } from '../../src/shard/runtime/idle-gc.ts'
import { eventually } from '../e2e/eventually.ts'
import type { CounterName } from '../../src/telemetry/index.ts'

const mebibyte = 1_048_576

/** A heap with `live` MiB in use after a collection, and as many pages after a release. */
class ModelHeap {
  heap: number
  used = 10
  live = 10
  /** MiB that clients use. */
  clients = 0
  traffic = 0
  now = 0
  collectionMs = 100
  readonly done: string[] = []
  readonly tidy: IdleGc

  constructor({ heap }: { readonly heap: number } = { heap: 20 }) {
    this.heap = heap
    this.tidy = this.#idleGc()
  }

  #idleGc(): IdleGc {
    return new IdleGc({
      readHeapBytes: () => this.heap * mebibyte,
      readUsedBytes: () => this.used * mebibyte,
      readClientBytes: () => this.clients * mebibyte,
      readTraffic: () => this.traffic,
      nowMs: () => this.now,
      forget: () => {
        this.done.push('forget')
      },
      collect: () => {
        this.done.push('collect')
        this.now += this.collectionMs
        this.used = this.live
      },
      release: () => {
        this.done.push('release')
        this.used = this.live
        this.heap = this.live + 10
      },
    })
  }

  burst(heap: number): void {
    this.traffic += 1_000_000
    this.heap = heap
    this.used = heap - 10
    this.check()
  }

  /** `seconds` after the last interval. */
  check(seconds = 15): void {
    this.now += seconds * 1_000
    this.tidy.check()
  }

  checkOften(): void {
    for (let time = 0; time < 20; time++) this.check()
  }
}

test('memory of a burst is released once, after its end', () => {
  const model = new ModelHeap()
  model.burst(200)
  assert.deepEqual(model.done, [], 'during traffic')
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'])
  model.burst(200)
  model.checkOften()
  assert.equal(model.done.length, 6)
})

test('the pages are released also if V8 collected the heap itself meanwhile', () => {
  const model = new ModelHeap()
  model.burst(200)
  model.heap = 25
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'])
})

test('the limit of idle traffic is per second, for short and long intervals', () => {
  const model = new ModelHeap()
  model.burst(200)
  for (let time = 0; time < 2; time++) {
    model.traffic += 300
    model.check(3)
  }
  assert.deepEqual(model.done, [])
  model.traffic += 300
  model.check(15)
  assert.deepEqual(model.done, ['forget', 'collect'])
})

test('traffic that begins again is not delayed by the second step', () => {
  const model = new ModelHeap()
  model.burst(200)
  model.check()
  model.burst(200)
  assert.deepEqual(model.done, ['forget', 'collect'])
})

test('memory of a burst is released during moderate traffic too, in three intervals, once, and not during heavy traffic', () => {
  const model = new ModelHeap()
  model.collectionMs = 10
  model.burst(200)
  model.used = 30
  const interval = (traffic: number): string[] => {
    model.traffic += traffic
    model.check()
    return model.done
  }
  for (let time = 0; time < 20; time++) assert.deepEqual(interval(40_000), [], 'during heavy traffic')
  interval(20_000)
  assert.deepEqual(interval(20_000), [])
  assert.deepEqual(interval(20_000), ['forget', 'collect', 'release'])
  for (let time = 0; time < 20; time++) interval(20_000)
  assert.equal(model.done.length, 3)
})

test('beside little traffic, a long collection is not followed by a release; it is repeated until it is short', () => {
  const model = new ModelHeap()
  model.burst(200)
  const interval = (): string[] => {
    model.traffic += 3_000
    model.check()
    return model.done.splice(0)
  }
  for (let time = 0; time < 2; time++) assert.deepEqual(interval(), [])
  assert.deepEqual(interval(), ['forget', 'collect'])
  model.collectionMs = 10
  assert.deepEqual(interval(), ['forget', 'collect', 'release'])
  for (let time = 0; time < 20; time++) assert.deepEqual(interval(), [])
})

test('beside little traffic, collections that stay long are repeated twice, and the release waits until the traffic ends', () => {
  const model = new ModelHeap()
  model.burst(200)
  for (let time = 0; time < 20; time++) {
    model.traffic += 3_000
    model.check()
  }
  assert.deepEqual(model.done.splice(0), ['forget', 'collect', 'forget', 'collect', 'forget', 'collect'])
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'])
})

test('the memory of a client that leaves is released, although the heap has not grown since it was released beside this client', () => {
  const model = new ModelHeap()
  model.burst(200)
  model.clients = 80
  model.live = 90
  model.checkOften()
  assert.deepEqual(model.done.splice(0), ['forget', 'collect', 'release'])
  model.live = 10
  model.clients = 60
  model.checkOften()
  assert.deepEqual(model.done, [], 'little has become free')
  model.clients = 0
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'])
  model.done.length = 0
  model.clients = 80
  model.heap += 80
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'], 'the heap has grown')
})

test('beside traffic too, the memory of a client that leaves is released', () => {
  const model = new ModelHeap()
  model.collectionMs = 10
  model.burst(200)
  model.clients = 80
  model.live = 90
  const intervals = (): string[] => {
    for (let time = 0; time < 5; time++) {
      model.traffic += 3_000
      model.check()
    }
    return model.done.splice(0)
  }
  assert.deepEqual(intervals(), ['forget', 'collect', 'release'])
  assert.deepEqual(intervals(), [])
  model.clients = 0
  model.live = 10
  assert.deepEqual(intervals(), ['forget', 'collect', 'release'])
})

test('during moderate traffic, a heap with much memory in use is not collected, as that would take long', () => {
  const model = new ModelHeap()
  model.burst(400)
  for (let time = 0; time < 20; time++) {
    model.traffic += 20_000
    model.check()
  }
  assert.deepEqual(model.done, [])
})

test('memory that stays in use is not collected repeatedly', () => {
  const model = new ModelHeap()
  model.live = 80
  model.burst(200)
  model.checkOften()
  assert.deepEqual(model.done, ['forget', 'collect', 'release'])
})

test('a heap with much memory in use is collected and not released, one with very much is not collected', () => {
  const large = new ModelHeap()
  large.live = 200
  large.burst(400)
  large.checkOften()
  assert.deepEqual(large.done, ['forget', 'collect'])
  const huge = new ModelHeap()
  huge.live = 2_000
  huge.burst(3_000)
  huge.checkOften()
  assert.deepEqual(huge.done, ['forget'])
})

test('a heap that has hardly grown is not collected', () => {
  const model = new ModelHeap({ heap: 70 })
  model.checkOften()
  const afterStart = model.done.length
  model.heap += 20
  model.checkOften()
  assert.equal(model.done.length, afterStart)
})

test('buffers outside the heap count like the heap', () => {
  const { readHeapBytes: heapBytes, release } = createThreadHeap()
  // Garbage of other tests that is collected meanwhile would hide the growth.
  release()
  const before = heapBytes()
  const buffer = Buffer.allocUnsafeSlow(64 * mebibyte)
  assert.ok(heapBytes() - before > 48 * mebibyte, `${heapBytes() - before} for ${buffer.length}`)
})

test('traffic is the number of messages in both directions, and their KiB', () => {
  const counts: Partial<Record<CounterName, number>> = {
    messagesReceived: 3,
    messagesSent: 4,
    bytesReceived: 2_000,
    bytesSent: 1_500,
    packetsSent: 9,
  }
  assert.equal(
    computeTraffic((name) => counts[name] ?? 0),
    10,
  )
})

test('the pages of the heap of a thread are returned to the system', () => {
  const { readHeapBytes: heapBytes, readUsedBytes: usedBytes, collect, release } = createThreadHeap()
  let rubbish: unknown[] = Array.from({ length: 3_000_000 }, (_, index) => ({ index }))
  assert.equal(rubbish.length, 3_000_000)
  const full = { heap: heapBytes(), used: usedBytes(), resident: process.memoryUsage.rss() }
  rubbish = []
  collect()
  assert.ok(usedBytes() < full.used - 64 * mebibyte)
  release()
  assert.ok(heapBytes() < full.heap - 64 * mebibyte)
  const resident = process.memoryUsage.rss()
  assert.ok(resident < full.resident - 64 * mebibyte, `${full.resident} before, ${resident} after`)
})

test('while memory is short, the heap is collected during traffic, for a tenth of the time at most', () => {
  const model = new ModelHeap()
  model.burst(200)
  const collected = (): number => model.done.filter((what) => what === 'collect').length
  for (let tenth = 0; tenth < 100; tenth++) {
    model.now += 100
    model.tidy.collectNow()
  }
  assert.ok(collected() >= 8 && collected() <= 12, `${collected()}`)
  assert.equal(model.done.filter((what) => what === 'release').length, 1, 'a longer pause once per minute')
})

test('while memory is short and a collection is fast, pages are returned each time, however much memory is in use', () => {
  const model = new ModelHeap()
  model.collectionMs = 10
  model.live = 400
  model.burst(700)
  for (let second = 0; second < 5; second++) {
    model.now += 1_000
    model.tidy.collectNow()
  }
  assert.deepEqual(model.done, Array.from({ length: 5 }, () => ['forget', 'collect', 'release']).flat())
})

test('collections of the young generation free buffers of packets', async () => {
  const heap = createThreadHeap()
  // Garbage of earlier tests could be freed meanwhile.
  heap.collectYoung()
  let packets = Array.from({ length: 400 }, () => Buffer.allocUnsafeSlow(65_536))
  const full = heap.readHeapBytes()
  assert.equal(packets.length, 400)
  packets = []
  // Another thread frees them, and the next collection counts that.
  await eventually(() => {
    heap.collectYoung()
    assert.ok(heap.readHeapBytes() < full - 10 * mebibyte)
  })
})
