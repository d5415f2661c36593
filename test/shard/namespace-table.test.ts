// Usage and limits of namespaces, counted by several threads in shared memory.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createNamespaceTable, NamespaceTable } from '../../src/shard/index.ts'

const none = { clients: undefined, retainedMessages: undefined, messagesPerSecond: undefined }

test('shards count together, and the part of a failed shard is subtracted', () => {
  const memory = createNamespaceTable(2)
  const [first, second] = [0, 1].map((own) => new NamespaceTable(memory, { shards: 2, own })) as [
    NamespaceTable,
    NamespaceTable,
  ]
  const node = new NamespaceTable(memory, { shards: 2 })
  node.setUsualLimits({ ...none, clients: 3, retainedMessages: 2 })
  assert.deepEqual(
    [first.takeClient('plant', false), second.takeClient('plant', false), second.takeClient('plant', false)],
    [true, true, true],
  )
  assert.equal(first.takeClient('plant', false), false)
  assert.equal(first.takeClient('plant', true), true, 'a client disconnects')
  first.releaseClient('plant')
  first.countRetained('plant', 1)
  second.countRetained('plant', 1)
  assert.equal(first.allowsRetained('plant'), false)
  assert.equal(first.allowsRetained('shop'), true)
  assert.deepEqual(node.readCounts('plant'), { clients: 3, retainedMessages: 2 })
  node.freeShard(1)
  assert.deepEqual(node.readCounts('plant'), { clients: 1, retainedMessages: 1 })
  assert.equal(first.takeClient('plant', false), true)
})

test('limits of a namespace replace the general ones until they are removed', () => {
  const memory = createNamespaceTable(1)
  const shard = new NamespaceTable(memory, { shards: 1, own: 0 })
  shard.setUsualLimits({ ...none, clients: 1 })
  shard.takeClient('plant', false)
  assert.equal(shard.takeClient('plant', false), false)
  shard.setOwnLimits('plant', { ...none, clients: 2 })
  assert.equal(shard.takeClient('plant', false), true)
  shard.setOwnLimits('plant', { ...none, clients: 'infinity' })
  for (let count = 0; count < 100; count++) assert.equal(shard.takeClient('plant', false), true)
  shard.setOwnLimits('plant', none)
  assert.equal(shard.takeClient('plant', false), false)
})

test('the messages of one second are published at once, then at a constant rate; no level waits for more than a minute', () => {
  const memory = createNamespaceTable(2)
  const shards = [0, 1].map((own) => new NamespaceTable(memory, { shards: 2, own }))
  shards[0]?.setUsualLimits({ ...none, messagesPerSecond: 100 })
  const take = (nowMs: number, count: number): number[] =>
    Array.from({ length: count }, (_, index) => shards[index % 2]?.takeMessage('plant', nowMs) ?? 0)
  assert.deepEqual(
    take(1_000, 100).filter((waitMs) => waitMs > 0),
    [],
  )
  assert.deepEqual(take(1_000, 2), [60, 70])
  assert.ok(Math.max(...take(1_000, 100_000)) <= 60_050)
  assert.equal(shards[0]?.takeMessage('shop', 1_000), 0)
  assert.equal(shards[0]?.takeMessage('plant', 62_500), 0)
})

test('more namespaces than the table has rows share the last row', () => {
  const memory = createNamespaceTable(1)
  const shard = new NamespaceTable(memory, { shards: 1, own: 0 })
  shard.setUsualLimits({ ...none, clients: 1 })
  let refused = 0
  for (let number = 0; number < 16_400; number++) if (!shard.takeClient(`made-up-${number}`, false)) refused++
  assert.equal(refused, 16_400 - 16_384)
})
