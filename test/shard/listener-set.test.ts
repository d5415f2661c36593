// Listeners of a shard during the steps of a change, without sockets: the opened and closed ones, and their order.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ListenerSet } from '../../src/shard/listeners/listener-set.ts'
import type { ListenerDifference, ShardListener } from '../../src/shard/index.ts'
import type { OpenListener } from '../../src/shard/listeners/listener-factory.ts'
import { listener as example } from './stage.ts'

function listener(number: number, more: Partial<ShardListener> = {}): ShardListener {
  return { ...example, number, name: `l${number}`, port: 1_000 + number, ...more }
}

const nothing: ListenerDifference = { opened: [], changed: [], closed: [] }

class ListenerStage {
  /** The events in order. */
  readonly happened: string[] = []
  /** Ports that cannot be opened. */
  readonly taken = new Set<number>()
  readonly set: ListenerSet

  constructor(listeners: readonly ShardListener[], own = 0) {
    this.set = new ListenerSet(listeners, {
      factory: { open: (one) => this.#open(one) },
      own,
      disconnectClients: async (numbers) => this.#note(`away ${[...numbers].join(' ')}`),
      raiseAlarm: (name, message) => this.#note(`alarm ${name}: ${message}`),
      endAlarm: (name) => this.#note(`over ${name}`),
    })
  }

  takeHappened(): string[] {
    return this.happened.splice(0)
  }

  async #open({ number, host, port }: ShardListener): Promise<OpenListener> {
    if (this.taken.has(port)) throw new Error(`port ${port} is taken`)
    this.#note(`open ${number}`)
    return {
      host,
      port,
      close: async () => this.#note(`close ${number}`),
      waitUntilReleased: async () => this.#note(`released ${number}`),
      reload: async () => {},
      prepare: (changed) => ({
        apply: () => this.#note(`apply ${number} ${changed.maxConnections}`),
        discard: () => this.#note(`discard ${number}`),
      }),
    }
  }

  #note(event: string): void {
    this.happened.push(event)
  }
}

test('new listeners are opened before the change is in force, and removed ones are closed after that', async () => {
  const stage = new ListenerStage([listener(1), listener(2)])
  await stage.set.openAll()
  stage.takeHappened()
  const difference = { opened: [listener(3)], changed: [listener(1, { maxConnections: 5 })], closed: [2] }
  await stage.set.apply('learn', difference)
  assert.equal(stage.set.findListener(3)?.name, 'l3', 'other shards may pass on its clients from here on')
  assert.equal(await stage.set.apply('open', difference), undefined)
  assert.deepEqual(stage.takeHappened(), ['open 3'])
  assert.equal(await stage.set.apply('settle', difference), undefined)
  assert.deepEqual(stage.takeHappened(), ['apply 1 5', 'close 2', 'away 2', 'released 2'])
  assert.equal(stage.set.findListener(2), undefined)
  assert.equal(stage.set.findListener(1)?.maxConnections, 5)
})

test('a listener that cannot be opened is reported, and an abandoned change has no effect', async () => {
  const stage = new ListenerStage([listener(1)])
  await stage.set.openAll()
  stage.takeHappened()
  stage.taken.add(1_004)
  const changed = [listener(1, { maxConnections: 5 })]
  const difference = { opened: [listener(3), listener(4)], changed, closed: [] }
  await stage.set.apply('learn', difference)
  assert.match((await stage.set.apply('open', difference)) ?? '', /port 1004 is taken/)
  await stage.set.apply('abandon', difference)
  assert.deepEqual(stage.takeHappened(), ['open 3', 'close 3', 'away 3 4', 'released 3'])
  assert.equal(stage.set.findListener(3), undefined)
  assert.equal(stage.set.findListener(1)?.maxConnections, undefined)
})

test('listeners that were opened for an abandoned change are closed', async () => {
  const stage = new ListenerStage([listener(1)])
  await stage.set.openAll()
  stage.takeHappened()
  const difference = { ...nothing, changed: [listener(1, { maxConnections: 5 })] }
  await stage.set.apply('open', difference)
  await stage.set.apply('abandon', difference)
  assert.deepEqual(stage.takeHappened(), ['discard 1', 'away '])
})

test('a listener that replaces another is opened after that is closed and its clients are disconnected', async () => {
  const stage = new ListenerStage([listener(1)])
  await stage.set.openAll()
  stage.takeHappened()
  const difference = { opened: [listener(2, { port: 1_001 })], changed: [], closed: [1] }
  await stage.set.apply('learn', difference)
  await stage.set.apply('open', difference)
  assert.deepEqual(stage.takeHappened(), [])
  await stage.set.apply('settle', difference)
  assert.deepEqual(stage.takeHappened(), ['close 1', 'away 1', 'released 1', 'open 2'])
})

test('UDP has separate ports: a QUIC listener does not wait for a TCP one', async () => {
  const stage = new ListenerStage([listener(1)])
  await stage.set.openAll()
  stage.takeHappened()
  const difference = { opened: [listener(2, { port: 1_001, kind: 'quic' })], changed: [], closed: [1] }
  await stage.set.apply('open', difference)
  assert.deepEqual(stage.takeHappened(), ['open 2'])
})

test('a shard that has not opened its listeners opens the remaining ones after the change', async () => {
  const stage = new ListenerStage([listener(1), listener(2)])
  const difference = { opened: [listener(3)], changed: [listener(1, { maxConnections: 5 })], closed: [2] }
  for (const step of ['learn', 'open', 'settle'] as const) {
    assert.equal(await stage.set.apply(step, difference), undefined)
  }
  assert.deepEqual(stage.takeHappened(), [])
  await stage.set.openAll()
  assert.deepEqual(stage.takeHappened(), ['open 1', 'open 3'])
  assert.equal(stage.set.findListener(1)?.maxConnections, 5)
})

test('a listener that cannot be reopened delays no other, and opens when it can', async () => {
  const stage = new ListenerStage([listener(1), listener(2), listener(3)])
  stage.taken.add(1_001)
  await stage.set.openAvailable()
  const closed = 'alarm listener-closed:tcp:l1: a listener cannot be opened and is retried every 5 s: '
  assert.deepEqual(stage.takeHappened(), [`${closed}port 1001 is taken`, 'open 2', 'open 3'])
  await stage.set.retryMissing()
  const difference = { opened: [listener(4)], changed: [listener(1, { maxConnections: 5 })], closed: [2] }
  for (const step of ['learn', 'open', 'settle'] as const) {
    assert.equal(await stage.set.apply(step, difference), undefined, 'it prevents no change')
  }
  assert.deepEqual(stage.takeHappened(), ['open 4', 'close 2', 'away 2', 'released 2'], 'it is reported once')
  stage.taken.clear()
  await stage.set.reload()
  assert.deepEqual(stage.takeHappened(), ['open 1', 'over listener-closed:tcp:l1'])
  assert.equal(stage.set.findListener(1)?.maxConnections, 5)
})

test('a listener that failed to open is not reported when it is removed, and not opened when it is disabled', async () => {
  const stage = new ListenerStage([listener(1), listener(2)])
  stage.taken.add(1_001).add(1_002)
  await stage.set.openAvailable()
  stage.takeHappened()
  await stage.set.apply('settle', { ...nothing, closed: [1] })
  assert.deepEqual(stage.takeHappened(), ['over listener-closed:tcp:l1', 'away 1'])
  await stage.set.closeAll()
  stage.taken.clear()
  await stage.set.retryMissing()
  assert.deepEqual(stage.takeHappened(), [])
})

test('a shard opens its own listeners and knows those of other shards', async () => {
  const elsewhere = listener(1, { kind: 'quic', onlyOnShard: 1 })
  const stage = new ListenerStage([elsewhere, listener(2)])
  await stage.set.openAll()
  const difference = { ...nothing, opened: [listener(3, { kind: 'quic', onlyOnShard: 1 })] }
  for (const step of ['learn', 'open', 'settle'] as const) await stage.set.apply(step, difference)
  assert.deepEqual(stage.takeHappened(), ['open 2', 'away '])
  assert.equal(stage.set.findListener(3)?.name, 'l3')
  assert.deepEqual(
    stage.set.open.map(({ name }) => name),
    ['l2'],
  )
})
