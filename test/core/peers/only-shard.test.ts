// The table of peers of a node with one shard: it is empty, and nothing waits for it.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TopicFilter } from '../../../src/protocol/index.ts'
import { PeerTable } from '../../../src/core/state/peers/peer-table.ts'

const filters = ['a', '$share/g/a'] as TopicFilter[]
const part = { qos: 1, isStored: true, isPresent: true, isFull: false } as const

test('the only shard is ready at once, owns each topic, and waits for no peer', () => {
  const peers = new PeerTable({ own: 0, count: 1 })
  assert.deepEqual([peers.isReady, peers.hasAny, peers.all.length], [true, false, 0])
  for (let number = 0; number < 50; number++) assert.equal(peers.findOwner(`topic/${number}`), undefined)
  assert.equal(peers.takeBarrier(), undefined)
  assert.deepEqual([peers.hasUnconfirmed, peers.countSentToEach()], [false, []])
  assert.throws(() => peers.requirePeer(0), /shard 0 is not a peer of shard 0/)
})

test('the only shard does not count filters for peers', () => {
  const { interest } = new PeerTable({ own: 0, count: 1 })
  for (const filter of filters) interest.change(filter, part, 1)
  interest.changePresence(filters, 1)
  interest.changeFullness(filters, 1)
  assert.deepEqual([interest.hasChanges, interest.find(filters[0])], [false, undefined])
})

test('one of several shards waits for its peers, and counts filters for them', () => {
  const peers = new PeerTable({ own: 1, count: 3 })
  const owners = new Set(Array.from({ length: 50 }, (_, number) => peers.findOwner(`topic/${number}`)?.number))
  assert.deepEqual([peers.isReady, peers.all.map(({ number }) => number)], [false, [0, 2]])
  assert.deepEqual(owners, new Set([0, undefined, 2]))
  for (const filter of filters) peers.interest.change(filter, part, 1)
  peers.interest.changePresence(filters, 1)
  assert.deepEqual([peers.interest.find(filters[0])?.present, peers.interest.find(filters[1])?.present], [0, 2])
})
