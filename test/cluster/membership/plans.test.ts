import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseRefusedLives } from '../../../src/cluster/membership/choose-refused-lives.ts'
import { advanceTime, decideClock } from '../../../src/cluster/membership/cluster-clock.ts'
import { planRebalance, planTakes } from '../../../src/cluster/membership/plan-homes.ts'
import { buildNode, buildRows, buildShard, buildUnlinkedPair } from './membership-rows-builder.ts'

const [a, b, c] = ['a', 'b', 'c'].map((name) => buildNode(name)) as [never, never, never]
const nodes = [a, b, c]
const listTaken = (rows: ReturnType<typeof buildRows>, name: string, homelessMs = 0): number[] =>
  planTakes(rows, `life ${name}`, () => homelessMs).map(({ shard }) => shard)

void test('shards without a home go to the nodes with the fewest shards, and all nodes agree', () => {
  const shards = [buildShard(0, 'life a'), buildShard(1, 'life a'), buildShard(2, 'life b')]
  const homeless = [3, 4, 5].map((shard) => buildShard(shard, undefined))
  const rows = buildRows({ nodes, shards: [...shards, ...homeless] })
  assert.deepEqual([listTaken(rows, 'a'), listTaken(rows, 'b'), listTaken(rows, 'c')], [[], [4], [3, 5]])
})

void test('if the planned node does not take a shard in time, the next one takes it', () => {
  const rows = buildRows({ nodes, shards: [buildShard(0, 'life a'), buildShard(1, undefined)] })
  assert.deepEqual(listTaken(rows, 'b'), [1])
  assert.deepEqual([listTaken(rows, 'b', 1_500), listTaken(rows, 'c', 1_500)], [[], [1]])
})

void test('a shard that is given to a node goes to that node', () => {
  const shards = [buildShard(0, 'life c'), buildShard(1, undefined, { target: 'life c' })]
  assert.deepEqual(listTaken(buildRows({ nodes, shards }), 'c'), [1])
})

for (const [reason, changes] of [
  ['is a replica', { role: 'replica' }],
  ['is evacuated', { isEvacuated: true }],
  ['is refused', { isRefused: true }],
  ['stops', { canTake: false }],
  ['has not written its row for three seconds', { seenMs: 0 }],
] as const) {
  void test(`a node that ${reason} takes no shard`, () => {
    const rows = buildRows({ nodes: [buildNode('a', changes), b], shards: [buildShard(0, undefined)] })
    assert.deepEqual([listTaken(rows, 'a'), listTaken(rows, 'b')], [[], [0]])
  })
}

for (const [reason, shard] of [
  ['whose records ended two starts', buildShard(0, undefined, { failures: 2 })],
  ['whose second start was interrupted', buildShard(0, undefined, { failures: 1, isRestored: false })],
  ['that is held', buildShard(0, undefined, { isHeld: true })],
  ['whose home is live', buildShard(0, 'life b')],
] as const) {
  void test(`a shard ${reason} is not taken`, () => {
    assert.deepEqual(listTaken(buildRows({ nodes, shards: [shard] }), 'a'), [])
  })
}

void test('rebalance moves shards until the numbers differ by one at most', () => {
  const shards = [0, 1, 2, 3, 4].map((shard) => buildShard(shard, 'life a'))
  assert.deepEqual(
    planRebalance(buildRows({ nodes, shards })).map(({ shard, target }) => [shard, target]),
    [
      [0, 'life b'],
      [1, 'life c'],
      [2, 'life b'],
    ],
  )
})

void test('of two nodes that do not reach each other, the one with the greater name loses', () => {
  const rows = buildRows({ nodes, unlinked: buildUnlinkedPair('a', 'b') })
  assert.deepEqual(chooseRefusedLives(rows), [{ life: 'life b', other: 'life a' }])
})

void test('the node that fewer nodes reach loses, whatever its name', () => {
  const unlinked = [...buildUnlinkedPair('a', 'b'), ...buildUnlinkedPair('a', 'c')]
  assert.deepEqual(chooseRefusedLives(buildRows({ nodes, unlinked })), [{ life: 'life a', other: 'life b' }])
})

void test('one node that reports a pair alone is not believed', () => {
  const [only] = buildUnlinkedPair('a', 'b')
  assert.deepEqual(chooseRefusedLives(buildRows({ nodes, unlinked: only === undefined ? [] : [only] })), [])
})

const clocks = { databaseMs: 0, uncertaintyMs: 5, nodesMs: [10, -20] }

void test('the clock of the database is followed while the median of the nodes agrees', () => {
  assert.deepEqual(decideClock({ ...clocks, databaseMs: 1_500 }, 2_000), {
    offsetMs: 1_500,
    databaseDiffers: false,
    nodeDiffers: false,
  })
})

void test('a promoted server whose clock differs is not followed', () => {
  const decision = decideClock({ ...clocks, databaseMs: 60_000 }, 2_000)
  assert.deepEqual(decision, { offsetMs: 0, databaseDiffers: true, nodeDiffers: false })
})

void test('a node whose own clock differs notices it, with one or two other nodes', () => {
  for (const nodesMs of [[60_000], [60_000, 60_010]]) {
    assert.equal(decideClock({ databaseMs: 60_000, uncertaintyMs: 5, nodesMs }, 2_000).nodeDiffers, true)
  }
  const correct = decideClock({ databaseMs: 0, uncertaintyMs: 5, nodesMs: [60_000] }, 2_000)
  assert.deepEqual(correct, { offsetMs: 0, databaseDiffers: false, nodeDiffers: false })
})

void test('the time of a shard never decreases, and a time that is ahead is reached slowly', () => {
  assert.equal(advanceTime(1_000, 100, 5_000), 5_000)
  assert.equal(advanceTime(10_000, 100, 5_000), 10_050)
  assert.equal(advanceTime(10_000, 100, 10_080), 10_080)
  assert.equal(advanceTime(10_000, -5, 5_000), 10_000)
})
